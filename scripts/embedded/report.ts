/** Reports the protocol's rows as Markdown. */
import { mean, quantile } from '../../src/statistics/descriptive.js';
import { forestPlot } from '../figures/forest.js';
import {
  ablations,
  arms,
  budgets,
  controls,
  declared,
  falsehoods,
  type Row,
  tasks,
  variants,
} from './plan.js';
import { type Constants, differenceOf, type Pairs, pairsOf, reachedOf } from './statistics.js';

type AllConstants = Readonly<Record<string, Constants>>;

const declaredNames = Object.keys(declared);
const two = (value: number) => value.toFixed(2).replace('-', '−');
const signed = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(3).replace('-', '−')}`;
const four = (value: number) => String(Number(value.toPrecision(4))).replace('-', '−');

const tableOf = (header: readonly string[], rows: readonly (readonly string[])[]) =>
  [header, header.map((_, i) => (i === 0 ? '---' : '--:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');

/** Ways to use the model; each is compared with the baselines. */
const ways = ['model', 'screened'] as const;

/** @param constants the constants of each declared task */
export function embeddedReport(rows: readonly Row[], constants: AllConstants): string {
  const present = Object.keys(arms).filter((arm) => rows.some((row) => row.arm === arm));
  const truthful = present.filter(
    (arm) =>
      arms[arm]!.falsified === undefined &&
      declaredNames.some((task) => reachedOf(rows, constants[task]!, task, arm) !== undefined),
  );
  return [
    overall(rows, constants, truthful),
    ...ways.flatMap((arm) => comparisons(rows, constants, arm, controls)),
    ...comparisons(rows, constants, 'screened', ablations),
    ...falsified(rows, constants, present),
    ...dresses(rows, constants, truthful),
    ...reachedTables(rows, constants, truthful),
    ...seconds(rows, present),
  ].join('\n');
}

/** The comparisons of the report as a picture. */
export const embeddedPicture = (rows: readonly Row[], constants: AllConstants): string =>
  forestPlot({
    label: 'Differences of the embedded model from the baselines',
    header: 'evaluations',
    axis: 'normalised return above (right) or below (left) the baseline',
    ways: ways.map((arm) => arms[arm]!.label),
    groups: controls.map((control) => ({
      label: arms[control]!.label,
      rows: budgets.map((budget, b) => ({
        label: String(budget),
        of: ways.map((arm) =>
          differenceOf(pairsOf(rows, constants, { arm, control, budget: b }, declaredNames)),
        ),
      })),
    })),
  });

/** Each arm over all declared tasks, with its full name; the other tables use short names. */
function overall(rows: readonly Row[], constants: AllConstants, shown: readonly string[]): string {
  const lines = shown.map((arm) => {
    const reached = declaredNames.flatMap((task) => reachedOf(rows, constants[task]!, task, arm) ?? []);
    const runs = reached.map((one) => one.runs);
    const counted =
      Math.min(...runs) === Math.max(...runs) ? `${runs[0]}` : `${Math.min(...runs)}–${Math.max(...runs)}`;
    return [
      `\`${arm}\``,
      arms[arm]!.label,
      `${reached.length} × ${counted}`,
      ...budgets.map((_, b) => two(mean(reached.map(({ means }) => means[b]!)))),
      two(mean(reached.map(({ lowest }) => lowest.at(-1)!))),
    ];
  });
  const header = ['arm', 'proposer', 'tasks × runs', ...budgets.map(String), 'lowest tenth'];
  return `### Over all tasks\n\nMean normalised return over tasks (0: random search at 100 evaluations; 1: the best known) after 20, 50 and 100 evaluations, and that of the lowest tenth of the runs after 100. Entries with fewer than five runs are omitted, here and below.\n\n${tableOf(header, lines)}`;
}

function reachedTables(rows: readonly Row[], constants: AllConstants, shown: readonly string[]) {
  return budgets.map((budget, b) => {
    const lines = Object.keys(tasks).flatMap((task) => {
      const own = shown.map((arm) => reachedOf(rows, constants[task] ?? { low: 0, high: 1 }, task, arm));
      if (task in variants || own.every((one) => one === undefined)) return [];
      return [[task, ...own.map((one) => (one === undefined ? '–' : four(one.returns[b]!)))]];
    });
    return `### Mean return on fresh episodes at ${budget} evaluations\n\n${tableOf(['task', ...shown], lines)}`;
  });
}

function comparisons(
  rows: readonly Row[],
  constants: AllConstants,
  arm: string,
  others: readonly string[],
): readonly string[] {
  const lines = others.flatMap((control) =>
    budgets.flatMap((budget, b) => {
      const pairs = pairsOf(rows, constants, { arm, control, budget: b }, declaredNames);
      return differenceLine(`${arms[control]!.label}, ${budget}`, pairs);
    }),
  );
  if (lines.length === 0) return [];
  const above = lines.filter(([, , , , , verdict]) => verdict === 'above').length;
  const { label } = arms[arm]!;
  const heading = `### ${label[0]!.toUpperCase()}${label.slice(1)}, compared with ${others === controls ? 'each baseline' : 'its ablations'}`;
  return [
    `${heading}\n\nMean normalised difference over tasks, its 95 % interval from resampling seeds within tasks, the share of pairs won, and p of a sign-flip test over the tasks' means. Intervals above 0: ${above} of ${lines.length}.\n\n${differenceTable('compared with, evaluations', lines)}`,
  ];
}

const differenceTable = (first: string, lines: readonly (readonly string[])[]) =>
  tableOf([first, 'tasks', 'pairs', 'difference', 'wins', 'interval vs. 0', 'p over tasks'], lines);

function differenceLine(name: string, pairs: Pairs): readonly (readonly string[])[] {
  const found = differenceOf(pairs);
  if (found === undefined) return [];
  const { difference, interval, p, tasks: count, wins } = found;
  const verdict = interval[0] > 0 ? 'above' : interval[1] < 0 ? 'below' : 'includes';
  const shown = `${signed(difference)} [${signed(interval[0])}, ${signed(interval[1])}]`;
  return [
    [name, String(count), String(found.pairs), shown, `${Math.round(100 * wins)} %`, verdict, p.toFixed(3)],
  ];
}

/** The cost of each transformation for each arm, compared with runs on the original task with the same seeds. */
function dresses(rows: readonly Row[], constants: AllConstants, all: readonly string[]) {
  const last = budgets.length - 1;
  const shown = all.filter((arm) => rows.some((row) => row.arm === arm && row.task in variants));
  if (shown.length === 0) return [];
  const undressed = rows.map((row): Row => {
    const { dress, of } = variants[row.task] ?? {};
    return of === undefined ? row : { ...row, task: of, arm: `${row.arm} ${dress}` };
  });
  const names = [...new Set(Object.values(variants).map(({ dress }) => dress))];
  const lines = shown.flatMap((control) =>
    names.flatMap((dress) => {
      const compared = { arm: `${control} ${dress}`, control, budget: last };
      return differenceLine(
        `${arms[control]!.label}, ${dress}`,
        pairsOf(undressed, constants, compared, declaredNames),
      );
    }),
  );
  const reached = Object.entries(variants).flatMap(([name, { of }]) => {
    const cells = shown.map((arm) => {
      const [plain, changed] = [of, name].map((task) => reachedOf(rows, constants[of]!, task, arm));
      return plain && changed ? `${two(changed.means[last]!)} (${two(plain.means[last]!)})` : '–';
    });
    return cells.every((cell) => cell === '–') ? [] : [[name, ...cells]];
  });
  return [
    `### Transformed tasks, compared with the original task at 100 evaluations\n\n${differenceTable('arm, transformation', lines)}`,
    `Mean normalised return, with that of the original task in parentheses.\n\n${tableOf(['task', ...shown], reached)}`,
  ];
}

/** Compares the model with falsified histories to random search: a model that uses scores falls to its level. */
function falsified(rows: readonly Row[], constants: AllConstants, present: readonly string[]) {
  const last = budgets.length - 1;
  const lines = ['model', ...falsehoods.map((falsehood) => `false-${falsehood}`)]
    .filter((arm) => present.includes(arm))
    .flatMap((arm) =>
      differenceLine(
        arms[arm]!.label,
        pairsOf(rows, constants, { arm, control: 'random', budget: last }, declaredNames),
      ),
    );
  if (lines.length < 2) return [];
  return [
    `### Falsified histories, compared with random search at 100 evaluations\n\n${differenceTable('history', lines)}`,
  ];
}

function seconds(rows: readonly Row[], present: readonly string[]) {
  const lines = present.map((arm) => {
    const own = rows.filter((row) => row.arm === arm);
    const taken = own.map((row) => row.seconds).toSorted((a, b) => a - b);
    const asked = own.flatMap((row) => (row.asked === undefined ? [] : [row.valid! / row.asked]));
    const valid = asked.length === 0 ? '–' : `${(100 * mean(asked)).toFixed(2)} %`;
    return [arms[arm]!.label, String(own.length), quantile(taken, 0.5).toFixed(1), valid];
  });
  return [
    `### Time and validity\n\nMedian seconds per run, confirmations included, and the share of first answers that were accepted.\n\n${tableOf(['arm', 'runs', 'seconds', 'valid'], lines)}`,
  ];
}
