/** The tables of a sweep, for the terminal and the page. */

import { styleText } from 'node:util';
import { pText, verdictChips, verdictRule, verdictText } from '../../comparison/words.js';
import { formatCost, formatReturn, formatSigned, plural } from '../../format/numbers.js';
import { type Column, estimate, number, terminalTable, text } from '../../format/table.js';
import { largest } from '../../statistics/descriptive.js';
import type { Effect, Effects, Interaction, LevelMean } from './effects.js';
import type { SettingFigures, SweepResult } from './sweep-result.js';

/** The text of a value, or `(none)`. */
const shown = (value: string | undefined) => (value === 'null' ? '(none)' : (value ?? ''));

export const effectName = ({ key, of, against }: Effect): string =>
  `${key}: ${shown(of)} − ${shown(against)}`;

const verdictColumns: readonly Column<Pick<Effect, 'adjusted' | 'verdict' | 'difference' | 'interval'>>[] = [
  estimate('difference', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatSigned,
  }),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text('', ({ verdict }) => ({
    text: verdict === 'too-few' ? 'too few' : verdictText({ verdict, test: 'paired', reason: '' }),
    mark: `chip ${verdictChips[verdict]}`,
  })),
];

export const effectColumns: readonly Column<Effect>[] = [
  text('key', ({ key }) => ({ text: key, code: true }), { grouped: true }),
  text('value', ({ of }) => shown(of)),
  text('against', ({ against }) => shown(against)),
  ...verdictColumns,
];

export const interactionColumns: readonly Column<Interaction>[] = [
  text('keys', ({ keys }) => keys.join(' × '), { grouped: true }),
  text('values', ({ of }) => of.map(shown).join(', ')),
  text('against', ({ against }) => against.map(shown).join(', ')),
  ...verdictColumns,
];

export const levelColumns: readonly Column<LevelMean>[] = [
  text('key', ({ key }) => ({ text: key, code: true }), { grouped: true }),
  text('value', ({ value }) => shown(value)),
  estimate('confirmed', ({ confirmed: { mean, meanInterval } }) => ({ value: mean, interval: meanInterval })),
];

export const pairColumns: readonly Column<Effects['pairs'][number]>[] = [
  text('keys', ({ keys }) => keys.join(' × '), { grouped: true }),
  text('values', ({ values }) => values.map(shown).join(', ')),
  estimate('confirmed', ({ confirmed: { mean, meanInterval } }) => ({ value: mean, interval: meanInterval })),
];

/** A column for each varying key. */
export const keyColumns = ([first]: readonly SettingFigures[]): readonly Column<SettingFigures>[] => {
  const keys = Object.keys(first?.values ?? {});
  return keys.length === 0
    ? [text('setting', ({ name }) => name)]
    : keys.map((key) => text(key, ({ values }) => shown(values[key])));
};

const reasons = { failed: 'failed', halved: 'halved', lost: 'lost the race' } as const;

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
    text(isHalved && 'left behind', ({ dropped }) =>
      dropped === null ? '' : `${reasons[dropped.because]} after ${plural(dropped.after, 'seed')}`,
    ),
  ];
}

/** The number of differences tested together; effects and interactions are separate families. */
export const tested = (effects: Effects | null): number =>
  largest(
    [effects?.main ?? [], effects?.interactions ?? []].map((all) => all.filter(({ p }) => p !== null).length),
  );

export const overText = ({ count, over }: Effects): string =>
  over === 'seeds'
    ? `Over ${plural(count, 'seed')} under which all settings are complete.`
    : `By least squares over ${plural(count, 'setting')}.`;

/** Best first: settings with more seeds come before those dropped earlier. */
export function ranked(settings: readonly SettingFigures[]): readonly SettingFigures[] {
  const count = ({ confirmed }: SettingFigures) => confirmed?.count ?? 0;
  const height = ({ confirmed }: SettingFigures) => confirmed?.mean ?? Number.NEGATIVE_INFINITY;
  return settings.toSorted((a, b) => count(b) - count(a) || height(b) - height(a));
}

/** Maximum number of settings on a terminal; the page shows all. */
const mostShown = 24;

/** @param width see `CommandContext` */
export function sweepOnTerminal(result: SweepResult, width?: number): string {
  const { best, effects, settings } = result;
  const rows = ranked(settings);
  const left = rows.length - mostShown;
  const blocks = [
    terminalTable(rows.slice(0, mostShown), [...keyColumns(settings), ...settingColumns(settings)], width),
    ...(left > 0 ? [`… and ${plural(left, 'setting')} more, on the page`] : []),
  ];
  if (effects !== null && effects.main.length > 0) {
    blocks.push(
      styleText('bold', 'What the keys do'),
      overText(effects),
      terminalTable(effects.main, effectColumns, width),
    );
    const told = effects.interactions.filter(({ verdict }) => verdict === 'higher' || verdict === 'lower');
    if (told.length > 0)
      blocks.push(
        styleText('bold', 'What two keys do together'),
        terminalTable(told, interactionColumns, width),
      );
    const rule = verdictRule(tested(effects));
    if (rule.length > 0) blocks.push(styleText('dim', rule.join('\n')));
  }
  if (best !== null && settings.length > 1)
    blocks.push(
      `best        ${best}: the highest of ${plural(settings.length, 'setting')} on these very runs, so optimistic`,
    );
  return blocks.join('\n\n');
}
