import { describe, expect, it } from 'vitest';
import { parseParameters } from '../../src/prompting/answer/parse.js';
import { createHistory, historyLine } from '../../src/prompting/context/history.js';
import { encodingForSpec } from '../../src/prompting/notation/encoding.js';
import { estimateTokens } from '../../src/prompting/token-estimate.js';
import { situation } from './situation.js';

describe('history lines', () => {
  it('show parameters with the decimals of the spec, and by default the score with two', async () => {
    const { family } = await situation({ environment: 'MountainCarContinuous-v0' });
    const encoding = encodingForSpec(family.parameters, 'numeric');
    expect(historyLine({ parameters: [1.2, -0.5, 3], score: 123.456 }, encoding)).toBe(
      'params[0]: 1.2; params[1]: -0.5; params[2]: 3.0; f(params): 123.46',
    );
    expect(historyLine({ parameters: [0, 0, 0], score: -0 }, encoding)).toMatch(/f\(params\): 0\.00$/);
  });

  it('are formatted only once per entry', async () => {
    const { config, family, play } = await situation({
      environment: 'CartPole-v1',
      memory: { trajectories: 'summary' },
    });
    let asked = 0;
    const history = createHistory({
      encoding: encodingForSpec(family.parameters, config.prompts.set),
      memory: config.memory,
      trajectory: () => {
        asked++;
        return undefined;
      },
    });
    const entries = play(5);
    for (let i = 0; i < 3; i++)
      history.context({ iteration: 1, iterations: 9, remembered: entries, shown: entries });
    for (const entry of entries) history.tokensOf(entry);
    expect(asked).toBe(5);
  });
});

describe('a model that repeats its prompt', () => {
  it.each([
    ['CartPole-v1', {}],
    ['CartPole-v1', { memory: { trajectories: 'rows' } } as const],
    ['FrozenLake-v1', { memory: { trajectories: 'summary' } } as const],
    ['Pendulum-v1', { model: { provider: 'openai', name: 'test', format: 'json' } } as const],
    ['Pendulum-v1', { model: { provider: 'openai', name: 'test', format: 'auto' } } as const],
  ])('proposes nothing (%s, %j)', async (id, more) => {
    const { prompts, task, context, play, family } = await situation({ environment: id, ...more });
    const entries = play(3);
    const known = new Set(entries.map(({ parameters }) => String(parameters)));
    const seen = (vector: readonly number[]) => (known.has(String(vector)) ? {} : undefined);
    const full = context(3, entries);
    for (const text of [
      prompts.system(task),
      prompts.user(full),
      `${prompts.system(task)}\n\n${prompts.user(full)}`,
    ]) {
      const result = parseParameters(text, family.parameters, { seen });
      expect(result).toEqual({ ok: false, failure: { kind: 'echo' } });
    }
    expect(parseParameters(full.history.text, family.parameters, { seen })).toEqual({
      ok: false,
      failure: { kind: 'echo' },
    });
  });
});

describe('estimateTokens', () => {
  it('counts each digit, mark and line break, and up to four letters, as one token', () => {
    expect(estimateTokens('')).toBe(0);
    expect(estimateTokens('word')).toBe(1);
    expect(estimateTokens('words and more')).toBe(4);
    expect(estimateTokens('12.5')).toBe(4);
    expect(estimateTokens('a\nb')).toBe(3);
    expect(estimateTokens('params[0]: 1.2; ')).toBe(11);
  });
});
