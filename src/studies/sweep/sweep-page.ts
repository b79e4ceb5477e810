import { groupedBy } from '../../base/grouped.js';
import type { Content } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import {
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatReturn,
  plural,
} from '../../base/text/numbers.js';
import { number, pageTable, text } from '../../base/text/table.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import { intervalRows } from '../../web/interval-rows.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { parallelFigure, parallelPlot } from '../../web/parallel.js';
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
import { differenceColumns } from '../comparison/table.js';
import { verdictRule } from '../comparison/words.js';
import type { SettingFigures } from './ranking.js';
import { bestSentence, ranked } from './ranking.js';
import { settingName, shownValue } from './settings.js';
import type { SweepResult, SweptTask } from './sweep-result.js';
import {
  baselinesRule,
  baselinesText,
  effectColumns,
  keyColumns,
  overText,
  settingColumns,
  testedEffects,
} from './sweep-tables.js';

export function sweepPage(result: SweepResult, shown: Shown): Page {
  const { failures, keys, method, name, policyloop, seeds, status, tasks } = result;
  const settings = tasks.flatMap((task) => task.settings);
  const runs = settings.reduce((sum, one) => sum + one.runs, 0);
  const environments = tasks.map(({ environment }) => environment);
  return {
    title: `Sweep: ${name}`,
    header: pageHeader({
      kicker: html`sweep <b>${name}</b>`,
      title: html`${keys.map(({ key }) => key).join(', ') || name} <span class="by">in</span> ${environments.length > 3 ? plural(environments.length, 'environment') : environments.join(', ')}`,
      status: shown.status ?? status,
      state: `${method}: ${plural(settings.length, 'setting')}, ${plural(seeds.length, 'seed')}, ${plural(runs, 'run')} complete`,
    }),
    sections: sectionsOf(
      ['result', 'Result', [perTask(result, (task) => taskResult(task, seeds)), headline(result)]],
      ['baselines', 'Baselines', baselinesView(result)],
      ['parallel', 'Runs by key and result', perTask(result, (task) => parallelView(task, result, shown))],
      ['effects', 'Effect of each key', keys.length > 0 && perTask(result, effectsView)],
      ['settings', 'Settings', perTask(result, (task) => settingsTable(task.settings))],
      ['runs', 'Runs', perTask(result, (task) => runTable(task, seeds, shown))],
      ['failures', 'Failures', failureList(failures)],
      ['reading', howToRead, readingList(readingOf(result))],
    ),
    footer: writtenBy(policyloop),
    keys: keys.map(({ key }) => key),
  };
}

/** The views of all tasks, each under its name if there are several; undefined if all are. */
function perTask(
  { tasks }: SweepResult,
  view: (task: SweptTask) => Content | undefined,
): Content | undefined {
  if (tasks.length === 1) return view(tasks[0]!);
  const views = tasks.flatMap((task) => {
    const own = view(task);
    return own === undefined ? [] : [html`<h3>${task.environment}</h3>${own}`];
  });
  return views.length === 0 ? undefined : html`${views}`;
}

/** Maximum number of settings in the ranking; the table below has all. */
const mostRanked = 12;

function taskResult({ settings }: SweptTask, seeds: readonly number[]): Content {
  const best = bestSentence(settings);
  const rows = ranked(settings).filter(({ confirmed }) => confirmed !== null);
  return html`${best ? verdictBox(best.text, best.mark) : html`<p class="empty">No run is complete yet.</p>`}
${
  rows.length > 0 &&
  intervalRows(
    rows.slice(0, mostRanked).map((setting, i) => ({
      name: settingName(setting),
      value: setting.confirmed!.mean,
      interval: setting.confirmed!.meanInterval,
      isMuted: i > 0,
      ...(setting.confirmed!.count < seeds.length && { detail: plural(setting.confirmed!.count, 'seed') }),
    })),
    {
      title: 'Mean confirmed return',
      caption: `Mean confirmed return of each setting, with its 95 % interval over seeds.${rows.length > mostRanked ? ` The table of settings has ${rows.length - mostRanked} more.` : ''}${settings.length > 1 ? ` The best of ${settings.length} settings was chosen by the results of these runs, so its mean is optimistic: evaluate it on other seeds.` : ''}`,
    },
  )
}`;
}

function headline({ activeMs, seeds, tasks, usage }: SweepResult): Content {
  const settings = tasks.flatMap((task) => task.settings);
  const tokens = usage.promptTokens + usage.completionTokens;
  const runs = settings.reduce((sum, one) => sum + one.runs, 0);
  return html`<dl class="headline">
${tile('Settings', formatCount(settings.length), `${plural(seeds.length, 'seed')} each`)}
${tile('Runs', formatCount(runs), 'complete')}
${tokens > 0 && tile('Calls', formatCount(usage.calls), 'in all runs')}
${tokens > 0 && tile('Tokens', formatCompact(tokens), 'in all runs')}
${usage.cost !== undefined && tile('Cost', formatCost(usage.cost), costNote(usage))}
${tile('Time', formatDuration(activeMs), 'total of all runs')}
</dl>`;
}

function baselinesView(result: SweepResult): Content | undefined {
  const conclusion = baselinesText(result);
  if (conclusion === undefined) return undefined;
  return html`<p>${conclusion}</p>
${perTask(result, ({ baselines }) => pageTable(baselines, differenceColumns, { tall: true }))}`;
}

interface CompleteRun extends Pick<SettingFigures, 'name' | 'values'> {
  readonly group: number;
  readonly seed: number;
  readonly result: number;
  readonly path: string;
}

const runsOf = (
  { settings }: Pick<SweptTask, 'settings'>,
  seeds: readonly number[],
): readonly CompleteRun[] =>
  settings.flatMap(({ name, returns, values }, group) =>
    seeds.flatMap((seed, i) => {
      const result = returns[i];
      return typeof result === 'number'
        ? [{ name, values, group, seed, result, path: `${name}/seed-${seed}` }]
        : [];
    }),
  );

function parallelView(
  { settings }: SweptTask,
  { keys, seeds }: SweepResult,
  { linkOf }: Shown,
): Content | undefined {
  const swept = settings.filter(({ baseline }) => baseline === null);
  const runs = runsOf({ settings: swept }, seeds);
  if (runs.length < 2 || keys.length === 0) return undefined;
  const lines = runs.map(({ group, path, result: own, seed, values }) => ({
    group,
    values,
    result: own,
    href: linkOf(path),
    link: 'Open this run',
    note: `${settingName({ values })}, seed ${seed}: ${formatReturn(own)}.`,
  }));
  return parallelFigure(parallelPlot(keys, lines, 'confirmed'));
}

function effectsView({ effects }: SweptTask): Content | undefined {
  if (effects === null || effects.levels.length === 0) return undefined;
  const { levels, main } = effects;
  const ends = levels.flatMap(({ confirmed: { mean, meanInterval } }) => [mean, ...(meanInterval ?? [])]);
  return html`${[...groupedBy(levels, ({ key }) => key)].map(([title, own]) =>
    intervalRows(
      own.map(({ confirmed, value }) => ({
        name: shownValue(value),
        value: confirmed.mean,
        interval: confirmed.meanInterval,
      })),
      { title, range: [smallest(ends), largest(ends)] },
    ),
  )}
<p class="note">Mean confirmed return of the settings with each value, with 95 % intervals over seeds.</p>
<h3>Differences</h3><p class="note">${overText(effects)}</p>${pageTable(main, effectColumns)}`;
}

const settingsTable = (settings: readonly SettingFigures[]): Content =>
  pageTable(ranked(settings), [...keyColumns<SettingFigures>(settings), ...settingColumns(settings)], {
    tall: true,
  });

function runTable(task: SweptTask, seeds: readonly number[], { linkOf }: Shown): Content {
  const runs = runsOf(task, seeds).toSorted((a, b) => b.result - a.result);
  if (runs.length === 0) return html`<p class="empty">No run is complete yet.</p>`;
  return pageTable(
    runs,
    [
      ...keyColumns<CompleteRun>(task.settings),
      number('seed', ({ path, seed }) => ({ text: String(seed), href: linkOf(path) })),
      number('confirmed', ({ result: own }) => own, { strong: true, format: formatReturn }),
      text('run', ({ path }) => ({ text: 'open', href: linkOf(path) })),
    ],
    { tall: true },
  );
}

function readingOf(result: SweepResult): readonly string[] {
  const { tasks } = result;
  const tested = largest([0, ...tasks.map(testedEffects)]);
  return [
    'confirmed: mean return of a run’s chosen policy on episodes that were used neither to propose nor to choose it',
    ...(tasks.some(({ effects }) => effects !== null)
      ? [
          'effects: for each seed, the difference between the mean returns with two values of a key, averaged over the other keys; intervals are over seeds, because settings with the same seed share warm-up and episodes',
        ]
      : []),
    ...(tasks.some(({ settings }) => settings.length > 1)
      ? ['the best of many settings is partly luck: its mean is too high on average']
      : []),
    ...new Set([...verdictRule(tested), ...baselinesRule(result)]),
  ];
}
