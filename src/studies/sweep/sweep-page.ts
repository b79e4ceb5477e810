/** The page of a sweep: first the effects of the keys with intervals, then the best setting. */

import { styleText } from 'node:util';
import { pText, verdictChips, verdictRule, verdictText } from '../../comparison/words.js';
import { type Html, html } from '../../format/html.js';
import {
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatInterval,
  formatReturn,
  formatSigned,
  plural,
} from '../../format/numbers.js';
import { type Column, estimate, htmlTable, number, terminalTable, text } from '../../format/table.js';
import { armClass } from '../../report/charts/arm-curves.js';
import { percent } from '../../report/charts/plot.js';
import { relativeLink } from '../../report/group-report.js';
import { tile } from '../../report/views/overview.js';
import { runFiles } from '../../runs/reader.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import { page } from '../../web/page.js';
import type { Effect, Effects, Interaction, LevelMean } from './effects.js';
import type { SettingFigures, SweepResult } from './sweep-result.js';

/** Formats a value; `(none)` if the key is omitted. */
const shown = (value: string | undefined) => (value === 'null' ? '(none)' : (value ?? ''));

const effectName = ({ key, of, against }: Effect): string => `${key}: ${shown(of)} − ${shown(against)}`;

const verdictColumns: readonly Column<Pick<Effect, 'adjusted' | 'verdict' | 'difference' | 'interval'>>[] = [
  estimate('difference', ({ difference, interval }) => ({ value: difference, interval }), {
    format: formatSigned,
  }),
  number('p (Holm)', ({ adjusted }) => adjusted, { format: pText }),
  text(
    '',
    ({ verdict }) => ({
      text: verdict === 'too-few' ? 'too few' : verdictText({ verdict, test: 'paired', reason: '' }),
      mark: `chip ${verdictChips[verdict]}`,
    }),
    { spoken: 'verdict' },
  ),
];

const effectColumns: readonly Column<Effect>[] = [
  text('key', ({ key }) => ({ text: key, code: true }), { grouped: true }),
  text('value', ({ of }) => shown(of)),
  text('against', ({ against }) => shown(against)),
  ...verdictColumns,
];

const interactionColumns: readonly Column<Interaction>[] = [
  text('keys', ({ keys }) => keys.join(' × '), { grouped: true }),
  text('values', ({ of }) => of.map(shown).join(', ')),
  text('against', ({ against }) => against.map(shown).join(', ')),
  ...verdictColumns,
];

const levelColumns: readonly Column<LevelMean>[] = [
  text('key', ({ key }) => ({ text: key, code: true }), { grouped: true }),
  text('value', ({ value }) => shown(value)),
  estimate('confirmed', ({ confirmed: { mean, meanInterval } }) => ({ value: mean, interval: meanInterval })),
];

const pairColumns: readonly Column<Effects['pairs'][number]>[] = [
  text('keys', ({ keys }) => keys.join(' × '), { grouped: true }),
  text('values', ({ values }) => values.map(shown).join(', ')),
  estimate('confirmed', ({ confirmed: { mean, meanInterval } }) => ({ value: mean, interval: meanInterval })),
];

/** A column for each varying key. */
const keyColumns = ([first]: readonly SettingFigures[]): readonly Column<SettingFigures>[] => {
  const keys = Object.keys(first?.values ?? {});
  return keys.length === 0
    ? [text('setting', ({ name }) => name)]
    : keys.map((key) => text(key, ({ values }) => shown(values[key])));
};

const reasons = { failed: 'failed', halved: 'halved', lost: 'lost the race' } as const;

function settingColumns(settings: readonly SettingFigures[]): readonly Column<SettingFigures>[] {
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

/** Number of differences in Holm's correction; effects and interactions are corrected separately. */
const tested = (effects: Effects | null): number =>
  largest(
    [effects?.main ?? [], effects?.interactions ?? []].map((all) => all.filter(({ p }) => p !== null).length),
  );

const overText = ({ count, over }: Effects): string =>
  over === 'seeds'
    ? `Over ${plural(count, 'seed')} under which all settings are complete.`
    : `By least squares over ${plural(count, 'setting')}.`;

/** Sorts settings, best first; those with more seeds come before those dropped earlier. */
export function ranked(settings: readonly SettingFigures[]): readonly SettingFigures[] {
  const count = ({ confirmed }: SettingFigures) => confirmed?.count ?? 0;
  const height = ({ confirmed }: SettingFigures) => confirmed?.mean ?? Number.NEGATIVE_INFINITY;
  return settings.toSorted((a, b) => count(b) - count(a) || height(b) - height(a));
}

/** Maximum number of settings shown on a terminal; the page shows all. */
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
  if (best !== null && settings.length > 1)
    blocks.push(
      `best        ${best}: the highest of ${plural(settings.length, 'setting')} on these same runs, so it is optimistic`,
    );
  return blocks.join('\n\n');
}

export function sweepPage(result: SweepResult): string {
  const { effects, environment, failures, method, name, settings, status } = result;
  const runs = settings.reduce((sum, one) => sum + one.runs, 0);
  return page({
    title: `Sweep: ${name}`,
    header: html`<header>
<p class="kicker">policyloop sweep <b>${name}</b></p>
<h1>${Object.keys(settings[0]!.values).join(', ') || name} <span class="by">in</span> ${environment}</h1>
<p class="state"><span class="status ${status === 'completed' ? 'completed' : 'interrupted'}">${status}</span> ${method}: ${plural(settings.length, 'setting')}, ${plural(result.seeds.length, 'seed')}, ${plural(runs, 'run')} complete</p>
</header>`,
    sections: [
      { id: 'effects', title: 'Effects', content: effectsSection(effects) },
      ...(effects === null || effects.interactions.length === 0
        ? []
        : [{ id: 'interactions', title: 'Interactions', content: interactionsSection(effects) }]),
      { id: 'best', title: 'Best setting', content: bestSection(result) },
      { id: 'settings', title: 'Settings', content: settingsSection(result) },
      ...(failures.length === 0
        ? []
        : [
            {
              id: 'failures',
              title: 'Failures',
              content: html`<ul class="warnings">${failures.map(({ run, message }) => html`<li>${run}: ${message}</li>`)}</ul>`,
            },
          ]),
      { id: 'reading', title: 'How to read this', content: readingSection(result) },
    ],
    footer: html`<p>Written by policyloop ${result.policyloop}.</p>`,
  });
}

function effectsSection(effects: Effects | null): Html {
  if (effects === null)
    return html`<p class="empty">No effects yet: they require results of all settings with the same seed, or more drawn settings than values.</p>`;
  const { levels, main } = effects;
  return html`<p class="note">${overText(effects)}</p>
${main.length === 0 ? html`<p class="empty">No key has several values.</p>` : html`${forest(effects)}${htmlTable(main, effectColumns)}`}
${levels.length > 0 && html`<h3>Mean return by value</h3>${htmlTable(levels, levelColumns)}`}`;
}

/** One row per effect with its interval, on an axis that includes 0. */
function forest({ main }: Effects): Html {
  const ends = main
    .flatMap(({ difference, interval }) => [difference, ...(interval ?? [])])
    .filter(Number.isFinite);
  const [low, high] = [Math.min(0, smallest(ends)), Math.max(0, largest(ends))];
  const x = (value: number) => percent(high > low ? (value - low) / (high - low) : 0.5);
  return html`<ul class="forest" role="list">${main.map((effect) => {
    const { difference, interval } = effect;
    return html`<li><span class="name">${effectName(effect)}</span>
<svg width="100%" height="24" aria-hidden="true"><g class="target"><line x1="${x(0)}" x2="${x(0)}" y1="0" y2="24"/></g><g class="arm-mark ${armClass(1)}">${interval && html`<line x1="${x(interval[0])}" x2="${x(interval[1])}" y1="12" y2="12"/>`}<circle cx="${x(difference)}" cy="12" r="4.5"/></g></svg>
<span>${formatSigned(difference)} <span class="muted">${interval ? formatInterval(interval, formatSigned) : 'no interval'}</span></span></li>`;
  })}</ul>`;
}

const interactionsSection = ({ interactions, pairs }: Effects): Html =>
  html`<p class="note">How much the effect of the first key changes with the value of the second key; 0 if the two effects are independent.</p>
${htmlTable(interactions, interactionColumns, { tall: true })}
<h3>Mean return by values of both keys</h3>
${htmlTable(pairs, pairColumns, { tall: true })}`;

function bestSection({ best, settings, usage, activeMs }: SweepResult): Html {
  const found = settings.find(({ name }) => name === best);
  const tokens = usage.promptTokens + usage.completionTokens;
  return html`<dl class="headline main">
${found?.confirmed ? tile('Highest mean confirmed return', formatReturn(found.confirmed.mean), html`${labelled(found)}${found.confirmed.meanInterval && html`; 95 % interval <b>${formatInterval(found.confirmed.meanInterval)}</b> over ${plural(found.confirmed.count, 'seed')}`}. It is the highest of ${plural(settings.length, 'setting')} on these same runs, so it is optimistic: evaluate it on other seeds.`, 'confirmed') : tile('Highest mean confirmed return', '–', 'no run is complete')}
</dl>
<dl class="headline">
${tokens > 0 && tile('Calls', formatCount(usage.calls), 'of all runs')}
${tokens > 0 && tile('Tokens', formatCompact(tokens), 'of all runs')}
${usage.cost !== undefined && tile('Cost', formatCost(usage.cost), costNote(usage))}
${tile('Time', formatDuration(activeMs), 'total of all runs')}
</dl>`;
}

const labelled = ({ values }: SettingFigures): Html =>
  html`${Object.entries(values).map(([key, value], i) => html`${i > 0 && ', '}<code>${key}=${value}</code>`)}`;

function settingsSection({ seeds, settings }: SweepResult): Html {
  const rows = ranked(settings);
  const runs = settings.flatMap(({ name, returns }) =>
    seeds.flatMap((seed, i) =>
      typeof returns[i] === 'number' ? [{ name, seed, confirmed: returns[i] }] : [],
    ),
  );
  return html`${htmlTable(rows, [...keyColumns(settings), ...settingColumns(settings)], { tall: true })}
<h3>Runs</h3>
${htmlTable(
  runs,
  [
    { title: 'setting', grouped: true, cell: ({ name }) => name },
    {
      title: 'run',
      cell: ({ name, seed }) => ({
        text: `seed ${seed}`,
        href: relativeLink(`${name}/seed-${seed}/${runFiles.report}`),
      }),
    },
    { title: 'confirmed', kind: 'number', format: formatReturn, cell: ({ confirmed }) => confirmed },
  ],
  { tall: true },
)}`;
}

function readingSection({ effects, method, settings }: SweepResult): Html {
  const lines = [
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
  return html`<ul>${lines.map((line) => html`<li>${line}.</li>`)}</ul>`;
}
