/** Every line of `run --json` and `resume --json` fits its schema whatever a model replies. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readEvaluations, readManifest, readRun } from '../../../src/runs/reader.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { expectSchema } from '../../support/output-schema.js';
import { commandLine } from './command-line.js';

const place = temporaryDirectory();

/** Each iteration another kind of reply: good ones, repetitions of any evaluation, and all that can be wrong. */
const model = `
const vector = (value) => Array.from({ length: 10 }, (_, i) => \`params[\${i}]: \${value}\`).join(', ');
const replies = [
  () => vector('0.5'),
  () => vector('0.5'),
  (prompt) => (prompt.match(/^(params\\[0\\].*); f\\(params\\)/m)?.[1] ?? vector('1.0')).replaceAll(';', ','),
  () => 'no idea',
  () => vector('99.0'),
  () => vector('0.123456'),
  () => vector('NaN'),
  () => 'params[0]: 1.0, params[1]: 2.0',
  () => \`\${vector('0.1')}, params[0]: 3.0\`,
  () => '',
  () => { throw new Error('broken'); },
  () => ({ text: vector('0.2'), finishReason: 'length' }),
];
let asked = 0;
export default { name: 'mine', create: () => ({ generate: (messages) => replies[asked++ % replies.length](messages.at(1).content) }) };
`;

const config = (more: string) => `environment: CartPole-v1
model: { provider: module, path: ./model.mjs }
iterations: 14
warmup: 2
corrections: 1
evaluation: { episodes: 2, maxSteps: 30 }
confirmation: { candidates: 0 }
limits: { rejections: 0 }
${more}`;

it.each([
  ['plain', ''],
  ['candidates', 'candidates: 3'],
  ['critic', 'critic: { distance: 1, every: 1 }'],
  ['changes', 'proposal: { form: delta }'],
  ['novelty', 'novelty: { distance: 0.05 }'],
  ['compact', 'prompts: { set: compact }'],
])(
  'run --json and resume --json fit their schemas whatever the model replies: %s',
  { timeout: 120_000 },
  async (name, more) => {
    mkdirSync(join(place, name));
    writeFileSync(join(place, name, 'model.mjs'), model);
    writeFileSync(join(place, name, 'c.yaml'), config(more));
    const cwd = join(place, name);
    const run = await commandLine(cwd, ['run', 'c.yaml', '--run-dir', 'r', '--json']);
    expectSchema('run', run.printed);
    const resumed = await commandLine(cwd, ['resume', 'r', 'iterations=20', '--json']);
    expectSchema('resume', resumed.printed);
    const path = join(cwd, 'r');
    const { calls } = readRun(path);
    const kinds = new Set(
      calls.map(({ outcome }) => (outcome.kind === 'rejected' ? outcome.failure.kind : outcome.kind)),
    );
    expect(kinds.size).toBeGreaterThan(2);
    if (name === 'plain') {
      expect([...kinds]).toEqual(
        expect.arrayContaining([
          'repeated',
          'missing',
          'range',
          'decimals',
          'not-finite',
          'count',
          'error',
          'accepted',
        ]),
      );
      const known = readEvaluations(path, readManifest(path));
      for (const { outcome } of calls) {
        if (outcome.kind !== 'rejected' || outcome.failure.kind !== 'repeated') continue;
        expect(Object.keys(outcome.failure).toSorted()).toEqual(['iteration', 'kind', 'score']);
        expect(known.map(({ score }) => score)).toContain(outcome.failure.score);
      }
    }
  },
);
