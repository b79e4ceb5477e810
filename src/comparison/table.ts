/** A comparison as a person reads it on a terminal, and as programs do. */
import { styleText } from 'node:util';
import { csvText } from '../format/csv.js';
import { formatCompact, formatReturn } from '../format/numbers.js';
import { formatTable } from '../format/table.js';
import type { RacingTotals } from '../rollout/replay-buffer.js';
import type { GroupDifference } from './differences.js';
import type { GroupFigures, RunComparison } from './run-comparison.js';
import {
  conclusion,
  countText,
  ends,
  pText,
  reachedText,
  reading,
  signed,
  timeText,
  verdictRule,
  verdictText,
} from './words.js';

/** Runs that are listed by name when they are left out. */
const shownLeftOut = 10;

export function comparisonTables(comparison: RunComparison): string {
  const { leftOut, tasks, tested } = comparison;
  const blocks = tasks.flatMap((task) => [
    `${styleText('bold', task.name)}  ${styleText('dim', `areas over ${task.horizon} evaluations`)}`,
    confirmedTable(task.groups),
    effortTable(task.groups),
    ...(task.differences.length === 0 ? [] : [differenceTable(task.differences)]),
    ...task.cautions.map((text) => `${styleText('yellow', 'note')} ${text}`),
  ]);
  const differences = tasks.flatMap((task) => task.differences);
  const targets = tasks.some(({ groups }) => groups.some(({ target }) => target !== null));
  blocks.push(
    styleText(
      'dim',
      [reading.confirmed, reading.area, ...(targets ? [reading.target] : []), ...verdictRule(tested)].join(
        '\n',
      ),
    ),
  );
  const listed = leftOut.slice(0, shownLeftOut).map(({ run, reason }) => `  ${run}: ${reason}`);
  if (leftOut.length > 0) {
    const more = leftOut.length - listed.length;
    blocks.push(
      [
        `left out ${leftOut.length} ${leftOut.length === 1 ? 'run' : 'runs'}:`,
        ...listed,
        ...(more > 0 ? [`  … and ${more} more`] : []),
      ].join('\n'),
    );
  }
  const [only] = differences;
  if (only !== undefined && differences.length === 1) blocks.push(styleText('bold', conclusion(only)));
  return blocks.join('\n\n');
}

function confirmedTable(groups: readonly GroupFigures[]): string {
  return formatTable(
    ['group', 'runs', 'confirmed', '95 % interval', 'median', '95 % interval', 'IQM', '95 % interval'],
    groups.map(({ name, runs, confirmed }) => [
      name,
      String(runs.length),
      numberOr(confirmed?.mean),
      ends(confirmed?.meanInterval ?? null),
      numberOr(confirmed?.median),
      ends(confirmed?.medianInterval ?? null),
      numberOr(confirmed?.iqm),
      ends(confirmed?.iqmInterval ?? null),
    ]),
  );
}

function effortTable(groups: readonly GroupFigures[]): string {
  const timed = groups.some(({ target }) => target !== null);
  const paid = groups.some(({ tokens }) => tokens > 0);
  const raced = groups.some(({ racing }) => racing !== null);
  return formatTable(
    [
      'group',
      'area (observed)',
      '95 % interval',
      ...(timed ? ['target', 'reached', 'iterations to it', 'evaluations'] : []),
      ...(raced ? ['evaluations cut short', 'episodes saved'] : []),
      ...(paid ? ['tokens a run', 'cost a run'] : []),
    ],
    groups.map(({ name, area, target, tokens, cost, racing }) => [
      name,
      numberOr(area?.mean),
      ends(area?.meanInterval ?? null),
      ...(timed
        ? [
            numberOr(target?.return),
            reachedText(target),
            timeText(target, 'medianIterations'),
            timeText(target, 'medianEvaluations'),
          ]
        : []),
      ...(raced ? racingCells(racing) : []),
      ...(paid ? [formatCompact(tokens), cost === null ? '–' : cost.toFixed(4)] : []),
    ]),
  );
}

export function differenceTable(differences: readonly GroupDifference[]): string {
  return formatTable(
    ['difference', 'over', 'confirmed', '95 % interval', 'wins', 'test', 'p (Holm)', ''],
    differences.map((difference) => [
      `${difference.of} − ${difference.against}`,
      countText(difference),
      difference.difference === null ? '–' : signed(difference.difference),
      ends(difference.interval, signed),
      difference.winRate === null ? '–' : `${Math.round(100 * difference.winRate)} %`,
      difference.test === 'none' ? '–' : difference.test === 'paired' ? 'paired t' : 'Welch',
      pText(difference.adjusted),
      verdictText(difference),
    ]),
  );
}

const racingCells = (racing: RacingTotals | null) =>
  racing === null
    ? ['–', '–']
    : [`${racing.cut} of ${racing.evaluations}`, `${racing.saved} of ${racing.episodes}`];

const numberOr = (value: number | undefined) => (value === undefined ? '–' : formatReturn(value));

/** One line a group. */
export function comparisonCsv({ tasks, policyloop }: RunComparison): string {
  const header = [
    ...['environment', 'options', 'group', 'runs', 'seeds'],
    ...['confirmed_mean', 'confirmed_mean_low', 'confirmed_mean_high'],
    ...['confirmed_median', 'confirmed_median_low', 'confirmed_median_high'],
    ...['confirmed_iqm', 'confirmed_iqm_low', 'confirmed_iqm_high'],
    ...['observed_area', 'observed_area_low', 'observed_area_high', 'area_evaluations'],
    ...['target', 'reached', 'median_iterations', 'median_evaluations', 'censored_after'],
    ...['tokens', 'cost', 'policyloop'],
    ...['evaluations_raced', 'evaluations_cut', 'episodes_planned', 'episodes_saved'],
  ];
  const lines = tasks.flatMap(({ environment, groups, horizon }) =>
    groups.map(({ name, runs, seeds, confirmed, area, target, tokens, cost, racing }) => [
      environment.id,
      JSON.stringify(environment.options),
      name,
      runs.length,
      seeds.join(' '),
      confirmed?.mean,
      ...(confirmed?.meanInterval ?? [null, null]),
      confirmed?.median,
      ...(confirmed?.medianInterval ?? [null, null]),
      confirmed?.iqm,
      ...(confirmed?.iqmInterval ?? [null, null]),
      area?.mean,
      ...(area?.meanInterval ?? [null, null]),
      horizon,
      target?.return,
      target?.reached,
      target?.medianIterations,
      target?.medianEvaluations,
      target?.censoredAfter,
      tokens,
      cost,
      policyloop,
      racing?.evaluations,
      racing?.cut,
      racing?.episodes,
      racing?.saved,
    ]),
  );
  return csvText([header, ...lines]);
}
