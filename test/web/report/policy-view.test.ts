import { describe, expect, it } from 'vitest';
import type { ParameterSpec, PolicyDescription } from '../../../src/policies/policy.js';
import { policyLines } from '../../../src/web/report/data/policy-text.js';
import { gridMap, taskLabels } from '../../../src/web/report/data/task-labels.js';
import { policyView } from '../../../src/web/report/views/policy-view.js';
import { lakeTable } from '../../support/records.js';
import { elementsOf, visibleText } from '../shown.js';

type LinearDescription = Extract<PolicyDescription, { kind: 'linear' }>;

const spec: ParameterSpec = { count: 0, kind: 'float', low: -10, high: 10, decimals: 1 };

const shownAs = (...given: Parameters<typeof policyView>) => visibleText({ part: policyView(...given) });

describe('a linear policy', () => {
  const one = {
    kind: 'linear',
    bias: false,
    observations: 2,
    outputs: 1,
    discrete: true,
    firstAction: 0,
  } as const;
  const linear = (more: Partial<LinearDescription>): LinearDescription => ({ ...one, ...more });

  it('is shown as weights of observations for actions, with the bias last', () => {
    const policy = linear({ bias: true, outputs: 3 });
    const labels = taskLabels('MountainCar-v0', policy);
    const shown = shownAs([1, 2, 3, 4, 5, 6, 7, 8, -9], policy, spec, labels);
    expect(shown).toContain('input left none right position 1 2 3 velocity 4 5 6 bias 7 8 −9');
  });

  it('is shown as weights even if its parameters are coordinates in a subspace', () => {
    const projection = { seed: 4, rank: 1, scale: Math.SQRT2, basis: [[0.6], [-0.8]] };
    const policy = linear({ discrete: false, projection });
    const shown = shownAs([5], policy, spec, taskLabels('Own-v0', policy));
    expect(shown).toContain('action[0] observation[0] 4.24 observation[1] −5.66');
    expect(shown).toContain('These 2 weights are derived from 1 parameter');
  });

  it('ignores names that do not fit its shape', () => {
    const policy = linear({ observations: 5, outputs: 2, firstAction: 1 });
    expect(taskLabels('CartPole-v1', policy)).toEqual({
      observations: [0, 1, 2, 3, 4].map((i) => `observation[${i}]`),
      actions: ['left', 'right'],
    });
    expect(taskLabels('constructor-v1', policy).actions).toEqual(['action 1', 'action 2']);
  });
});

describe('a network', () => {
  const policy: PolicyDescription = {
    kind: 'mlp',
    observations: 2,
    hidden: [2],
    activation: 'relu',
    outputs: 3,
    discrete: true,
    firstAction: 0,
  };
  const values = [1, 2, 3, 4, 5, -6, 7, 8, 9, 1.5, 2.5, 3.5, 0.1, 0.2, 0.3];
  const labels = taskLabels('MountainCar-v0', policy);

  it('is shown as one matrix per layer, with the biases last', () => {
    const shown = shownAs(values, policy, spec, labels);
    expect(shown).toContain('Layer 1 (relu) input unit 0 unit 1 position 1 2 velocity 3 4 bias 5 −6');
    expect(shown).toContain('Layer 2 input left none right unit 0 7 8 9 unit 1 1.5 2.5 3.5 bias 0.1 0.2 0.3');
  });

  it('is shown as one matrix per layer in a terminal', () => {
    const lines = policyLines(policy, { ...spec, count: 15 }, values, labels, undefined)
      .join('\n')
      .split('\n');
    const cells = lines.map((line) => line.trim().split(/ {2,}/));
    expect(cells[0]).toEqual(['layer 1', 'unit 0', 'unit 1']);
    expect(cells[1]).toEqual(['position', '1.0', '2.0']);
    expect(cells[3]).toEqual(['bias', '5.0', '−6.0']);
    expect(cells.at(-1)).toEqual(['bias', '0.1', '0.2', '0.3']);
  });
});

describe('a Q-table', () => {
  const actions: PolicyDescription = {
    kind: 'q-table',
    form: 'actions',
    states: 16,
    actions: ['0', '1', '2', '3'],
  };

  it('of FrozenLake is shown as a map with arrows, holes and the goal', () => {
    const grid = gridMap({ id: 'FrozenLake-v1', options: {} }, 16);
    const table = Array.from({ length: 16 }, (_, s) => s % 4);
    const shown = shownAs(table, actions, lakeTable, taskLabels('FrozenLake-v1', actions), grid);
    expect(shown).toContain('← start ↓ → ↑ ← hole → hole ← ↓ → hole hole ↓ → goal');
  });

  it('uses a custom map of the task, and none if the map is unknown or has another size', () => {
    expect(gridMap({ id: 'FrozenLake-v1', options: { desc: ['SF', 'HG'] } }, 4)).toEqual(['SF', 'HG']);
    expect(gridMap({ id: 'FrozenLake-v1', options: { desc: null, map_name: null } }, 64)).toBeUndefined();
    expect(gridMap({ id: 'FrozenLake-v1', options: { desc: ['SF', 'HG'] } }, 16)).toBeUndefined();
    expect(gridMap({ id: 'CliffWalking-v1', options: {} }, 48)?.[3]).toBe('SCCCCCCCCCCG');
    expect(gridMap({ id: 'Taxi-v4', options: {} }, 500)).toBeUndefined();
  });

  it('of values shows the action with the highest value, the first on ties', () => {
    const policy: PolicyDescription = { kind: 'q-table', form: 'values', states: 3, actions: ['0', '1'] };
    const labels = taskLabels('Blackjack-v1', policy);
    const cells = elementsOf({ part: policyView([1, 2, 5, 5, -1, -3], policy, spec, labels, undefined) });
    const titles = cells.flatMap(({ attributes }) => attributes.title ?? []);
    expect(titles).toEqual(['state 0: hit', 'state 1: stick', 'state 2: stick']);
  });

  it('over two binned dimensions is shown as a matrix', () => {
    const policy: PolicyDescription = {
      kind: 'q-table',
      form: 'actions',
      states: 6,
      actions: ['[-1]', '[0]', '[1]'],
      bins: [{ edges: [0] }, { edges: [-0.5, 0.5] }],
    };
    const three: ParameterSpec = { ...lakeTable, count: 6, high: 2, choices: [0, 1, 2] };
    const labels = taskLabels('MountainCarContinuous-v0', policy);
    const shown = shownAs([0, 1, 2, 2, 1, 0], policy, three, labels);
    expect(shown).toContain('< −0.5 −0.5 … 0.5 ≥ 0.5 < 0 [-1] [0] [1] ≥ 0 [1] [0] [-1]');
  });
});
