import { returnRange } from '../environments/catalogue/known-bounds.js';
import { addUsage } from '../experiment/budget/usage.js';
import { type Html, html, preformatted } from '../format/html.js';
import {
  apart,
  costNote,
  formatCompact,
  formatCost,
  formatCount,
  formatDuration,
  formatReturn,
  plural,
} from '../format/numbers.js';
import { estimate, htmlTable, number, text } from '../format/table.js';
import { bestEntry } from '../rollout/replay-buffer.js';
import type { RunSummary } from '../runs/summary.js';
import { type Interval, unbounded } from '../statistics/bootstrap.js';
import { largest, mean, smallest } from '../statistics/descriptive.js';
import { summarize } from '../statistics/paired.js';
import { type Page, sectionsOf } from '../web/page.js';
import { pageHeader, relativeLink, resultTile, tile, warningList, writtenBy } from '../web/study.js';
import { armCurves } from './charts/arm-curves.js';
import type { RunData } from './data/proposals.js';

export interface RepeatData {
  readonly data: RunSummary & Pick<RunData, 'config' | 'configYaml' | 'entries'>;
  readonly href: string;
}

/** The page of the repeats of an experiment: combined results, and links to each repeat. */
export function groupPage(repeats: readonly RepeatData[], faults: readonly string[] = []): Page {
  const first = repeats[0]?.data;
  if (first === undefined) {
    const nothing = faults.length > 0 ? 'No readable repeats' : 'No repeat has started yet';
    const header = pageHeader({ kicker: 'repeats', title: nothing, verdict: warningList(faults) });
    return { title: 'policyloop repeats', header, sections: [], footer: undefined };
  }
  const { manifest, config, configYaml } = first;
  const updated = repeats.map(({ data }) => data.manifest.updated);
  const task = `${manifest.environment} by ${manifest.model}`;
  return {
    title: `${config.name ?? task}, ${plural(repeats.length, 'repeat')}`,
    header: pageHeader({
      kicker: html`repeats <b>${config.name}</b>`,
      title: html`${manifest.environment} <span class="by">by</span> ${manifest.model}`,
    }),
    sections: sectionsOf(
      ['result', 'Result', [groupHeadline(repeats), warningList(faults)]],
      ['curve', 'Learning curve', groupCurve(repeats)],
      ['repeats', 'Repeats', repeatTable(repeats)],
      [
        'config',
        'Config',
        html`<p>Config of the first repeat; the others started with different seeds.</p>${preformatted(configYaml)}`,
      ],
    ),
    footer: writtenBy(manifest.versions.policyloop, updated.toSorted().at(-1)),
  };
}

function groupHeadline(repeats: readonly RepeatData[]): Html {
  // Use the same interval as `compare`.
  const confirmed = summarize(confirmedMeans(repeats), rangeOf(repeats));
  const over =
    confirmed === undefined
      ? 'no repeat has been confirmed yet'
      : confirmed.meanInterval === null
        ? 'an interval needs two confirmed repeats'
        : `over ${plural(confirmed.count, 'repeat')}, each on unseen episodes`;
  const observed = repeats.flatMap(({ data: { entries } }) => bestEntry(entries)?.score ?? []);
  const done = repeats.filter(({ data: { status } }) => status === 'completed').length;
  const total = (value: (data: RepeatData['data']) => number) =>
    repeats.reduce((sum, repeat) => sum + value(repeat.data), 0);
  const tokens = total((data) => data.tokens);
  const cost = total(({ manifest }) => manifest.usage.cost ?? 0);
  const ends = [smallest(observed), largest(observed)];
  const asText = apart([...ends, ...(observed.length === 0 ? [] : [mean(observed)])]);
  return html`<dl class="headline main">
${resultTile('Confirmed mean return', confirmed?.mean, confirmed?.meanInterval, over)}
${observed.length > 0 && tile('Best observed mean return', asText(mean(observed)), `mean over ${plural(observed.length, 'repeat')}${observed.length > 1 ? ` (${ends.map(asText).join(' to ')})` : ''}; optimistic, because each is the maximum of many noisy means`)}
</dl>
<dl class="headline">
${confirmed && tile('Interquartile mean', formatReturn(confirmed.iqm), 'of the confirmed means')}
${tile('Repeats', formatCount(repeats.length), done === repeats.length ? 'all completed' : `${formatCount(done)} completed`)}
${tile('Evaluations', formatCount(total(({ entries }) => entries.length)), 'all repeats')}
${tokens > 0 && tile('Tokens', formatCompact(tokens), 'all repeats')}
${cost > 0 && tile('Cost', formatCost(cost), costNote(addUsage(repeats.map(({ data }) => data.manifest.usage))))}
${tile('Time', formatDuration(total(({ manifest }) => manifest.activeMs)), 'all repeats')}
</dl>`;
}

const rangeOf = ([first]: readonly RepeatData[]): Interval =>
  first === undefined ? unbounded : returnRange(first.data.config.environment, first.data.config.evaluation);

const confirmedMeans = (repeats: readonly RepeatData[]) =>
  repeats.flatMap(({ data: { confirmed } }) => confirmed?.mean ?? []);

/** Draws each repeat's best return so far, their mean, and the 95% interval of the mean. */
function groupCurve(repeats: readonly RepeatData[]): Html {
  const last = largest(repeats.map(({ data: { manifest } }) => manifest.iterations.done));
  const range = rangeOf(repeats);
  const found = summarize(confirmedMeans(repeats), range);
  return armCurves([
    {
      name: 'mean',
      curves: repeats.map(({ data }) => bestByIteration(data, last)).filter((curve) => curve.length > 0),
      range,
      confirmed: found && { mean: found.mean, interval: found.meanInterval ?? [found.mean, found.mean] },
    },
  ]);
}

/**
 * The highest score up to each iteration, from iteration 0 on. The curve ends where the repeat ends; if the repeat
 * stopped at its target, the curve continues unchanged to `last`.
 */
export function bestByIteration(
  { manifest, entries }: Pick<RepeatData['data'], 'manifest' | 'entries'>,
  last: number,
): readonly number[] {
  const until = manifest.reason?.kind === 'target' ? last : manifest.iterations.done;
  const best: number[] = [];
  let highest = Number.NEGATIVE_INFINITY;
  let next = 0;
  for (let iteration = 0; iteration <= until; iteration++) {
    for (; next < entries.length && entries[next]!.iteration <= iteration; next++) {
      highest = Math.max(highest, entries[next]!.score);
    }
    if (Number.isFinite(highest)) best.push(highest);
    // Without a warm-up, there is no score before the first evaluation, so the curve starts with that one's score.
    else if (next < entries.length) best.push(entries[next]!.score);
  }
  return best;
}

function repeatTable(repeats: readonly RepeatData[]): Html {
  const priced = repeats.some(({ data: { manifest } }) => manifest.usage.cost !== undefined);
  const manifest = ({ data }: RepeatData) => data.manifest;
  return htmlTable(repeats, [
    text('repeat', ({ data, href }) => ({ text: data.manifest.run, href: relativeLink(href) })),
    number('seed', (repeat) => String(manifest(repeat).seed)),
    text('status', ({ data: { ended, status, stoppedEarly } }) => ({
      text: status,
      mark: `status ${status}`,
      // Show why a repeat didn't end normally.
      ...((status !== 'completed' || stoppedEarly) && ended !== status && { detail: ended }),
    })),
    number('iterations', (repeat) => manifest(repeat).iterations.done),
    number('evaluations', ({ data }) => data.entries.length),
    number('observed', ({ data }) => bestEntry(data.entries)?.score, { format: formatReturn }),
    estimate(
      'confirmed',
      ({ data: { confirmed } }) => confirmed && { value: confirmed.mean, interval: confirmed.ci95 },
    ),
    number('tokens', ({ data: { tokens } }) => tokens, { format: formatCompact }),
    number(priced && 'cost', (repeat) => manifest(repeat).usage.cost ?? 0, { format: formatCost }),
    number('time', (repeat) => manifest(repeat).activeMs, { format: formatDuration }),
  ]);
}
