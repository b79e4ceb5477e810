import { verdictRule } from '../../comparison/words.js';
import { type Html, html } from '../../format/html.js';
import {
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatReturn,
  plural,
} from '../../format/numbers.js';
import { htmlTable, number, text } from '../../format/table.js';
import { intervalRows } from '../../web/interval-rows.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { type ParallelKey, parallelFigure, parallelPlot } from '../../web/parallel.js';
import {
  failureList,
  howToRead,
  pageHeader,
  readingList,
  type Shown,
  tile,
  verdictBox,
  writtenBy,
} from '../../web/study.js';
import { bestSentence, ranked, settingName } from './ranking.js';
import { effectsView, interactionsView } from './sweep-effects.js';
import type { SettingFigures, SweepResult } from './sweep-result.js';
import { droppedText, keyColumns, settingColumns, tested } from './sweep-tables.js';

export function sweepPage(result: SweepResult, shown: Shown): Page {
  const { effects, environment, failures, method, name, policyloop, seeds, settings, status } = result;
  const runs = settings.reduce((sum, one) => sum + one.runs, 0);
  const keys = keysOf(result);
  return {
    title: `Sweep: ${name}`,
    header: pageHeader({
      kicker: html`sweep <b>${name}</b>`,
      title: html`${keys.map(({ key }) => key).join(', ') || name} <span class="by">in</span> ${environment}`,
      status: shown.status ?? status,
      state: `${method}: ${plural(settings.length, 'setting')}, ${plural(seeds.length, 'seed')}, ${plural(runs, 'run')} complete`,
    }),
    sections: sectionsOf(
      ['result', 'Result', resultSection(result)],
      ['parallel', 'Runs by key and result', parallelView(result, keys, shown)],
      ['effects', 'Effect of each key', effectsView(result, keys)],
      [
        'interactions',
        'Interactions',
        effects !== null && effects.pairs.length > 0 && interactionsView(effects),
      ],
      ['settings', 'Settings', settingsTable(settings)],
      ['runs', 'Runs', runTable(result, shown)],
      ['failures', 'Failures', failureList(failures)],
      ['reading', howToRead, readingList(readingOf(result))],
    ),
    footer: writtenBy(policyloop),
    keys: keys.map(({ key }) => key),
  };
}

/** In results of earlier versions, which lack `keys`, a key with more distinct numbers than this counts as drawn. */
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

function resultSection({ activeMs, method, seeds, settings, usage }: SweepResult): Html {
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
      caption: `Mean confirmed return of each setting, with its 95 % interval over seeds.${rows.length > mostRanked ? ` The table of settings has ${rows.length - mostRanked} more.` : ''}${settings.length > 1 ? ` The best of ${settings.length} settings was chosen by the results of these runs, so its mean is optimistic: evaluate it on other seeds.` : ''}`,
    },
  )
}
<dl class="headline">
${tile('Settings', formatCount(settings.length), `${method === 'halving' ? 'up to ' : ''}${plural(seeds.length, 'seed')} each`)}
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

function parallelView(
  result: SweepResult,
  keys: readonly ParallelKey[],
  { linkOf }: Shown,
): Html | undefined {
  const runs = runsOf(result);
  if (runs.length < 2 || keys.length === 0) return undefined;
  const lines = runs.map(({ group, name, path, result: own, seed, values }) => ({
    ...{ group, values, result: own, href: linkOf(path), link: 'Open this run' },
    note: `${settingName({ name, values })}, seed ${seed}: ${formatReturn(own)}.`,
  }));
  return parallelFigure(parallelPlot(keys, lines, 'confirmed'));
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
          'effects: for each seed, the difference between the mean returns with two values of a key, averaged over the other keys; intervals are over seeds, because settings with the same seed share warm-up and episodes',
        ]
      : effects?.over === 'settings'
        ? [
            'effects: estimated by least squares on each setting’s mean, without interactions; for a range, from its low to its high end',
          ]
        : []),
    ...(method === 'halving'
      ? [
          'halving: a setting with few seeds was dropped early; its mean covers only the seeds by which it was judged',
        ]
      : []),
    ...(settings.length > 1
      ? ['the best of many settings is partly luck: its mean is too high on average']
      : []),
    ...verdictRule(tested(effects)),
  ];
}
