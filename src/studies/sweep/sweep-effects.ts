/** Part of a sweep's page: the effects of its keys. */
import { groupedBy } from '../../base/grouped.js';
import { type Html, html } from '../../format/html.js';
import { formatNumber, formatReturn, plural } from '../../format/numbers.js';
import { htmlTable } from '../../format/table.js';
import { largest, mean, smallest } from '../../statistics/descriptive.js';
import { summarize } from '../../statistics/paired.js';
import { type Chart, chartFigure } from '../../web/chart.js';
import { intervalRows } from '../../web/interval-rows.js';
import { inOrder, type ParallelKey } from '../../web/parallel.js';
import { logTicks } from '../../web/ticks.js';
import type { Effects, LevelMean } from './effects.js';
import { settingName, shownValue } from './settings.js';
import type { SettingFigures, SweptTask } from './sweep-result.js';
import { effectColumns, overText } from './sweep-tables.js';

export function effectsView({ effects, settings }: SweptTask, keys: readonly ParallelKey[]): Html {
  const measured = settings.filter(({ baseline, confirmed }) => baseline === null && confirmed !== null);
  const varied = keys.filter(({ key }) => new Set(measured.map(({ values }) => values[key])).size > 1);
  const listed = varied.filter(({ kind }) => kind === 'list');
  const drawn = varied.filter(({ kind }) => kind !== 'list');
  const levels = listed.map(({ key }) => levelsOf(key, effects, measured));
  const ends = levels
    .flat()
    .flatMap(({ confirmed: { mean: own, meanInterval } }) => [own, ...(meanInterval ?? [])]);
  if (varied.length === 0)
    return html`<p class="empty">No effects yet: at least two values of a key need a complete run.</p>`;
  const rows = (own: readonly LevelMean[]) =>
    own.map(({ confirmed, value }) => ({
      ...{ name: shownValue(value), value: confirmed.mean, interval: confirmed.meanInterval },
    }));
  return html`${levels.map((own, i) =>
    intervalRows(rows(own), { title: listed[i]!.key, range: [smallest(ends), largest(ends)] }),
  )}
${listed.length > 0 && html`<p class="note">Mean confirmed return of the settings with each value, with 95 % intervals over ${effects?.over === 'seeds' ? 'seeds' : 'settings'}.</p>`}
${drawn.length > 0 && html`<div class="charts">${drawn.map((key) => drawnChart(key, measured))}</div>`}
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
    ...{ key, value },
    confirmed: summarize(
      measured.flatMap(({ confirmed, values: own }) => (own[key] === value ? [confirmed!.mean] : [])),
    )!,
  }));
}

/** A chart of the settings' returns by a key whose values were drawn from a range. */
function drawnChart({ key, kind }: ParallelKey, measured: readonly SettingFigures[]): Html {
  const settingsAt = [...groupedBy(measured, ({ values }) => values[key] ?? '').values()].toSorted(
    ([a], [b]) => Number(a!.values[key]) - Number(b!.values[key]),
  );
  const at = settingsAt.map(([first]) => Number(first!.values[key]));
  const chart: Chart = {
    label: `Mean confirmed return of ${plural(measured.length, 'setting')} by ${key}.`,
    x: {
      title: key,
      ...(kind === 'loguniform' && {
        scale: 'log',
        ticks: logTicks(at[0]!, at.at(-1)!).map((tick) => [tick, formatNumber(tick)] as const),
      }),
    },
    y: { title: 'Mean confirmed return' },
    height: 240,
    at,
    series: [
      {
        label: 'setting, with its 95 % interval over seeds',
        draw: 'points',
        colour: '--accent',
        values: settingsAt.map((own) => mean(own.map(({ confirmed }) => confirmed!.mean))),
        low: settingsAt.map(([own]) => own!.confirmed!.meanInterval?.[0] ?? null),
        high: settingsAt.map(([own]) => own!.confirmed!.meanInterval?.[1] ?? null),
      },
    ],
    notes: settingsAt.map((own) =>
      own.map((setting) => `${settingName(setting)}: ${formatReturn(setting.confirmed!.mean)}`).join('; '),
    ),
  };
  return chartFigure(chart);
}
