import { describe, expect, it } from 'vitest';
import type { PolicyDescription } from '../../../src/policies/policy.js';
import { parameterHeatMap } from '../../../src/web/report/charts/heat-map.js';
import { learningCurve, spreadOf } from '../../../src/web/report/charts/learning-curve.js';
import { loggedProposals, proposalId, type RunData } from '../../../src/web/report/data/proposals.js';
import { taskLabels } from '../../../src/web/report/data/task-labels.js';
import { sparkline } from '../../../src/web/report/run-text.js';
import { chartIn, heatMapIn, visibleText } from '../shown.js';
import { frozenLake, runFixture } from './run-fixture.js';

const data = runFixture({ iterations: 30 });
const curveIn = (run: RunData) => ({
  part: learningCurve(run, loggedProposals(run), (place) => `#${proposalId(place)}`),
});
const curveOf = (run: RunData) => chartIn(curveIn(run));
const heatMapOf = (run: RunData) =>
  heatMapIn({ part: parameterHeatMap(run, taskLabels(run.config.environment.id, run.policy)) });

describe('the learning curve', () => {
  it('draws every evaluation, and the last one has a note and a link to its proposal', () => {
    const { at, links, notes, series } = curveOf(data);
    expect(series[0]!.values).toEqual(data.entries.map(({ score }) => score));
    expect(notes!.at(-1)).toMatch(/^Iteration 30: [\d.]+, 20 episodes from \d+ to \d+; best so far [\d.]+$/);
    expect(links!.at(-1)).toBe(`#${proposalId(data.entries.at(-1)!)}`);
    expect(at).toEqual(at.toSorted((a, b) => a - b));
  });

  it('puts the warm-up before iteration 1, and candidates of one iteration side by side', () => {
    const entries = data.entries
      .map((entry, i) => (i < 21 ? entry : { ...entry, iteration: 2, candidate: i - 21 }))
      .slice(0, 24);
    const { at, shades } = curveOf({ ...data, entries, calls: [] });
    expect(shades).toEqual([[0, 1]]);
    expect(at.slice(0, 3)).toEqual([0, 0.05, 0.1]);
    expect(at.slice(-4)).toEqual([1, 2, 2 + 1 / 3, 2 + 2 / 3]);
  });

  it('draws the best so far, which never falls', () => {
    const best = curveOf(data).series[1]!.values as readonly number[];
    expect(best).toEqual(best.toSorted((a, b) => a - b));
    expect(best.at(-1)).toBe(Math.max(...data.entries.map(({ score }) => score)));
  });

  it('keeps the extremes of a run with too many evaluations to draw', () => {
    const entries = Array.from({ length: 5000 }, (_, i) => ({
      ...data.entries.at(-1)!,
      iteration: i + 1,
      candidate: 0,
      score: i === 777 ? -9 : i,
    }));
    const { label, series } = curveOf({ ...data, entries, calls: [] });
    expect(label).toContain('5000 evaluations');
    expect(series[0]!.values.length).toBeLessThan(4100);
    expect(series[0]!.values).toEqual(expect.arrayContaining([-9, 4999]));
  });

  it('shows the standard error if episodes only succeed or fail', () => {
    const lake = runFixture({ task: frozenLake, iterations: 10 });
    expect(visibleText(curveIn(lake))).toContain('with the standard error of the mean');
    const returns = Array.from({ length: 20 }, (_, i) => i % 2);
    const { low, high } = spreadOf({ ...lake.entries[0]!, returns, score: 0.5 }, true);
    const error = Math.sqrt((0.25 * 20) / 19 / 20);
    expect([low, high]).toEqual([expect.closeTo(0.5 - error, 12), expect.closeTo(0.5 + error, 12)]);
  });
});

describe('the heat map', () => {
  it('names the weights of a network by the units that they connect', () => {
    const policy: PolicyDescription = {
      kind: 'mlp',
      observations: 4,
      hidden: [1],
      activation: 'tanh',
      outputs: 2,
      discrete: true,
      firstAction: 0,
    };
    const { names: _names, ...spec } = data.parameters;
    const parameters = { ...spec, count: 9 };
    const { names } = heatMapOf({ ...data, policy, parameters });
    expect(names.slice(0, 2)).toEqual(['cart position → 1.0', 'cart velocity → 1.0']);
    expect(names.slice(4)).toEqual([
      ...['bias → 1.0', '1.0 → left', '1.0 → right', 'bias → left', 'bias → right'],
    ]);
  });

  it('labels each choice with its value and its action', () => {
    const lake = runFixture({ task: frozenLake, iterations: 10 });
    expect(heatMapOf(lake).choices).toEqual([
      { value: 0, name: '0 left' },
      { value: 1, name: '1 down' },
      { value: 2, name: '2 right' },
      { value: 3, name: '3 up' },
    ]);
  });

  it('contains the exact values', () => {
    const { columns, titles } = heatMapOf(data);
    expect(titles[5]).toBe('pole angle → right (weight of observation[2] for action 1)');
    expect(columns).toEqual(data.entries.map(({ parameters }) => parameters));
  });
});

it.each([
  [[0, 1, 2, 3, 4, 5, 6, 7], 40, '▁▂▃▄▅▆▇█'],
  [[0, 2, 4, 6, 10, 14], 3, '▁▃█'],
  [[-5, 5], 40, '▁█'],
  [[3, 3], 40, '▅▅'],
  [[], 40, ''],
])('the sparkline of %j in at most %i characters is %j', (values, width, blocks) => {
  expect(sparkline(values, width)).toBe(blocks);
});
