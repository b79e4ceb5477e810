import { describe, expect, it } from 'vitest';
import type { Chart } from '../../src/web/chart.js';
import { trainingCharts } from '../../src/web/training-charts.js';

const words = {
  unit: 'update',
  quantity: 'held-out mean return',
  rewardTitle: 'Return in training',
  maxGradientNorm: 1,
} as const;
type Row = Readonly<Record<string, number>>;
const rowsWith = (rows: Readonly<Record<string, readonly Row[]>>) =>
  Object.entries(rows).flatMap(([kind, own]) => own.map((row) => ({ kind, ...row })));
const titles = (charts: readonly Chart[]) => charts.map(({ y }) => y.title);
const series = ({ series: all }: Chart, label: string) => all.find((one) => one.label.startsWith(label))!;

describe('charts of a training run', () => {
  it('show the training and validation losses, and mark the lowest validation loss', () => {
    const step = [1, 2, 3, 4].map((number) => ({ step: number, loss: 5 - number, learningRate: 0.1 }));
    const validation = [
      { step: 2, loss: 2 },
      { step: 4, loss: 2.5 },
    ];
    const charts = trainingCharts(rowsWith({ step, validation }), { ...words, unit: 'step' });
    expect(titles(charts)).toEqual(['Loss (nats)', 'Learning rate']);
    const [loss] = charts;
    expect(series(loss!, 'each step').values).toEqual([4, 3, 2, 1]);
    expect(series(loss!, 'mean over').values).toEqual([4, 3.5, 3, 2.5]);
    expect(series(loss!, 'validation loss').values).toEqual([null, 2, null, 2.5]);
    expect(loss!.marks![0]!.marks).toEqual([{ x: 2, y: 2 }]);
    expect(loss!.label).toContain('lowest validation loss, 2.0000 at step 2');
  });

  it('show the spread of rewards and the margin of evaluations, and mark the last of equally good ones', () => {
    const step: Row[] = [
      { step: 1, reward: 0.5, spread: 0.2, flat: 0, entropy: 2, gradientNorm: 3, loss: -1 },
      { step: 2, reward: 1, spread: 0, flat: 1, entropy: 1, gradientNorm: 0.5, loss: 0 },
    ];
    const evaluation = [0, 1, 2].map((number) => ({
      step: number,
      meanReward: Math.min(1, number),
      margin: 0.1,
    }));
    const [returns, rewards, ...rest] = trainingCharts(rowsWith({ step, evaluation }), words);
    expect(returns!.marks![0]!.marks).toEqual([{ x: 2, y: 1 }]);
    const expected = { values: [0, 1, 1], low: [-0.1, 0.9, 0.9], high: [0.1, 1.1, 1.1] };
    expect(series(returns!, 'held-out')).toMatchObject(expected);
    expect(series(rewards!, 'each update')).toMatchObject({ low: [0.3, 1], high: [0.7, 1] });
    expect(rewards!.bands?.label).toContain('within groups');
    expect(titles(rest)).toEqual([
      ...['Groups whose returns are all equal', 'Entropy (nats per token or action)', 'Gradient norm'],
    ]);
    expect(rest.at(-1)!.levels).toEqual([{ y: 1, label: 'clipped to 1' }]);
  });

  it('show the mean episode length of a numeric policy, computed from totals', () => {
    const step = [
      { step: 1, reward: 20, episodes: 10, steps: 200 },
      { step: 2, reward: 50, episodes: 14, steps: 400 },
    ];
    const lengths = trainingCharts(rowsWith({ step }), words).find(({ y }) => y.title.includes('(steps)'));
    expect(lengths!.series[0]!.values).toEqual([20, 50]);
  });

  it('are absent without rows, and tolerate odd or incomplete ones', () => {
    expect(trainingCharts(rowsWith({}), words)).toEqual([]);
    const odd: Row[] = [{}, { step: 1 }, { loss: 1 }, { step: -1, loss: 0, kl: 1e300 }, { step: 1, loss: 2 }];
    const drawn = (rows: Readonly<Record<string, readonly Row[]>>) =>
      trainingCharts(rowsWith(rows), words).map(({ at, series: all, y }) => [y.title, at, all[0]?.values]);
    expect(drawn({ step: odd, validation: odd, evaluation: odd })).toEqual([
      ['Held-out mean return', [], undefined],
      ['KL divergence (nats)', [-1], [1e300]],
    ]);
    expect(drawn({ step: [{ reward: 1 }], evaluation: [{ meanReward: 1 }, {}] })).toEqual([
      ['Held-out mean return', [0], [1]],
      ['Return in training', [0], [1]],
    ]);
  });
});

it('a long training run is drawn as the means of its stretches, up to its last step', () => {
  const step = Array.from({ length: 10_000 }, (_, i) => ({ step: i + 1, loss: (i + 1) % 2 }));
  const [loss] = trainingCharts(
    [...rowsWith({ step }), { kind: 'validation', step: 1, text: 'no number' }],
    words,
  );
  expect(loss!.at.length).toBeLessThanOrEqual(1024);
  expect(loss!.at.at(-1)).toBe(10_000);
  expect(new Set(series(loss!, 'each update').values)).toEqual(new Set([0.5]));
});
