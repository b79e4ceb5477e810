import { afterAll, describe, expect, it } from 'vitest';
import { type Engine, loadEngine } from '../../../../src/models/local/generation/engine.js';
import type { GenerateJob } from '../../../../src/models/local/generation/protocol.js';
import { referenceDirectory } from '../fixture.js';
import { repeatableJob, repeats } from './repeatable.js';

const engines: Engine[] = [];
afterAll(async () => {
  for (const engine of engines) await engine.close();
});

/** An engine that has read nothing yet. */
async function fresh(name: string, threads = 1): Promise<Engine> {
  const engine = await loadEngine({
    path: referenceDirectory(name),
    device: 'cpu',
    quantization: 'int4',
    threads,
    contextTokens: undefined,
    template: {},
  });
  engines.push(engine);
  return engine;
}

describe.each(['llama3-rope-bf16', 'qwen2-tied-bf16-sharded'])('%s in 4 bits', (name) => {
  repeats((threads) => fresh(name, threads));

  it('a run that is resumed reads its prompts as one that was not interrupted', async () => {
    const played = await fresh(name);
    const resumed = await fresh(name);
    const turn = (lines: number): GenerateJob => repeatableJob(lines, [lines]);
    await played.generate(turn(20), { aborted: () => false });
    for (const lines of [24, 31]) {
      const next = await played.generate(turn(lines), { aborted: () => false });
      expect(next.cachedTokens).toBeGreaterThan(60);
      expect(next.answers).toEqual((await resumed.generate(turn(lines), { aborted: () => false })).answers);
    }
  });
});
