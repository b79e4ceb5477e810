/**
 * Computes the figures of docs/results/own-logs.md: models before and after training on their own logs.
 * Run: npx tsx scripts/figures/own-logs.ts [--page]   (`--page` writes them into the page)
 */
import { join } from 'node:path';
import type { Arm } from '../../finetune/evaluate/arms.js';
import { evaluate } from '../../finetune/evaluate/evaluate.js';
import type { EvaluatedRun } from '../../finetune/evaluate/evaluation.js';
import { groupBy } from '../../src/base/grouped.js';
import { packageRoot } from '../../src/base/package.js';
import { loadConfig } from '../../src/config/load.js';
import { mean, median, sum } from '../../src/statistics/descriptive.js';
import { pText, verdictCell } from '../../src/studies/comparison/words.js';
import { publish, readRows, tableOf } from './rows.js';

/** A run as in `evaluation.json`, without its path and learning curve. */
interface Row extends Omit<EvaluatedRun, 'path' | 'figures'> {
  readonly model: string;
  readonly seed: number;
  readonly figures: Omit<NonNullable<EvaluatedRun['figures']>, 'curve'>;
}

const arms = ['base', 'tuned', 'gp'] as const;
const trainedOn = ['Acrobot-v1', 'MountainCarContinuous-v0', 'Pendulum-v1'];
const configOf = (name: string) =>
  loadConfig({ file: join(packageRoot(), 'examples', 'real-model', 'tasks', `${name}.yaml`) }).config;
const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(2)}`.replace('-', '−');

const shares = [
  ['improvements', 'proposals that beat all before them'],
  ['repeated', 'proposals that first repeated a trial'],
] as const;

const figures: string[][] = [];
const differences: string[][] = [];
for (const [model, rows] of groupBy(readRows<Row>('own-logs'), (row) => row.model)) {
  const experiments = [...groupBy(rows, ({ experiment }) => experiment)];
  const evaluation = evaluate(
    {
      arms: arms.map((name): Arm => ({ name, label: name, provider: 'local', overrides: [], hash: null })),
      experiments: experiments.map(([name]) => ({ name, configs: { base: configOf(name) } })),
      seeds: [...new Set(rows.map(({ seed }) => seed))],
    },
    rows.map((row) => ({ ...row, path: '', figures: { ...row.figures, curve: [] } })),
    { kind: 'lineage', environments: trainedOn },
  );
  const ofArm = (of: readonly Row[], arm: string) =>
    of.filter((row) => row.arm === arm).map((row) => row.figures);
  for (const [name, own] of experiments) {
    const returns = arms.map((arm) => ofArm(own, arm).flatMap(({ confirmed }) => confirmed ?? []));
    const texts = returns.map((values) => `${mean(values).toFixed(0)} (${median(values).toFixed(0)})`);
    figures.push([`${model}, ${name}`, ...texts]);
  }
  for (const [key, label] of shares) {
    const total = (arm: string, of: typeof key | 'proposals') => sum(ofArm(rows, arm).map((one) => one[of]));
    const texts = arms.map((arm) => `${((100 * total(arm, key)) / total(arm, 'proposals')).toFixed(1)} %`);
    figures.push([`${model}, ${label}`, ...texts]);
  }
  for (const { adjusted, against, difference, interval, of, verdict } of evaluation.groups[0]!.differences) {
    const range = `[${interval!.map(signed).join(', ')}]`;
    const texts = [`${signed(difference!)} ${range}`, pText(adjusted!), verdictCell({ verdict }).text];
    differences.push([`${model}, ${of} − ${against}`, ...texts]);
  }
}
publish(
  'docs/results/own-logs.md',
  `Mean (median) confirmed return, and shares of proposals:

${tableOf(['', ...arms], figures)}
Differences over both tasks; 0 is the lowest and 1 the highest confirmed return of a task:

${tableOf(['', 'normalised difference', 'p (Holm)', 'verdict'], differences)}`,
);
