/** Part of a sweep's page: the effects of its keys. */
import { type Html, html } from '../../base/text/html.js';
import { htmlTable } from '../../base/text/table.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import { summarize } from '../../statistics/paired.js';
import { intervalRows } from '../../web/interval-rows.js';
import { inOrder, type ParallelKey } from '../../web/parallel.js';
import type { Effects, LevelMean } from './effects.js';
import { shownValue } from './settings.js';
import type { SettingFigures, SweptTask } from './sweep-result.js';
import { effectColumns, overText } from './sweep-tables.js';

export function effectsView({ effects, settings }: SweptTask, keys: readonly ParallelKey[]): Html {
  const measured = settings.filter(({ baseline, confirmed }) => baseline === null && confirmed !== null);
  const varied = keys.filter(({ key }) => new Set(measured.map(({ values }) => values[key])).size > 1);
  const listed = varied.filter(({ kind }) => kind === 'list');
  const levels = listed.map(({ key }) => levelsOf(key, effects, measured));
  const ends = levels
    .flat()
    .flatMap(({ confirmed: { mean: own, meanInterval } }) => [own, ...(meanInterval ?? [])]);
  if (varied.length === 0)
    return html`<p class="empty">No effects yet: at least two values of a key need a complete run.</p>`;
  const rows = (own: readonly LevelMean[]) =>
    own.map(({ confirmed, value }) => ({
      name: shownValue(value),
      value: confirmed.mean,
      interval: confirmed.meanInterval,
    }));
  return html`${levels.map((own, i) =>
    intervalRows(rows(own), { title: listed[i]!.key, range: [smallest(ends), largest(ends)] }),
  )}
${listed.length > 0 && html`<p class="note">Mean confirmed return of the settings with each value, with 95 % intervals over ${effects?.over === 'seeds' ? 'seeds' : 'settings'}.</p>`}
${
  effects !== null && effects.main.length > 0
    ? html`<h3>Differences</h3><p class="note">${overText(effects)}</p>${htmlTable(effects.main, effectColumns)}`
    : html`<p class="note">Differences require a seed for which all settings are complete or, if settings are drawn, at least two more complete settings than effects.</p>`
}`;
}

/** The mean for each value of a key: over seeds if `effects` contains it, otherwise over settings. */
function levelsOf(
  key: string,
  effects: Effects | null,
  measured: readonly SettingFigures[],
): readonly LevelMean[] {
  const known = effects?.levels.filter((level) => level.key === key) ?? [];
  if (known.length > 0) return known;
  const values = inOrder([...new Set(measured.map((setting) => setting.values[key] ?? ''))]);
  return values.map((value) => ({
    key,
    value,
    confirmed: summarize(
      measured.flatMap(({ confirmed, values: own }) => (own[key] === value ? [confirmed!.mean] : [])),
    )!,
  }));
}
