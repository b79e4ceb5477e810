/** A local model that repeats known parameters is asked again at a higher temperature. */
import { expect, test } from 'vitest';
import type { SamplingChoice } from '../../../src/models/language-model.js';
import { readRun } from '../../../src/runs/reader.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { quick, runExperimentFrom } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';

const answer = (value: number) => `{"params": [${Array.from({ length: 10 }, () => value).join(', ')}]}`;

/** Repeats its first answer until it is asked for the third time in an iteration. */
function repeating(asked: (SamplingChoice | undefined)[]) {
  return createScriptedModel(({ messages, options }, call) => {
    asked.push(options.sampling);
    const tries = messages.filter(({ role }) => role === 'assistant').length;
    return answer(call === 0 || tries < 2 ? 1 : call / 10);
  });
}

const local = { provider: 'local', path: referenceDirectory('qwen3-fp32'), contextTokens: 400 } as const;
const play = async (model: object) => {
  const asked: (SamplingChoice | undefined)[] = [];
  const more = { iterations: 2, memory: { recent: 1 }, repeats: 'parameters' } as const;
  const config = { ...quick, ...more, model: { ...local, ...model } };
  const { path } = await runExperimentFrom(config, { model: repeating(asked) });
  return { asked, kinds: readRun(path).calls.map(({ outcome }) => outcome.kind) };
};

test('a local model that repeats an answer gets a higher temperature with each correction', async () => {
  expect(await play({ temperature: 0.8 })).toEqual({
    asked: [undefined, undefined, { temperature: 0.8 * 1.5 }, { temperature: 0.8 * 2 }],
    kinds: ['accepted', 'rejected', 'rejected', 'accepted'],
  });
});
