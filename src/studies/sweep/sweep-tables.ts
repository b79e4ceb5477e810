/** Tables of a sweep, and its result on a terminal. */
import { styleText } from 'node:util';
import { pText, verdictCell, verdictRule } from '../../comparison/words.js';
import { formatCost, formatReturn, formatSigned, plural } from '../../format/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../format/table.js';
import { largest } from '../../statistics/descriptive.js';
import type { Effect, Effects, Interaction } from './effects.js';
import { bestSentence, ranked, shownValue } from './ranking.js';
import type { SettingFigures, SweepResult } from './sweep-result.js';

const verdictColumns: readonly Column<Pick<Effect, 'adjusted' | 'verdict' | 'difference' | 'interval'>>[] = [
  estimate('difference', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatSigned,
  }),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('verdict', ({ verdict }) => verdictCell({ verdict })),
];

export const effectColumns: readonly Column<Effect>[] = [
  text('key', ({ key }) => ({ text: key, code: true }), { grouped: true }),
  text('value', ({ of }) => shownValue(of)),
  text('against', ({ against }) => shownValue(against)),
  ...verdictColumns,
];

export const interactionColumns: readonly Column<Interaction>[] = [
  text('keys', ({ keys }) => keys.join(' × '), { grouped: true }),
  text('values', ({ of }) => of.map(shownValue).join(', ')),
  text('against', ({ against }) => against.map(shownValue).join(', ')),
  ...verdictColumns,
];

/** A column for each varying key, or for the setting's name if no key varies. */
export function keyColumns<Row extends Pick<SettingFigures, 'name' | 'values'>>([
  first,
]: readonly SettingFigures[]): readonly Column<Row>[] {
  const keys = Object.keys(first?.values ?? {});
  return keys.length === 0
    ? [text('setting', ({ name }) => name)]
    : keys.map((key) => text(key, ({ values }) => shownValue(values[key])));
}

const reasons = { failed: 'failed', halved: 'ranked too low', lost: "couldn't catch up" } as const;

/** Example: `ranked too low after 2 seeds`; empty if the setting wasn't dropped. */
export const droppedText = ({ dropped }: SettingFigures): string =>
  dropped === null ? '' : `${reasons[dropped.because]} after ${plural(dropped.after, 'seed')}`;

export function settingColumns(settings: readonly SettingFigures[]): readonly Column<SettingFigures>[] {
  const isPaid = settings.some(({ usage }) => usage.promptTokens > 0);
  const isPriced = settings.some(({ usage }) => usage.cost !== undefined);
  const isHalved = settings.some(({ dropped }) => dropped !== null);
  return [
    number('runs', ({ runs }) => runs),
    estimate(
      'confirmed',
      ({ confirmed }) => confirmed && { value: confirmed.mean, interval: confirmed.meanInterval },
    ),
    number('observed', ({ observed }) => observed, { format: formatReturn }),
    number(isPaid && 'calls', ({ usage }) => usage.calls),
    number(isPriced && 'cost', ({ usage }) => usage.cost, { format: formatCost }),
    text(isHalved && 'dropped', droppedText),
  ];
}

/** Number of tested effects or of tested interactions, whichever is larger: Holm's method corrects them separately. */
export const tested = (effects: Effects | null): number =>
  largest(
    [effects?.main ?? [], effects?.interactions ?? []].map((all) => all.filter(({ p }) => p !== null).length),
  );

export const overText = ({ count, over }: Effects): string =>
  over === 'seeds'
    ? `Over ${plural(count, 'seed')} for which all settings are complete.`
    : `By least squares over ${plural(count, 'setting')}.`;

/** Maximum number of settings shown on a terminal; the page shows all. */
const mostShown = 24;

/** @param width see `CommandContext.columns` */
export function sweepOnTerminal({ effects, settings }: SweepResult, width?: number): string {
  const rows = ranked(settings);
  const left = rows.length - mostShown;
  const blocks = [
    terminalTable(rows.slice(0, mostShown), [...keyColumns(settings), ...settingColumns(settings)], width),
    ...(left > 0 ? [`… and ${plural(left, 'more setting')} on the page`] : []),
  ];
  if (effects !== null && effects.main.length > 0) {
    blocks.push(
      styleText('bold', 'Effects'),
      overText(effects),
      terminalTable(effects.main, effectColumns, width),
    );
    const told = effects.interactions.filter(({ verdict }) => verdict === 'higher' || verdict === 'lower');
    if (told.length > 0)
      blocks.push(styleText('bold', 'Interactions'), terminalTable(told, interactionColumns, width));
    const rule = verdictRule(tested(effects));
    if (rule.length > 0) blocks.push(styleText('dim', rule.join('\n')));
  }
  const best = bestSentence(settings);
  if (best !== undefined && settings.length > 1)
    blocks.push(
      `best        ${best.text} The best setting was chosen from ${settings.length} settings by the results of these runs, so its mean is optimistic.`,
    );
  return blocks.join('\n\n');
}
