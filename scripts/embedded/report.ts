/** The protocol's rows as Markdown. */
import { mean, quantile } from '../../src/statistics/descriptive.js';
import {
  arms,
  budgets,
  controls,
  declared,
  falsehoods,
  type Row,
  screeningAlone,
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

/** @param constants by declared task; a task in another dress has those of the task itself */
export function embeddedReport(rows: readonly Row[], constants: AllConstants): string {
  const all: Record<string, Constants> = { ...constants };
  for (const [name, { of }] of Object.entries(variants))
    if (of !== undefined && constants[of] !== undefined) all[name] = constants[of];
  const present = Object.keys(arms).filter((arm) => rows.some((row) => row.arm === arm));
  return [
    ...reachedTables(rows, all, present),
    ...comparisons(rows, all, 'model', controls),
    ...comparisons(rows, all, 'screened', controls),
    ...comparisons(rows, all, 'screened', screeningAlone),
    ...dresses(rows, all, present),
    ...falsified(rows, all, present),
    ...seconds(rows, present),
  ].join('\n');
}

function reachedTables(rows: readonly Row[], constants: AllConstants, present: readonly string[]) {
  return budgets.map((budget, b) => {
    const lines = Object.keys(tasks).flatMap((task) => {
      const own = present.map((arm) => reachedOf(rows, constants[task] ?? { low: 0, high: 1 }, task, arm));
      if (task in variants || own.every((one) => one === undefined)) return [];
      const cells = own.map((one) => {
        if (one === undefined) return '–';
        const scaled =
          constants[task] === undefined ? '' : ` (${two(one.means[b]!)}; ${two(one.lowest[b]!)})`;
        return `${four(one.returns[b]!)}${scaled}`;
      });
      const runs = own.map((one) => one?.runs ?? 0);
      return [[task, String(Math.max(...runs)), ...cells]];
    });
    return `### At ${budget} evaluations\n\nMean return on fresh episodes (normalised; mean of the lowest tenth of the runs).\n\n${tableOf(['task', 'runs', ...present.map((arm) => arms[arm]!.label)], lines)}`;
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
  const heading = `### ${label[0]!.toUpperCase()}${label.slice(1)}, minus ${others === controls ? 'each control' : 'what is screened, or not'}`;
  return [
    `${heading}\n\nMean normalised difference over tasks, its 95 % interval from seeds resampled within tasks, the share of pairs won, and p of a sign-flip test over the tasks' means. Above 0: ${above} of ${lines.length}.\n\n${tableOf(['other, evaluations', 'tasks', 'pairs', 'difference', 'wins', 'interval is', 'p over tasks'], lines)}`,
  ];
}

function differenceLine(name: string, pairs: Pairs): readonly (readonly string[])[] {
  const found = differenceOf(pairs);
  if (found === undefined) return [];
  const { difference, interval, p, tasks: count, wins } = found;
  const verdict = interval[0] > 0 ? 'above' : interval[1] < 0 ? 'below' : 'about 0';
  const shown = `${signed(difference)} [${signed(interval[0])}, ${signed(interval[1])}]`;
  return [
    [name, String(count), String(found.pairs), shown, `${Math.round(100 * wins)} %`, verdict, p.toFixed(3)],
  ];
}

/** What a change of dress costs each arm, as a share of what it reaches on the plain task. */
function dresses(rows: readonly Row[], constants: AllConstants, present: readonly string[]) {
  const lines = Object.entries(variants).flatMap(([name, { of = '' }]) => {
    const own = constants[name];
    if (own === undefined || !rows.some(({ task }) => task === name)) return [];
    const cells = present.map((arm) => {
      const [plain, changed] = [of, name].map((task) => reachedOf(rows, own, task, arm)?.means.at(-1));
      return plain === undefined || changed === undefined ? '–' : `${two(changed)} (${two(changed - plain)})`;
    });
    return [[name, ...cells]];
  });
  if (lines.length === 0) return [];
  return [
    `### In another dress, at 100 evaluations\n\nMean normalised return (minus that of the plain task).\n\n${tableOf(['task', ...present.map((arm) => arms[arm]!.label)], lines)}`,
  ];
}

/** A model that is told falsehoods against random search: it reads where it falls to it. */
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
    `### Told falsehoods: minus random search at 100 evaluations\n\n${tableOf(['history', 'tasks', 'pairs', 'difference', 'wins', 'interval is', 'p over tasks'], lines)}`,
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
    `### Time and validity\n\nMedian seconds of a run, confirmations included; first answers that were accepted.\n\n${tableOf(['arm', 'runs', 'seconds', 'valid'], lines)}`,
  ];
}
