/**
 * Computes the figures and charts of docs/results/large-model.md: how good the proposals of a large model are.
 * Run: npx tsx scripts/figures/large-model.ts [--page]
 */
import { groupBy } from '../../src/base/grouped.js';
import { returnRange } from '../../src/environments/catalogue/known-bounds.js';
import { clip, hiddenRange, interval95 } from '../../src/statistics/bootstrap.js';
import { largest, mean, standardDeviation } from '../../src/statistics/descriptive.js';
import { studentQuantile975 } from '../../src/statistics/distributions.js';
import { drawChart } from './chart.js';
import { relayFigures } from './relay.js';
import { publish, readRows, tableOf } from './rows.js';

/** A run of the model; the lists have one item per proposal. */
interface ModelRun {
  readonly environment: string;
  readonly by: 'gpt-oss:120b';
  readonly run: number;
  /** Recorded returns. */
  readonly recorded: readonly (readonly number[])[];
  /** Mean return of the policy over fresh episodes. */
  readonly means: readonly number[];
  /** Behaviours, numbered by their first appearance. */
  readonly behaviours: readonly number[];
}

interface Search {
  readonly environment: string;
  readonly by: 'random' | 'hill-climb' | 'cma-es' | 'gp';
  readonly seed: number;
  readonly proposals: readonly number[];
  /** After each number of proposals: the mean, over fresh episodes, of the policy with the best score so far. */
  readonly means: readonly number[];
}

const budgets = [20, 50, 100, 200, 400];
const labels = {
  'gpt-oss:120b': 'gpt-oss:120b',
  gp: 'Gaussian process',
  'cma-es': 'CMA-ES',
  'hill-climb': 'hill climbing',
  random: 'random search',
};

export const rows = readRows<ModelRun | Search>('large-model');
export const isModel = (row: ModelRun | Search): row is ModelRun => row.by === 'gpt-oss:120b';
export const number = (value: number, digits = 1) =>
  value
    .toLocaleString('en', { maximumFractionDigits: digits, minimumFractionDigits: digits })
    .replace('-', '−');
export const percent = (share: number) => `${Math.round(100 * share)} %`;

/** Index of the best recorded mean among the first proposals; the earliest if tied. */
function bestAt({ recorded }: ModelRun, proposals: number): number {
  const scores = recorded.slice(0, proposals).map(mean);
  return scores.indexOf(largest(scores));
}

/** True means of the policies that had the best score after `proposals` proposals, one per run. */
export const meansOfChosen = (own: readonly (ModelRun | Search)[], proposals: number) =>
  own.map((row) =>
    isModel(row) ? row.means[bestAt(row, proposals)]! : row.means[row.proposals.indexOf(proposals)]!,
  );

function estimate(environment: string, values: readonly number[]) {
  const center = mean(values);
  const range = returnRange({ id: environment, options: {} }, { maxSteps: 1000 });
  return {
    center,
    interval: clip(interval95([{ values, hidden: hiddenRange(values, range) }]), range, center),
  };
}

function reached(environment: string, own: readonly (ModelRun | Search)[]): string {
  const arms = [...groupBy(own, ({ by }) => by)].map(([by, runs]) => ({
    label: labels[by],
    runs: runs.length,
    at: budgets.map((proposals) => estimate(environment, meansOfChosen(runs, proposals))),
  }));
  const order = Object.values(labels);
  const sorted = arms.toSorted((a, b) => order.indexOf(a.label) - order.indexOf(b.label));
  const picture = `large-model-${environment}.svg`;
  drawChart(picture, {
    title: `${environment}: true mean return of the best policy so far`,
    x: { title: 'proposals after 20 random policies', at: budgets, scale: 'logarithmic' },
    series: sorted.map(({ at, label }) => ({
      label,
      values: at.map(({ center }) => center),
      intervals: at.map(({ center, interval }) => interval ?? ([center, center] as const)),
    })),
  });
  const cells = sorted.map(({ at, label, runs }) => [
    `${label}, ${runs} runs`,
    ...at.map(({ center, interval }) =>
      interval === null
        ? number(center)
        : `${number(center)} [${interval.map((end) => number(end)).join(', ')}]`,
    ),
  ]);
  return `![${environment}: best policy so far](../pictures/${picture})\n\n${tableOf(['proposals', ...budgets.map(String)], cells)}`;
}

/** Smallest significant difference between two means of this many episodes, from the pooled recorded variance. */
function noiseFloor({ recorded }: ModelRun): number {
  const [n] = recorded.map(({ length }) => length);
  const variance = mean(recorded.map((returns) => standardDeviation(returns) ** 2));
  return studentQuantile975(2 * n! - 2) * Math.sqrt((2 * variance) / n!);
}

/** The share of proposals that act like an earlier one. */
export const repeatShare = ({ behaviours }: ModelRun) =>
  behaviours.filter((behaviour, i) => behaviours.indexOf(behaviour) < i).length / behaviours.length;

function described(run: ModelRun): readonly string[] {
  const { behaviours, means, recorded } = run;
  const best = bestAt(run, recorded.length);
  const truly = means.indexOf(largest(means));
  const floor = noiseFloor(run);
  // Differences that 20 episodes can't show, between a proposal and the best policy recorded before it.
  const hidden = means.filter((value, i) => i > 0 && Math.abs(value - means[bestAt(run, i)]!) < floor).length;
  return [
    String(run.run),
    String(recorded.length),
    String(new Set(behaviours).size),
    percent(repeatShare(run)),
    `${number(mean(recorded[best]!))} → ${number(means[best]!)}`,
    `${number(means[truly]!)} (${truly + 1})`,
    number(floor),
    percent(hidden / recorded.length),
  ];
}

function runsOf(environment: string, runs: readonly ModelRun[]): string {
  const picture = `large-model-behaviours-${environment}.svg`;
  const longest = largest(runs.map(({ behaviours }) => behaviours.length));
  const at = Array.from({ length: longest }, (_, i) => i + 1);
  drawChart(picture, {
    title: `${environment}: distinct behaviours`,
    x: { title: 'proposals', at, scale: 'linear' },
    series: runs.map(({ behaviours, run }) => ({
      label: `run ${run}`,
      values: behaviours.map((_, i) => new Set(behaviours.slice(0, i + 1)).size),
    })),
  });
  const header = [
    'run',
    'proposals',
    'behaviours',
    'repeat a behaviour',
    'best recorded mean → true mean',
    'truly best (proposal)',
    'noise floor',
    'differ by less',
  ];
  return `${tableOf(header, runs.map(described))}\n![${environment}: distinct behaviours](../pictures/${picture})\n`;
}

let figures = '';
for (const [environment, own] of groupBy(rows, (row) => row.environment)) {
  figures += `### ${environment}\n\n${reached(environment, own)}\n${runsOf(environment, own.filter(isModel))}\n`;
}
publish('docs/results/large-model.md', figures + relayFigures());
