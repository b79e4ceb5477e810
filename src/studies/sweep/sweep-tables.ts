/** Tables of a sweep, and its result on a terminal. */
import { styleText } from 'node:util';
import { append } from '../../base/append.js';
import { formatCost, formatReturn, formatSigned, plural } from '../../base/text/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../base/text/table.js';
import { minSizeIfTied } from '../../statistics/bootstrap.js';
import { minForVerdict } from '../../statistics/tests.js';
import { differenceColumns } from '../comparison/table.js';
import { conclude, pText, verdictCell, verdictRule } from '../comparison/words.js';
import type { Effect, Effects } from './effects.js';
import { bestSentence, rankSettings, type SettingFigures } from './ranking.js';
import { valueText } from './settings.js';
import type { SweepResult, SweptTask } from './sweep-result.js';

export const effectColumns: readonly Column<Effect>[] = [
  text('key', ({ key }) => ({ text: key, code: true }), { grouped: true }),
  text('value', ({ of }) => valueText(of)),
  text('against', ({ against }) => valueText(against)),
  estimate('difference', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatSigned,
  }),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('verdict', ({ verdict }) => verdictCell({ verdict })),
];

/** Returns a column for each key that varies or names a baseline; without keys, one for the setting's name. */
export function keyColumns<Row extends Pick<SettingFigures, 'name' | 'values'>>(
  settings: readonly SettingFigures[],
): readonly Column<Row>[] {
  const keys = [...new Set(settings.flatMap(({ values }) => Object.keys(values)))];
  return keys.length === 0
    ? [text('setting', ({ name }) => name)]
    : keys.map((key) => text(key, ({ values }) => valueText(values[key] ?? 'null')));
}

export function settingColumns(settings: readonly SettingFigures[]): readonly Column<SettingFigures>[] {
  const usesTokens = settings.some(({ usage }) => usage.promptTokens > 0);
  const isPriced = settings.some(({ usage }) => usage.cost !== undefined);
  return [
    ...keyColumns<SettingFigures>(settings),
    number('runs', ({ runs }) => runs),
    estimate('confirmed', ({ confirmed: c }) => c && { value: c.mean, interval: c.meanInterval }),
    number('observed', ({ observed }) => observed, { format: formatReturn }),
    number(usesTokens && 'calls', ({ usage }) => usage.calls),
    number(isPriced && 'cost', ({ usage }) => usage.cost, { format: formatCost }),
  ];
}

/** Returns the rule for the verdicts on these differences; empty if none was tested. */
export const verdictRuleFor = (differences: readonly { readonly p: number | null }[]): readonly string[] =>
  verdictRule(differences.filter(({ p }) => p !== null).length);

export const baselineDifferences = ({ tasks }: SweepResult) => tasks.flatMap(({ baselines }) => baselines);

export const seedsText = ({ count }: Effects): string =>
  `Over ${plural(count, 'seed')} for which all settings are complete.`;

/** Describes the comparison with the baselines; undefined if there are no differences yet. */
export function baselinesText(result: SweepResult): string | undefined {
  const conclusion = conclude(
    result.tasks.map(({ baselines, environment }) => ({ name: environment, differences: baselines })),
  );
  if (!baselineDifferences(result).some(({ verdict }) => verdict === 'too-few')) return conclusion;
  return `${conclusion} A verdict needs at least ${minForVerdict} seeds (${minSizeIfTied} if most values are equal): run the same command with seed=1..${result.seeds.length < minForVerdict ? 10 : 20}.`;
}

/** Maximum number of settings shown on a terminal; the page shows all. */
const maxShown = 24;

/** @param width see `CommandContext.columns` */
export function sweepText(result: SweepResult, width?: number): string {
  const { tasks } = result;
  const blocks = tasks.flatMap((task) => [
    ...(tasks.length > 1 ? [styleText('bold', task.environment)] : []),
    ...taskBlocks(task, width),
  ]);
  const conclusion = baselinesText(result);
  if (conclusion !== undefined)
    append(blocks, [
      styleText('bold', 'Baselines'),
      ...tasks.flatMap(({ baselines }) =>
        baselines.length > 0 ? [terminalTable(baselines, differenceColumns, width)] : [],
      ),
      ...verdictRuleFor(baselineDifferences(result)).map((rule) => styleText('dim', rule)),
      conclusion,
    ]);
  return blocks.join('\n\n');
}

function taskBlocks({ effects, settings }: SweptTask, width: number | undefined): readonly string[] {
  const rows = rankSettings(settings);
  const hiddenCount = rows.length - maxShown;
  const blocks = [terminalTable(rows.slice(0, maxShown), settingColumns(settings), width)];
  if (hiddenCount > 0) blocks.push(`… and ${plural(hiddenCount, 'more setting')} on the page`);
  if (effects !== null && effects.main.length > 0)
    append(blocks, [
      styleText('bold', 'Effects'),
      seedsText(effects),
      terminalTable(effects.main, effectColumns, width),
      ...verdictRuleFor(effects.main).map((rule) => styleText('dim', rule)),
    ]);
  const best = bestSentence(settings);
  if (best !== undefined && settings.length > 1)
    blocks.push(`best        ${best.text} ${optimismNote(settings)}`);
  return blocks;
}

export const optimismNote = ({ length }: readonly SettingFigures[]): string =>
  `The best of ${length} settings was chosen by the results of these runs, so its mean is optimistic: evaluate it on other seeds.`;
