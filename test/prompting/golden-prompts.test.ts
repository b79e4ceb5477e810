import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ConfigInput } from '../../src/config/config.js';
import { programsOf } from '../../src/policies/policy.js';
import type { ParseFailure } from '../../src/prompting/answer/failure.js';
import { entryOf } from '../support/records.js';
import { situation } from './situation.js';

/** Prompts as a model gets them. After a change: read them, then accept with `vitest -u`. */
const folder = resolve(import.meta.dirname, '../fixtures/prompts');

const mountainCarTable: ConfigInput['policy'] = {
  kind: 'q-table',
  discretize: [{ low: -1.2, high: 0.6, bins: 4 }, { edges: [-0.02, 0, 0.02] }],
};

const situations: Readonly<Record<string, Omit<ConfigInput, 'model'> & { readonly json?: boolean }>> = {
  'numeric-linear': { environment: 'CartPole-v1', prompts: { set: 'numeric', optimum: 500, stepSize: 1 } },
  'numeric-table': {
    environment: 'FrozenLake-v1',
    prompts: { set: 'numeric' },
    evaluation: { seeds: 'fresh' },
  },
  'semantic-linear': { environment: 'CartPole-v1' },
  'semantic-linear-without-bias': {
    environment: 'Acrobot-v1',
    policy: { kind: 'linear', bias: false },
    candidates: 4,
  },
  'semantic-linear-continuous': { environment: 'MountainCarContinuous-v0', prompts: { stepSize: 0.5 } },
  'semantic-linear-projected': {
    environment: 'Acrobot-v1',
    policy: { kind: 'linear', projection: { rank: 5 } },
  },
  'semantic-linear-projected-rotation': {
    environment: 'MountainCarContinuous-v0',
    policy: { kind: 'linear', bias: false, projection: { rank: 2 } },
  },
  'semantic-network': { environment: 'CartPole-v1', policy: { kind: 'mlp', hidden: [3] } },
  'semantic-network-of-two-layers': {
    environment: 'MountainCarContinuous-v0',
    policy: { kind: 'mlp', hidden: [4, 2], activation: 'leaky-relu' },
  },
  'semantic-network-projected': {
    environment: 'Acrobot-v1',
    policy: { kind: 'mlp', projection: { rank: 5 } },
  },
  'semantic-table': { environment: 'FrozenLake-v1', evaluation: { episodes: 1 } },
  'semantic-table-of-values': {
    environment: { id: 'FrozenLake-v1', options: { desc: ['SF', 'HG'], is_slippery: false } },
    policy: { kind: 'q-table', form: 'values' },
  },
  'semantic-table-of-bins': { environment: 'MountainCar-v0', policy: mountainCarTable },
  'semantic-table-of-vectors': {
    environment: 'Pendulum-v1',
    policy: {
      kind: 'q-table',
      discretize: [{ edges: [0] }, { edges: [-0.5, 0.5] }, { edges: [0] }],
      actions: [[-2], [0], [2]],
    },
  },
  'semantic-table-of-tuples': {
    environment: 'Blackjack-v1',
    memory: { recent: 1 },
    policy: { kind: 'q-table' },
  },
  'semantic-rows': { environment: 'CartPole-v1', memory: { trajectories: 'rows', rows: 4 } },
  'semantic-summary': { environment: 'MountainCar-v0', memory: { trajectories: 'summary' } },
  'semantic-best-and-recent': { environment: 'CartPole-v1', memory: { best: 1, recent: 2 } },
  'semantic-nothing-shown': { environment: 'CartPole-v1', memory: 'none' },
  'compact-linear': {
    environment: 'MountainCarContinuous-v0',
    prompts: { set: 'compact' },
    memory: { best: 2, recent: 1 },
  },
  'compact-box': {
    environment: 'MountainCarContinuous-v0',
    prompts: { set: 'compact' },
    policy: { kind: 'linear', low: -1, high: 3, decimals: 2 },
    memory: { best: 2, recent: 1 },
  },
  'compact-table': { environment: 'FrozenLake-v1', prompts: { set: 'compact' } },
  'semantic-json': { environment: 'Pendulum-v1', json: true },
};

describe('golden prompts', () => {
  it.each(Object.entries(situations))('are unchanged: %s', async (name, { json = false, ...config }) => {
    const model = { provider: 'openai', name: 'test', format: json ? 'json' : 'text' } as const;
    const { prompts, task, play, context } = await situation({ ...config, model });
    const entries = play(4);
    const text = [
      `===== system\n${prompts.system(task)}`,
      `===== user, iteration 1, nothing evaluated yet\n${prompts.user(context(1, []))}`,
      `===== user, iteration 4\n${prompts.user(context(4, entries))}`,
    ].join('\n\n');
    await expect(`${text}\n`).toMatchFileSnapshot(resolve(folder, `${name}.txt`));
  });

  it.each([
    ['programs', {}],
    ['programs-edits', { edits: true }],
    ['programs-tuned', { tune: {} }],
  ] as const)('are unchanged: %s', async (name, more) => {
    const environment = name === 'programs-tuned' ? 'MountainCarContinuous-v0' : 'CartPole-v1';
    const policy = { kind: 'program', ...more } as const;
    const memory = { best: 4, recent: 2 };
    const { prompts, task, family, context } = await situation({ environment, policy, memory });
    const entries = ['0', 'observation[2] > 0 ? 1 : 0'].map((action, i) => {
      const source = `function act(observation) {\n  return ${action};\n}`;
      const score = [9.25, 42.5][i]!;
      return entryOf(i + 1, score, { parameters: programsOf(family)!.add(source), lengths: [score] });
    });
    const failed = { reason: "TypeError: cannot read property 'x' of undefined", line: 2 } as const;
    const shown = context(3, entries);
    const failures: readonly ParseFailure[] = [
      { kind: 'program', ...failed, observation: [0.02, 0, 0.03, -0.1] },
      { kind: 'missing' },
      { kind: 'truncated' },
      { kind: 'repeated', iteration: 2, score: 42.5, same: 'actions', episodes: 20 },
      { kind: 'repeated', iteration: 2, score: 42.5, same: 'structure' },
    ];
    const text = [
      `===== system\n${prompts.system(task)}`,
      `===== user, iteration 1, nothing evaluated yet\n${prompts.user(context(1, []))}`,
      `===== user, iteration 3\n${prompts.user(shown)}`,
      ...failures.map(
        (failure) => `===== correction, ${failure.kind}\n${prompts.formatCorrection(shown, failure)}`,
      ),
    ].join('\n\n');
    await expect(`${text}\n`).toMatchFileSnapshot(resolve(folder, `${name}.txt`));
  });

  it('are unchanged for corrections', async () => {
    const linear = await situation({ environment: 'CartPole-v1' });
    const table = await situation({
      environment: 'FrozenLake-v1',
      model: { provider: 'openai', name: 'test', format: 'json' },
    });
    const correct = ({ prompts, context }: typeof linear, failure: ParseFailure): string =>
      prompts.formatCorrection(context(4, []), failure);
    const outside = ['-6.1', '1e9'].map((text, i) => ({ index: 3 + i, text }));
    const failures: readonly (readonly [string, typeof linear, ParseFailure])[] = [
      ['missing', linear, { kind: 'missing' }],
      ['truncated', linear, { kind: 'truncated' }],
      ['echo', linear, { kind: 'echo' }],
      ['count, absent', linear, { kind: 'count', expected: 10, found: 8, absent: [6, 8], unknown: [] }],
      ['count, unknown', linear, { kind: 'count', expected: 10, found: 12, absent: [], unknown: [10, 11] }],
      ['duplicate-index', linear, { kind: 'duplicate-index', indices: [1, 4] }],
      ['not-finite', linear, { kind: 'not-finite', values: [{ index: 2, text: 'NaN' }] }],
      ['range', linear, { kind: 'range', values: outside, low: -6, high: 6 }],
      ['decimals', linear, { kind: 'decimals', values: [{ index: 0, text: '1.25' }], decimals: 1 }],
      ['repeated', linear, { kind: 'repeated', iteration: 3, score: 42 }],
      ['repeated, from the warm-up', linear, { kind: 'repeated', iteration: 0, score: 9.5 }],
      ['repeated, in the same group', linear, { kind: 'repeated', iteration: 4 }],
      ['repeated, source unknown', linear, { kind: 'repeated' }],
      ['plays alike', linear, { kind: 'repeated', iteration: 12, score: 42, same: 'actions', episodes: 20 }],
      [
        'plays like one of the same group',
        linear,
        { kind: 'repeated', iteration: 4, same: 'actions', episodes: 1 },
      ],
      [
        'choices, as JSON',
        table,
        { kind: 'range', values: [{ index: 3, text: '4' }], low: 0, high: 3, choices: [0, 1, 2, 3] },
      ],
    ];
    const text = failures.map(([name, of, failure]) => `===== ${name}\n${correct(of, failure)}`).join('\n\n');
    await expect(`${text}\n`).toMatchFileSnapshot(resolve(folder, 'corrections.txt'));
  });
});
