import { groupBy } from '../../base/grouped.js';
import type { Content } from '../../base/text/content.js';
import { html } from '../../base/text/html.js';
import { formatDuration, formatReturn, plural } from '../../base/text/numbers.js';
import { estimate, number, pageTable, text } from '../../base/text/table.js';
import { formatUsage } from '../../runs/summary.js';
import { type Page, sectionsOf } from '../../web/page.js';
import { parallelData, parallelFigure } from '../../web/parallel.js';
import {
  explanationList,
  failureList,
  howToReadTitle,
  type PageContext,
  pageHeader,
  verdictBox,
  writtenByNote,
} from '../../web/study.js';
import { differenceColumns } from '../comparison/table.js';
import { bestSentence, rankSettings, type SettingFigures } from './ranking.js';
import { settingName, valueText } from './settings.js';
import type { SweepResult, SweptTask } from './sweep-result.js';
import {
  baselineDifferences,
  baselinesText,
  effectColumns,
  keyColumns,
  optimismNote,
  seedsText,
  settingColumns,
  verdictRuleFor,
} from './sweep-tables.js';

export function sweepPage(result: SweepResult, shown: PageContext): Page {
  const { activeMs, failures, keys, method, name, policyloop, seeds, status, tasks, usage } = result;
  const settings = tasks.flatMap((task) => task.settings);
  const runCount = settings.reduce((sum, one) => sum + one.runs, 0);
  const environments = tasks.map(({ environment }) => environment);
  const names = keys.map(({ key }) => key);
  const conclusion = baselinesText(result);
  return {
    title: `${name}: sweep`,
    header: pageHeader({
      kicker: html`sweep <b>${name}</b>`,
      title: html`${names.join(', ') || name} <span class="by">in</span> ${environments.length > 3 ? plural(environments.length, 'environment') : environments.join(', ')}`,
      status: shown.status ?? status,
      state: `${method}: ${plural(settings.length, 'setting')}, ${plural(seeds.length, 'seed')}, ${plural(runCount, 'run')} complete`,
    }),
    sections: sectionsOf(
      [
        'result',
        'Result',
        html`${taskViews(result, (task) => taskResult(task, seeds))}
<p class="note">All runs: ${formatUsage(usage)}, total time ${formatDuration(activeMs)}.</p>`,
      ],
      [
        'baselines',
        'Baselines',
        conclusion !== undefined &&
          html`<p>${conclusion}</p>
${taskViews(result, ({ baselines }) => pageTable(baselines, differenceColumns, { tall: true }))}`,
      ],
      ['parallel', 'Runs by key and result', taskViews(result, (task) => parallelView(task, result, shown))],
      ['effects', 'Effect of each key', keys.length > 0 && taskViews(result, effectsView)],
      [
        'settings',
        'Settings',
        taskViews(result, ({ settings: own }) =>
          pageTable(rankSettings(own), settingColumns(own), { tall: true }),
        ),
      ],
      ['runs', 'Runs', taskViews(result, (task) => runTable(task, seeds, shown))],
      ['failures', 'Failures', failureList(failures)],
      ['reading', howToReadTitle, explanationList(readingNotes(result))],
    ),
    footer: writtenByNote(policyloop),
    keys: names,
  };
}

/** Returns the views of all tasks, each under its name if there are several; undefined if no task has one. */
function taskViews({ tasks }: SweepResult, view: (task: SweptTask) => Content): Content {
  if (tasks.length === 1) return view(tasks[0]!);
  const views = tasks.flatMap((task) => {
    const content = view(task);
    return content === undefined ? [] : [html`<h3>${task.environment}</h3>${content}`];
  });
  return views.length === 0 ? undefined : html`${views}`;
}

/** Maximum number of settings in the ranking; the table below lists all. */
const maxRanked = 12;

function taskResult({ settings }: SweptTask, seeds: readonly number[]): Content {
  const best = bestSentence(settings);
  if (best === undefined) return html`<p class="empty">No run is complete yet.</p>`;
  const rows = rankSettings(settings).filter(({ confirmed }) => confirmed !== null);
  const moreCount = rows.length - maxRanked;
  return html`${verdictBox(best.text, best.mark)}
${pageTable(rows.slice(0, maxRanked), [
  text('setting', settingName),
  meanColumn(({ confirmed }: SettingFigures) => confirmed!),
  number(
    rows.some(({ confirmed }) => confirmed!.count < seeds.length) && 'seeds',
    ({ confirmed }) => confirmed!.count,
  ),
])}
<p class="note">Mean confirmed return of each setting, with its 95 % interval over seeds.${moreCount > 0 && ` The table of settings has ${moreCount} more.`}${settings.length > 1 && ` ${optimismNote(settings)}`}</p>`;
}

/** @param include values that the axis must include */
const meanColumn = <Row>(
  of: (row: Row) => SettingFigures['confirmed'] & object,
  include: readonly number[] = [],
) =>
  estimate('mean confirmed return', (row: Row) => ({ value: of(row).mean, interval: of(row).meanInterval }), {
    drawn: { include },
  });

interface CompleteRun extends Pick<SettingFigures, 'name' | 'values'> {
  readonly group: number;
  readonly seed: number;
  readonly result: number;
  readonly path: string;
}

const runsOf = (settings: SweptTask['settings'], seeds: readonly number[]): readonly CompleteRun[] =>
  settings.flatMap(({ name, returns, values }, group) =>
    seeds.flatMap((seed, i) => {
      const result = returns[i];
      return typeof result === 'number'
        ? [{ name, values, group, seed, result, path: `${name}/seed-${seed}` }]
        : [];
    }),
  );

function parallelView({ settings }: SweptTask, { keys, seeds }: SweepResult, context: PageContext): Content {
  const sweptSettings = settings.filter(({ baseline }) => baseline === null);
  const runs = runsOf(sweptSettings, seeds);
  if (runs.length < 2 || keys.length === 0) return undefined;
  const lines = runs.map(({ path, ...run }) => ({
    ...run,
    href: context.linkOf(path),
    link: 'Open this run',
    note: `${settingName(run)}, seed ${run.seed}: ${formatReturn(run.result)}.`,
  }));
  return parallelFigure(parallelData(keys, lines, 'confirmed'));
}

function effectsView({ effects }: SweptTask): Content {
  if (effects === null || effects.levels.length === 0) return undefined;
  const { levels, main } = effects;
  const values = levels.flatMap(({ confirmed: { mean, meanInterval } }) => [mean, ...(meanInterval ?? [])]);
  return html`${[...groupBy(levels, ({ key }) => key)].map(([title, own]) =>
    pageTable(own, [
      text(title, ({ value }) => valueText(value)),
      meanColumn(({ confirmed }: (typeof own)[number]) => confirmed, values),
    ]),
  )}
<p class="note">Mean confirmed return of the settings with each value, with 95 % intervals over seeds.</p>
<h3>Differences</h3><p class="note">${seedsText(effects)}</p>${pageTable(main, effectColumns)}`;
}

function runTable(task: SweptTask, seeds: readonly number[], { linkOf }: PageContext): Content {
  const runs = runsOf(task.settings, seeds).toSorted((a, b) => b.result - a.result);
  if (runs.length === 0) return html`<p class="empty">No run is complete yet.</p>`;
  return pageTable(
    runs,
    [
      ...keyColumns<CompleteRun>(task.settings),
      number('seed', ({ path, seed }) => ({ text: String(seed), href: linkOf(path) })),
      number('confirmed', ({ result }) => result, { strong: true, format: formatReturn }),
      text('run', ({ path }) => ({ text: 'open', href: linkOf(path) })),
    ],
    { tall: true },
  );
}

const readingNotes = (result: SweepResult): readonly string[] => [
  "confirmed: mean return of a run's chosen policy on episodes that were used neither to propose nor to choose it",
  ...(result.tasks.some(({ effects }) => effects !== null)
    ? [
        'effects: for each seed, the difference between the mean returns with two values of a key, averaged over the other keys; intervals are over seeds, because settings with the same seed share warm-up and episodes',
      ]
    : []),
  ...new Set([
    ...result.tasks.flatMap(({ effects }) => verdictRuleFor(effects?.main ?? [])),
    ...verdictRuleFor(baselineDifferences(result)),
  ]),
];
