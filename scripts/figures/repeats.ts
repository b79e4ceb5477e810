/**
 * Computes the figures of docs/results/repeats.md: whether `repeats: behaviour` and rounded scores help.
 * Run: npx tsx scripts/figures/repeats.ts [--page]
 */
import { groupBy } from '../../src/base/grouped.js';
import { interval95 } from '../../src/statistics/bootstrap.js';
import { mean, sum } from '../../src/statistics/descriptive.js';
import { signFlipTest } from '../../src/statistics/tests.js';
import { publish, readRows, tableOf } from './rows.js';
import { bold, type Difference, withBold } from './statistics.js';

interface Row {
  readonly model: string;
  readonly environment: string;
  readonly seed: number;
  readonly repeats: 'parameters' | 'behaviour';
  /** `rounded` in rows of versions that had `prompts.scores`. */
  readonly scores?: 'exact' | 'rounded';
  /** Calls, and proposals that were evaluated, of the whole run. */
  readonly calls: number;
  readonly proposals: number;
  /** A number of evaluations, or of calls, and the mean of the best policy so far in 1,000 fresh episodes. */
  readonly atEvaluations: readonly [number, number];
  readonly atCalls: readonly [number, number];
}

type Arm = Required<Pick<Row, 'repeats' | 'scores'>>;
const plain: Arm = { repeats: 'parameters', scores: 'exact' };
const behaviour: Arm = { ...plain, repeats: 'behaviour' };
const rounded: Arm = { ...plain, scores: 'rounded' };

const tested: Pick<Difference, 'interval' | 'p'>[] = [];

/** A mean with its 95% interval over seeds; only the mean of fewer than three values. */
function withInterval(values: readonly number[], digits: number): string {
  if (values.length === 0) return '';
  const text = (value: number) => value.toFixed(digits).replace('-', '−');
  const interval = interval95([{ values }]);
  if (interval === null) return text(mean(values));
  const shown = `${text(mean(values))} [${text(interval[0])}, ${text(interval[1])}]`;
  return bold(shown, { interval, p: signFlipTest(values) }, tested);
}

function lineOf(own: readonly Row[]): readonly string[] {
  const { environment, model } = own[0]!;
  const digits = environment === 'FrozenLake-v1' || environment === 'Blackjack-v1' ? 3 : 1;
  const runsOf = (arm: Arm) =>
    own.filter(({ repeats, scores = 'exact' }) => repeats === arm.repeats && scores === arm.scores);
  /** Differences from the plain runs of the same seeds. */
  const gains = (arm: Arm, figure: 'atEvaluations' | 'atCalls') =>
    runsOf(arm).flatMap((run) =>
      runsOf(plain)
        .filter(({ seed }) => seed === run.seed)
        .map((base) => run[figure][1] - base[figure][1]),
    );
  const callsPer = (arm: Arm) => {
    const [calls, proposals] = (['calls', 'proposals'] as const).map((one) =>
      sum(runsOf(arm).map((run) => run[one])),
    );
    return (calls! / proposals!).toFixed(1);
  };
  return [
    `${model}, ${environment}`,
    String(runsOf(plain).length),
    mean(runsOf(plain).map(({ atEvaluations }) => atEvaluations[1]))
      .toFixed(digits)
      .replace('-', '−'),
    withInterval(gains(behaviour, 'atEvaluations'), digits),
    withInterval(gains(behaviour, 'atCalls'), digits),
    `${callsPer(plain)} → ${callsPer(behaviour)}`,
    withInterval(gains(rounded, 'atEvaluations'), digits),
  ];
}

const header = [
  'model, task',
  'seeds',
  'mean',
  'behaviour: equal evaluations',
  'behaviour: equal calls',
  'calls per proposal',
  'rounded',
];
const groups = groupBy(readRows<Row>('repeats'), ({ environment, model }) => `${model}|${environment}`);
publish('docs/results/repeats.md', withBold(tableOf(header, [...groups.values()].map(lineOf)), tested));
