/** The page of a sweep: the best setting and the ranking first, then effects of the keys, interactions and runs. */
import { groupedBy } from '../../comparison/run-groups.js';
import { verdictRule } from '../../comparison/words.js';
import { type Html, html } from '../../format/html.js';
import {
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatInterval,
  formatNumber,
  formatReturn,
  plural,
} from '../../format/numbers.js';
import { htmlTable, number, text } from '../../format/table.js';
import { tile } from '../../report/views/overview.js';
import { largest, mean, smallest } from '../../statistics/descriptive.js';
import { summarize } from '../../statistics/paired.js';
import { type Chart, chartFigure } from '../../web/chart.js';
import { intervalRows } from '../../web/interval-rows.js';
import type { Page, Section } from '../../web/page.js';
import { cellClass } from '../../web/palette.js';
import { inOrder, type ParallelKey, parallelFigure, parallelPlot } from '../../web/parallel.js';
import {
  failuresSection,
  readingSection,
  type Shown,
  studyHeader,
  verdictBox,
  writtenBy,
} from '../../web/study.js';
import { logTicks } from '../../web/ticks.js';
import type { Effects, LevelMean } from './effects.js';
import { bestSentence, ranked, settingName, shownValue } from './ranking.js';
import type { SettingFigures, SweepResult } from './sweep-result.js';
import {
  droppedText,
  effectColumns,
  interactionColumns,
  keyColumns,
  overText,
  settingColumns,
  tested,
} from './sweep-tables.js';

export function sweepPage(result: SweepResult, shown: Shown): Page {
  const { effects, environment, failures, method, name, policyloop, seeds, settings, status } = result;
  const runs = settings.reduce((sum, one) => sum + one.runs, 0);
  const keys = keysOf(result);
  const sections: (Section | undefined)[] = [
    { id: 'result', title: 'Result', content: resultSection(result) },
    parallelSection(result, keys, shown),
    effectsSection(result, keys),
    effects === null || effects.pairs.length === 0
      ? undefined
      : { id: 'interactions', title: 'Interactions', content: interactionsSection(effects) },
    { id: 'settings', title: 'Settings', content: settingsTable(settings) },
    { id: 'runs', title: 'Runs', content: runTable(result, shown) },
    ...failuresSection(failures),
    readingSection(readingOf(result)),
  ];
  return {
    title: `Sweep: ${name}`,
    header: studyHeader({
      kicker: html`sweep <b>${name}</b>`,
      title: html`${keys.map(({ key }) => key).join(', ') || name} <span class="by">in</span> ${environment}`,
      status: shown.status ?? status,
      state: `${method}: ${plural(settings.length, 'setting')}, ${plural(seeds.length, 'seed')}, ${plural(runs, 'run')} complete`,
    }),
    sections: sections.filter((section) => section !== undefined),
    footer: writtenBy(policyloop),
    keys: keys.map(({ key }) => key),
  };
}

/** Most distinct numbers that count as a list; earlier versions didn't record how values were drawn. */
const mostListed = 12;

function keysOf({ keys, settings }: SweepResult): readonly ParallelKey[] {
  return (
    keys ??
    Object.keys(settings[0]?.values ?? {}).map((key) => {
      const values = new Set(settings.map((setting) => setting.values[key]));
      const isDrawn =
        values.size > mostListed && [...values].every((value) => Number.isFinite(Number(value)));
      return { key, kind: isDrawn ? 'uniform' : 'list' };
    })
  );
}

/** Maximum number of settings in the ranking; the table below has all. */
const mostRanked = 12;

function resultSection({ activeMs, seeds, settings, usage }: SweepResult): Html {
  const best = bestSentence(settings);
  const rows = ranked(settings).filter(({ confirmed }) => confirmed !== null);
  const tokens = usage.promptTokens + usage.completionTokens;
  const runs = settings.reduce((sum, one) => sum + one.runs, 0);
  return html`${best ? verdictBox(best.text, best.mark) : html`<p class="empty">No run is complete yet.</p>`}
${
  rows.length > 0 &&
  intervalRows(
    rows.slice(0, mostRanked).map((setting, i) => ({
      name: settingName(setting),
      value: setting.confirmed!.mean,
      interval: setting.confirmed!.meanInterval,
      isMuted: i > 0,
      ...(setting.confirmed!.count < seeds.length && {
        detail: droppedText(setting) || plural(setting.confirmed!.count, 'seed'),
      }),
    })),
    {
      title: 'Mean confirmed return',
      caption: `Mean confirmed return of each setting, with its 95 % interval over seeds.${rows.length > mostRanked ? ` The table of settings has ${rows.length - mostRanked} more.` : ''} The best of ${settings.length} on these same runs is partly luck: evaluate it on other seeds.`,
    },
  )
}
<dl class="headline">
${tile('Settings', formatCount(settings.length), `${plural(seeds.length, 'seed')} each`)}
${tile('Runs', formatCount(runs), 'complete')}
${tokens > 0 && tile('Calls', formatCount(usage.calls), 'in all runs')}
${tokens > 0 && tile('Tokens', formatCompact(tokens), 'in all runs')}
${usage.cost !== undefined && tile('Cost', formatCost(usage.cost), costNote(usage))}
${tile('Time', formatDuration(activeMs), 'total of all runs')}
</dl>`;
}

interface CompleteRun extends Pick<SettingFigures, 'name' | 'values'> {
  readonly group: number;
  readonly seed: number;
  readonly result: number;
  readonly path: string;
}

const runsOf = ({ seeds, settings }: SweepResult): readonly CompleteRun[] =>
  settings.flatMap(({ name, returns, values }, group) =>
    seeds.flatMap((seed, i) => {
      const result = returns[i];
      return typeof result === 'number'
        ? [{ name, values, group, seed, result, path: `${name}/seed-${seed}` }]
        : [];
    }),
  );

function parallelSection(
  result: SweepResult,
  keys: readonly ParallelKey[],
  { linkOf }: Shown,
): Section | undefined {
  const runs = runsOf(result);
  if (runs.length < 2 || keys.length === 0) return undefined;
  const lines = runs.map(({ group, name, path, result: own, seed, values }) => ({
    ...{ group, values, result: own, href: linkOf(path), link: 'Open this run' },
    note: `${settingName({ name, values })}, seed ${seed}: ${formatReturn(own)}.`,
  }));
  return {
    id: 'parallel',
    title: 'Runs by key and result',
    content: parallelFigure(parallelPlot(keys, lines, 'confirmed')),
  };
}

function effectsSection(result: SweepResult, keys: readonly ParallelKey[]): Section {
  const { effects, settings } = result;
  const measured = settings.filter(({ confirmed }) => confirmed !== null);
  const varied = keys.filter(({ key }) => new Set(measured.map(({ values }) => values[key])).size > 1);
  const listed = varied.filter(({ kind }) => kind === 'list');
  const drawn = varied.filter(({ kind }) => kind !== 'list');
  const levels = listed.map(({ key }) => levelsOf(key, effects, measured));
  const ends = levels
    .flat()
    .flatMap(({ confirmed: { mean: own, meanInterval } }) => [own, ...(meanInterval ?? [])]);
  return {
    id: 'effects',
    title: 'Effect of each key',
    content:
      varied.length === 0
        ? html`<p class="empty">No effects yet: at least two values of a key need a complete run.</p>`
        : html`${levels.map(
            (own, i) =>
              html`${intervalRows(
                own.map(({ confirmed, value }) => ({
                  name: shownValue(value),
                  value: confirmed.mean,
                  interval: confirmed.meanInterval,
                })),
                { title: listed[i]!.key, range: [smallest(ends), largest(ends)] },
              )}`,
          )}
${listed.length > 0 && html`<p class="note">Mean confirmed return of all settings with a value, with its 95 % interval over ${effects?.over === 'seeds' ? 'seeds' : 'settings'}.</p>`}
${drawn.length > 0 && html`<div class="charts">${drawn.map((key) => drawnChart(key, measured))}</div>`}
${
  effects !== null && effects.main.length > 0
    ? html`<h3>Differences</h3><p class="note">${overText(effects)}</p>${htmlTable(effects.main, effectColumns)}`
    : html`<p class="note">Differences need results of all settings with the same seed, or more drawn settings than values.</p>`
}`,
  };
}

/** The mean for each value of a key: over seeds, or over settings if these don't share seeds. */
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

/** The settings by a key whose values were drawn from a range. */
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

/** A table of means for each pair of keys, coloured by the mean; one is open at a time. */
function interactionsSection({ interactions, pairs }: Effects): Html {
  const byKeys = [...groupedBy(pairs, ({ keys }) => keys.join(' × '))];
  const means = pairs.map(({ confirmed }) => confirmed.mean);
  const [low, high] = [smallest(means), largest(means)];
  const cell = ({ confirmed: { mean: own, meanInterval } }: Effects['pairs'][number]) =>
    html`<td class="${cellClass(own - low, high - low)}"><b>${formatReturn(own)}</b>${meanInterval && html`<br><span class="muted">${formatInterval(meanInterval)}</span>`}</td>`;
  const table = (own: Effects['pairs']) => {
    const [rows, columns] = [0, 1].map((k) => [...new Set(own.map(({ values }) => values[k]!))]) as [
      string[],
      string[],
    ];
    const [first, second] = own[0]!.keys;
    return html`<div class="scroll" tabindex="0"><table class="states">
<thead><tr><th scope="col">${first} ↓ ${second} →</th>${columns.map((value) => html`<th scope="col">${shownValue(value)}</th>`)}</tr></thead>
<tbody>${rows.map(
      (
        row,
      ) => html`<tr><th scope="row">${shownValue(row)}</th>${columns.map((column) => cell(own.find(({ values }) => values[0] === row && values[1] === column)!))}</tr>
`,
    )}</tbody></table></div>`;
  };
  return html`${
    byKeys.length === 1
      ? table(pairs)
      : byKeys.map(
          ([name, own], i) =>
            html`<details name="pair" class="pair"${i === 0 && html` open=""`}><summary>${name}</summary>${table(own)}</details>`,
        )
  }
<p class="note">Mean confirmed return by the values of two keys, with its 95 % interval; a stronger colour is a higher mean.</p>
${
  interactions.length > 0 &&
  html`<h3>Interactions</h3>
<p class="note">How much the effect of the first key changes with the value of the second key; 0 if the two effects are independent.</p>
${htmlTable(interactions, interactionColumns, { tall: true })}`
}`;
}

const settingsTable = (settings: readonly SettingFigures[]): Html =>
  htmlTable(ranked(settings), [...keyColumns<SettingFigures>(settings), ...settingColumns(settings)], {
    tall: true,
  });

function runTable(result: SweepResult, { linkOf }: Shown): Html {
  const runs = runsOf(result).toSorted((a, b) => b.result - a.result);
  if (runs.length === 0) return html`<p class="empty">No run is complete yet.</p>`;
  return htmlTable(
    runs,
    [
      ...keyColumns<CompleteRun>(result.settings),
      number('seed', ({ path, seed }) => ({ text: String(seed), href: linkOf(path) })),
      number('confirmed', ({ result: own }) => own, { strong: true, format: formatReturn }),
      text('run', ({ path }) => ({ text: 'open', href: linkOf(path) })),
    ],
    { tall: true },
  );
}

function readingOf({ effects, method, settings }: SweepResult): readonly string[] {
  return [
    'confirmed: mean return of a run’s chosen policy on episodes that were used neither to propose nor to choose it',
    ...(effects?.over === 'seeds'
      ? [
          'effects: differences within each seed between means over the other keys; intervals are over seeds, because settings with the same seed share warm-up and episodes',
        ]
      : effects?.over === 'settings'
        ? [
            'effects: least squares without interactions on the mean of each setting; for a range, from its low to its high end',
          ]
        : []),
    ...(method === 'halving'
      ? [
          'halving: a setting with few seeds was dropped early; its mean covers only those seeds, by which it was also judged',
        ]
      : []),
    ...(settings.length > 1
      ? ['the best of many settings is partly luck: its mean is too high on average']
      : []),
    ...verdictRule(tested(effects)),
  ];
}
