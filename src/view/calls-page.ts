/** The page that shows model calls over time: tokens, cost, latency and failures, by model or purpose. */
import { type Html, html } from '../format/html.js';
import {
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatShare,
  plural,
} from '../format/numbers.js';
import { htmlTable, number, text } from '../format/table.js';
import { kindMeaning } from '../runs/failure-text.js';
import type { HourlyUsage, UsageSource } from '../runs/usage/hourly-usage.js';
import {
  costNoteOf,
  costOf,
  requireSpan,
  spanNames,
  type UsageOverTime,
  usageColumns,
  usageOver,
} from '../runs/usage/usage-span.js';
import { sumOf, tokenKinds, type UsageSum } from '../runs/usage/usage-sum.js';
import { type Axis, type Chart, type Colour, chartFigure, type Series } from '../web/chart.js';
import { type Page, sectionsOf } from '../web/page.js';
import { pageHeader, tile } from '../web/study.js';
import { parseFilter } from '../web/table/filter.js';
import { badRequest } from './http.js';
import type { Live } from './live.js';
import { patience, soFar, withSettings } from './run-data.js';

/** The end of the year 9999, in milliseconds since 1970. */
const latestTime = 253_402_300_799_999;

/**
 * The page for a query such as `span=week&until=1764000000000`, where `until` is in milliseconds. Optional parameters:
 * `by=purpose`, and `filter` as on the index page.
 */
export async function callsOf({
  live,
  query,
  usage,
}: {
  readonly live: Live;
  readonly usage: HourlyUsage;
  readonly query: URLSearchParams;
}): Promise<Page> {
  const span = requireSpan('span', query.get('span') ?? 'week');
  const until = Number(query.get('until') ?? Number.NaN);
  if (!(until >= 0 && until <= latestTime)) throw badRequest('must be a Unix time in milliseconds', 'until');
  const { accepts, asked, problems } = parseFilter(query.get('filter') ?? '');
  if (problems.length > 0) throw badRequest(problems.join('; '), 'filter');
  const sources = live.places().flatMap((place): readonly UsageSource[] => {
    const { item, path } = place;
    const { kind } = item;
    const isOne = kind === 'run' || kind === 'play' || kind === 'training';
    return isOne && accepts(withSettings(place, item, asked)) ? [{ kind, path }] : [];
  });
  const by = query.get('by') === 'purpose' ? 'purpose' : 'model';
  const { hours, read } = await usage.read(sources, patience);
  return soFar(callsPage(usageOver(hours, span, until, by), read), read, sources.length);
}

/** @param runs number of runs that `usage` covers */
export function callsPage(usage: UsageOverTime, runs: number): Page {
  const { rows, span, total } = usage;
  const title = `Calls, ${spanNames[span]}`;
  const isEmpty = total.calls + total.tokens === 0;
  return {
    title,
    header: pageHeader({ kicker: 'calls', title }),
    sections: sectionsOf(
      [
        'totals',
        'Totals',
        isEmpty
          ? html`<p class="empty">No calls in this period.</p>`
          : html`${tiles(total)}
${htmlTable(rows, usageColumns)}
<p class="note">${costNoteOf(total)} Latencies include retries; percentiles are accurate to 3 %.</p>`,
      ],
      [
        'time',
        'Over time',
        !isEmpty && html`<div class="charts">${chartsOf(usage).map((chart) => chartFigure(chart))}</div>`,
      ],
      ['failures', 'Failures', total.failures.size > 0 && failuresOf(usage)],
    ),
    footer: html`<p>Language-model calls in ${plural(runs, 'run')}, excluding replays and baselines. Days and hours are in UTC.</p>`,
  };
}

function tiles(total: UsageSum): Html {
  const { cachedShare, calls, failed, promptTokens, tokens, unpriced } = total;
  const [median, high] = [total.latency(0.5), total.latency(0.95)];
  return html`<dl class="headline">
${tile('Cost', costOf(total) ?? '–', unpriced === 0 ? 'in US dollars, or the currency of model.price' : `excluding ${plural(unpriced, 'call')} without a price`)}
${tile('Calls', formatCount(calls), failed === 0 ? 'all answered' : `${formatCount(failed)} without a reply`)}
${tile('Tokens', formatCompact(tokens), promptTokens === 0 ? 'in replies' : `${formatCompact(promptTokens)} in prompts, ${formatShare(cachedShare)} of them cached`)}
${!Number.isNaN(median) && tile('Median latency', formatDuration(median), `95 % of calls within ${formatDuration(high)}`)}
</dl>`;
}

/** Maximum number of groups shown separately, unless there is only one more; charts combine the others. */
const mostGroups = 7;

type Group = UsageOverTime['groups'][number];

function shownGroups({ at, groups }: UsageOverTime): readonly Group[] {
  if (groups.length <= mostGroups + 1) return groups;
  const others = groups.slice(mostGroups);
  const bars = at.map((_, i) => sumOf(others.map((group) => group.bars[i]!)));
  return [...groups.slice(0, mostGroups), { name: `${others.length} others`, bars }];
}

/** The colour of a group. The eighth is grey, because it usually combines all other groups. */
const colourOf = (i: number): Colour => `arm-${(i + 1) % 8}`;

const formats = {
  ...{ cost: formatCost, compact: formatCompact, whole: formatCount },
  ...{ duration: formatDuration, share: formatShare },
} as const;

type Drawn = Pick<Series, 'label' | 'values'> & { readonly colour?: Colour };

function chartsOf(usage: UsageOverTime): readonly Chart[] {
  const { at, step, total } = usage;
  const groups = shownGroups(usage);
  const sums = at.map((_, i) => sumOf(groups.map(({ bars }) => bars[i]!)));
  /** Values of each group. @param of name of a figure, or a share p in [0, 1] for the p-quantile of the latency */
  const byGroup = (of: 'cachedShare' | 'calls' | 'cost' | 'tokens' | number): readonly Drawn[] =>
    groups.map(({ bars, name }) => {
      const values = bars.map((sum) => (typeof of === 'number' ? sum.latency(of) : sum[of]));
      return { label: name, values: values.map((value) => (Number.isNaN(value) ? null : value)) };
    });
  const tokens = tokenKinds.map(({ colour, label, of }) => ({
    ...{ label, colour, values: sums.map((sum) => Math.max(0, of(sum))) },
  }));
  const failures = kindsOf(total)
    .slice(0, mostGroups + 1)
    .map(([label]) => ({ label, values: sums.map((sum) => sum.failures.get(label) ?? 0) }));
  const per = step === 3_600_000 ? 'hour' : step === 86_400_000 ? 'day' : `${step / 86_400_000} days`;
  const chart = (
    what: string,
    kind: keyof typeof formats,
    series: readonly Drawn[],
    draw: Series['draw'] = 'bars',
  ): Chart => ({
    label: `${what} per ${per}.`,
    x: timeAxis(usage),
    y: { title: `${what} per ${per}`, from: 0, kind },
    height: 200,
    at,
    series: series.map((one, i) => ({ draw, colour: colourOf(i), ...one })),
    notes: at.map((start, i) => {
      const own = series.flatMap(({ label, values: { [i]: value } }) =>
        value ? [`${label} ${formats[kind](value)}`] : [],
      );
      return `${timeText(start, step)}: ${own.join(', ') || 'none'}`;
    }),
  });
  const isTimed = !Number.isNaN(total.latency(0.5));
  const charts: readonly (Chart | false)[] = [
    total.cost > 0 && chart('Cost', 'cost', byGroup('cost')),
    chart('Tokens', 'compact', byGroup('tokens')),
    chart('Tokens by kind', 'compact', tokens),
    chart('Calls', 'whole', byGroup('calls')),
    failures.length > 0 && chart('Failures', 'whole', failures),
    isTimed && chart('Median latency', 'duration', byGroup(0.5), 'points'),
    isTimed && chart('95th percentile of latency', 'duration', byGroup(0.95), 'points'),
    total.cachedTokens > 0 &&
      chart('Cached share of prompt tokens', 'share', byGroup('cachedShare'), 'points'),
  ];
  return charts.filter((one) => one !== false);
}

/** Maximum number of labels that fit below a chart on a phone. */
const mostTicks = 6;

function timeAxis({ at, step }: UsageOverTime): Axis {
  const every = Math.ceil(at.length / mostTicks);
  const isHour = step < 86_400_000;
  const ticks = at.flatMap((start, i) => {
    const iso = new Date(start).toISOString();
    return i % every === 0 ? [[start, isHour ? iso.slice(11, 16) : iso.slice(5, 10)] as const] : [];
  });
  return {
    from: at[0]! - step / 2,
    to: at.at(-1)! + step / 2,
    title: isHour ? 'Hour (UTC)' : 'Day (UTC)',
    ticks,
  };
}

function timeText(start: number, step: number): string {
  const text = (time: number) => new Date(time).toISOString().slice(0, step < 86_400_000 ? 16 : 10);
  const shown = text(start).replace('T', ' ');
  return step <= 86_400_000 ? shown : `${shown} to ${text(start + step - 1)}`;
}

/** Kinds of failure and how often each occurred, most frequent first. */
const kindsOf = ({ failures }: UsageSum) => [...failures].toSorted(([, a], [, b]) => b - a);

/** Table of failures by kind, for all groups together and for each of the first `mostGroups`. */
function failuresOf({ groups, total }: UsageOverTime): Html {
  const counts = groups.map(({ bars, name }) => ({ name, failures: sumOf(bars).failures }));
  return html`${htmlTable(kindsOf(total), [
    text('kind', ([kind]) => ({ text: kind, detail: kindMeaning(kind) })),
    number('all', ([, count]) => formatCount(count), { strong: true }),
    ...(counts.length < 2
      ? []
      : counts
          .slice(0, mostGroups)
          .map(({ failures, name }) => number<[string, number]>(name, ([kind]) => failures.get(kind) ?? 0))),
  ])}
<p class="note">Includes failed attempts at calls that succeeded later.</p>`;
}
