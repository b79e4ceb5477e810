import { afterAll, describe } from 'vitest';
import { type Engine, loadEngine } from '../../../../src/models/local/generation/engine.js';
import { repeats } from './repeatable.js';

/** A real quantised model, such as a Q4 GGUF file. */
const path = process.env.POLICYLOOP_REAL_MODEL;

const engines: Engine[] = [];
afterAll(async () => {
  for (const engine of engines) await engine.close();
});

describe.skipIf(path === undefined)('a real model', () => {
  repeats(async (threads = 1) => {
    const engine = await loadEngine({
      path: path!,
      device: 'cpu',
      quantization: 'none',
      threads,
      contextTokens: undefined,
      template: {},
    });
    engines.push(engine);
    return engine;
  });
});
