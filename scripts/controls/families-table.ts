/** Table of the baselines' results on each family of synthetic tasks. */
import { mean, median, quantile } from '../../src/statistics/descriptive.js';

export type FamilyRow =
  /** A judged draw; `left` is the share that search gains beyond random policies, 0 if the warm-up solves the task. */
  | {
      readonly kind: 'draw';
      readonly family: string;
      readonly number: number;
      readonly parameters: number;
      readonly ties: number;
      readonly left: number;
      /** Return of the median random policy. */
      readonly median: number;
    }
  /** A search on an accepted draw: returns on fresh episodes at 20, 50 and 100 evaluations; for `mix`, also at 400. */
  | {
      readonly kind: 'run';
      readonly family: string;
      readonly number: number;
      readonly control: string;
      readonly reached: readonly number[];
    };

type DrawRow = FamilyRow & { readonly kind: 'draw' };
type RunRow = FamilyRow & { readonly kind: 'run' };

interface FamilyFigures {
  readonly family: string;
  readonly draws: readonly DrawRow[];
  readonly tasks: number;
  /** Mean normalised returns by baseline at 20, 50 and 100 evaluations, over tasks that all shown baselines played. */
  readonly reached: ReadonlyMap<string, readonly number[]>;
  /** Share of pairs with other baselines that a baseline wins at 100 evaluations; ties count half. */
  readonly wins: ReadonlyMap<string, number>;
}

/** 0 is the median random policy, 1 the best result of any baseline; clipped at −1: some returns are unbounded. */
const normalised = (value: number, low: number, high: number) =>
  high > low ? Math.max(-1, (value - low) / (high - low)) : 0;

/** @param order order of the baselines; baselines without rows of a family are omitted from it */
export function figuresOf(
  rows: readonly FamilyRow[],
  family: string,
  order: readonly string[],
): FamilyFigures {
  const draws = rows.filter((row): row is DrawRow => row.kind === 'draw' && row.family === family);
  const runs = rows.filter((row): row is RunRow => row.kind === 'run' && row.family === family);
  const byTask = new Map<number, Map<string, readonly number[]>>();
  for (const { control, number, reached } of runs)
    byTask.set(number, (byTask.get(number) ?? new Map()).set(control, reached));
  const played = [...byTask.values()].filter(({ size }) => size > 1);
  const controls = order.filter((name) => played.some((task) => task.has(name)));
  const values = new Map(controls.map((name) => [name, [[], [], []] as number[][]]));
  const won = new Map(controls.map((name) => [name, [] as number[]]));
  for (const [number, task] of byTask) {
    const low = draws.find((row) => row.number === number)!.median;
    const high = Math.max(...[...task.values()].flat());
    for (const [name, reached] of task) {
      for (const [b, list] of (values.get(name) ?? []).entries())
        list.push(normalised(reached[b]!, low, high));
      for (const [other, theirs] of task)
        if (other !== name) won.get(name)?.push((Math.sign(reached[2]! - theirs[2]!) + 1) / 2);
    }
  }
  return {
    family,
    draws,
    tasks: byTask.size,
    reached: new Map([...values].map(([name, lists]) => [name, lists.map(mean)])),
    wins: new Map([...won].map(([name, shares]) => [name, mean(shares)])),
  };
}

/** Markdown table with one row per family. */
export function familiesTable(rows: readonly FamilyRow[], order: readonly string[]): string {
  const families = [...new Set(rows.map(({ family }) => family))];
  const share = (part: number, whole: number) => `${Math.round((100 * part) / whole)} %`;
  const lines = families.map((name) => {
    const { draws, reached, tasks, wins } = figuresOf(rows, name, order);
    const sizes = draws.map(({ parameters }) => parameters).toSorted((a, b) => a - b);
    const tied = draws.filter(({ ties }) => ties > 0.75).length;
    const cells = order.map((control) => {
      const at = reached.get(control);
      return at === undefined ? '–' : at.map((value) => value.toFixed(2)).join(' / ');
    });
    const won = order.map((control) => {
      const rate = wins.get(control);
      return rate === undefined ? '–' : String(Math.round(100 * rate));
    });
    return [
      `\`${name}\``,
      `${median(sizes)} (${quantile(sizes, 0)}–${quantile(sizes, 1)})`,
      share(tied, draws.length),
      `${share(draws.filter(({ left }) => left >= 0.1).length, draws.length)}, ${share(draws.filter(({ left }) => left >= 0.3).length, draws.length)} of ${draws.length}`,
      String(tasks),
      ...cells,
      won.join(' / '),
    ];
  });
  const header = [
    'family',
    'parameters',
    'ties',
    'accepted',
    'tasks',
    ...order,
    `wins at 100, % (${order.join(' / ')})`,
  ];
  const rule = header.map((_, i) => (i === 0 ? '---' : '--:'));
  return [header, rule, ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}
