import { type Html, html } from '../../format/html.js';
import { apart, formatCount, formatNumber, formatScore, plural } from '../../format/numbers.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import type { Confirmation } from '../../runs/events.js';
import { largest, quantile, smallest, standardDeviation } from '../../statistics/descriptive.js';
import { isRejected, type LoggedProposal, onlyProposals, type RunData } from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';
import {
  extremes,
  firstOfEach,
  type Point,
  type Spread,
  stretchColumns,
  stretchOf,
  type Timeline,
} from './long-curve.js';
import {
  coordinate,
  figure,
  intervalMark,
  line,
  linearScale,
  numberedTicks,
  type PlotColumn,
  percent,
  plotChart,
  robustDomain,
  type Scale,
} from './plot.js';

export function timelineOf(data: RunData, proposals: readonly LoggedProposal[]): Timeline {
  const warmup = data.entries.filter((entry) => entry.source !== 'proposal').length;
  let iterations = data.manifest.iterations.done;
  let candidates = 1;
  for (const { iteration, candidate, entry, purpose } of proposals) {
    iterations = Math.max(iterations, iteration);
    // Proposals and evaluated revisions have a slot each.
    if (purpose === 'proposal' || entry) candidates = Math.max(candidates, candidate + 1);
  }
  return {
    warmup,
    iterations,
    candidates,
    slots: Math.max(1, warmup + iterations * candidates),
    slot: ({ iteration, candidate }) => warmup + (iteration - 1) * candidates + candidate,
  };
}

export function curvePoints(data: RunData, timeline: Timeline): Point[] {
  const spread = isBinary(data.entries) ? standardError : quartiles;
  let warmup = 0;
  let best = Number.NEGATIVE_INFINITY;
  return data.entries.map((entry) => {
    const improved = isProposal(entry) && entry.score > best;
    best = Math.max(best, entry.score);
    const at = isProposal(entry) ? timeline.slot(entry) : warmup++;
    return {
      entry,
      at,
      best,
      improved,
      // Computed only when needed: the chart of a long run draws only a few spreads.
      get spread() {
        return spread(entry);
      },
    };
  });
}

/** Whether returns have at most two distinct values (success and failure), which makes quartiles uninformative. */
function isBinary(entries: readonly BufferEntry[]): boolean {
  const values = new Set<number>();
  return entries.every(({ returns }) => {
    for (const value of returns) values.add(value);
    return values.size <= 2;
  });
}

function quartiles({ returns, score }: BufferEntry): Spread {
  if (returns.length === 0) return [score, score, score, score];
  const sorted = returns.toSorted((a, b) => a - b);
  return [sorted[0]!, quantile(sorted, 0.25), quantile(sorted, 0.75), sorted.at(-1)!];
}

function standardError({ returns, score }: BufferEntry): Spread {
  const error = returns.length < 2 ? 0 : standardDeviation(returns) / Math.sqrt(returns.length);
  return [score - error, score - error, score + error, score + error];
}

function isProposal(entry: BufferEntry): boolean {
  return entry.source === 'proposal';
}

const height = 320;

/** Draws each evaluation's score and spread, the best so far, the confirmed interval and the target. */
export function learningCurve(
  data: RunData,
  proposals: readonly LoggedProposal[],
  link: ShownCalls['link'],
): Html {
  const timeline = timelineOf(data, proposals);
  const points = curvePoints(data, timeline);
  if (points.length === 0) return html`<p class="empty">No evaluations.</p>`;
  const stretch = stretchOf(timeline, points.length);
  const drawn = stretch === 1 ? points : extremes(points, stretch);
  const confirmed = data.confirmed ?? undefined;
  const target = data.config.target?.return;
  const y = verticalScale(drawn, data);
  const lost = onlyProposals(proposals).filter(isRejected);
  const rejected = firstOfEach(lost, (proposal) => Math.floor(timeline.slot(proposal) / stretch));
  const x = (at: number) => percent(at / timeline.slots);
  const confirmedAt = (c: { iteration: number; candidate: number }): number => {
    const point = points.find(
      ({ entry }) => entry.iteration === c.iteration && entry.candidate === c.candidate,
    );
    return point ? point.at + 0.5 : timeline.slots;
  };
  const episodes = data.config.evaluation.episodes;
  const below = points.filter((point) => point.entry.score < y.low).map(({ entry }) => entry.score);

  const chart = plotChart({
    description: describe(points, confirmed?.mean),
    height,
    y,
    yTitle: episodes === 1 ? 'Return' : `Mean return of ${episodes} episodes`,
    x: { slots: timeline.slots, ticks: iterationTicks(timeline), title: 'Iteration' },
    background: [
      timeline.warmup > 0 && html`<rect class="warmup" width="${x(timeline.warmup)}" height="${height}"/>`,
      iterationEdges(timeline),
      confirmed && confirmedBand(confirmed, confirmedAt(confirmed), timeline.slots, y),
    ],
    paths: [
      html`<path class="range" d="${whiskers(drawn, y, 0, 3)}"/>`,
      html`<path class="quartiles" d="${whiskers(drawn, y, 1, 2)}"/>`,
      html`<path class="best" d="${bestSoFar(points, y, timeline.slots)}"/>`,
    ],
    marks: [
      html`<defs><path id="cross" d="M-3.5-3.5 3.5 3.5M3.5-3.5-3.5 3.5"/><path id="below" d="M-4-4H4L0 3z"/></defs>`,
      target !== undefined && targetLine(target, y),
      html`<g class="points">${drawn.map((point) => mark(point, x(point.at + 0.5), y))}</g>`,
      html`<g class="rejected">${rejected.map(
        (proposal) => html`<use href="#cross" x="${x(timeline.slot(proposal) + 0.5)}" y="${height - 8}"/>`,
      )}</g>`,
      confirmed &&
        intervalMark(
          { mean: confirmed.mean, interval: confirmed.ci95 },
          confirmedAt(confirmed) / timeline.slots,
          y,
        ),
    ],
    columns:
      stretch === 1
        ? columns(points, rejected, timeline, link)
        : stretchColumns(drawn, { lost, timeline, stretch, link }),
  });
  const caption = html`<ul class="legend">
<li><span class="key dot"></span>${stretch === 1 ? 'evaluation' : `highest and lowest of every ${formatCount(stretch)} consecutive evaluations`}${episodes > 1 && (isBinary(data.entries) ? ', with the standard error of the mean' : ', with quartiles (bar) and range (line) over episodes')}</li>
<li><span class="key step"></span>best so far</li>
${confirmed && html`<li><span class="key diamond"></span>best, confirmed on unseen episodes with 95 % interval</li>`}
${target !== undefined && html`<li><span class="key dash"></span>target ${formatNumber(target)}</li>`}
${rejected.length > 0 && html`<li><span class="key cross"></span>no usable proposal</li>`}
${below.length > 0 && html`<li><span class="key below"></span>below the axis (${below.length}, down to ${formatNumber(smallest(below))})</li>`}
</ul>`;
  return figure(chart, caption, 'Hover over a column for details; click to open its log.');
}

function verticalScale(points: readonly Point[], data: RunData): Scale {
  const [low, high] = robustDomain(
    points.flatMap(({ entry, spread }) => [entry.score, spread[1], spread[2]]),
  );
  const others = [...(data.confirmed?.ci95 ?? []), data.config.target?.return ?? low];
  return linearScale([smallest([low, ...others]), largest([high, ...others])], [height, 0], {
    ticks: 6,
    nice: true,
  });
}

function whiskers(points: readonly Point[], y: Scale, from: 0 | 1, to: 2 | 3): string {
  return points
    .map(({ at, spread }) => ({ at, low: y.at(spread[from]), high: y.at(spread[to]) }))
    .filter(({ low, high }) => low - high > 0.5)
    .map(({ at, low, high }) => `M${coordinate(at + 0.5)} ${coordinate(low)}V${coordinate(high)}`)
    .join('');
}

function bestSoFar(points: readonly Point[], y: Scale, slots: number): string {
  const steps: [number, number][] = [];
  for (const point of points) {
    const last = steps.at(-1);
    const level = y.at(point.best);
    if (last !== undefined && last[1] === level) continue;
    if (last !== undefined) steps.push([point.at + 0.5, last[1]]);
    steps.push([point.at + 0.5, level]);
  }
  steps.push([slots, steps.at(-1)![1]]);
  return line(steps);
}

function mark({ improved, entry: { score } }: Point, x: string, y: Scale): Html {
  if (score < y.low) return html`<use href="#below" x="${x}" y="${height - 4}"/>`;
  const at = coordinate(y.at(score));
  return html`<circle cx="${x}" cy="${at}" r="${improved ? 3.5 : 2.5}"${improved && html` class="improved"`}/>`;
}

function confirmedBand(confirmed: Confirmation, at: number, slots: number, y: Scale): Html {
  const [low, high] = [y.at(confirmed.ci95[0]), y.at(confirmed.ci95[1])];
  return html`<rect class="confirmed-band" x="${percent(at / slots)}" width="${percent(1 - at / slots)}" y="${coordinate(high)}" height="${coordinate(Math.max(1.5, low - high))}"/>`;
}

function targetLine(target: number, y: Scale): Html {
  const at = y.at(target);
  return html`<g class="target" data-value="${target}"><line x1="0" x2="100%" y1="${coordinate(at)}" y2="${coordinate(at)}"/></g>`;
}

/** Lines between iterations, if these have several candidates and there are at most 60. */
function iterationEdges({ warmup, iterations, candidates, slots }: Timeline): Html | undefined {
  if (candidates === 1 || iterations > 60) return undefined;
  const edges = Array.from({ length: iterations }, (_, i) => percent((warmup + i * candidates) / slots));
  return html`<g class="grid">${edges.map((x) => html`<line x1="${x}" x2="${x}" y1="0" y2="${height}"/>`)}</g>`;
}

function iterationTicks(timeline: Timeline): { at: number; label: string }[] {
  const { warmup, iterations, candidates, slots } = timeline;
  const ticks = numberedTicks(iterations).map(({ at, label }) => ({ at: warmup + at * candidates, label }));
  if (warmup === 0) return ticks;
  // Omit the first iteration's label if it would overlap the warm-up label.
  const room = (warmup / 2 + candidates / 2) / slots > 0.18;
  return [{ at: warmup / 2, label: 'warm-up' }, ...ticks.filter(({ label }) => room || label !== '1')];
}

function columns(
  points: readonly Point[],
  rejected: readonly LoggedProposal[],
  timeline: Timeline,
  link: ShownCalls['link'],
): PlotColumn[] {
  const scores = points.map(({ entry }) => entry.score);
  const asText = apart(scores, formatScore);
  const evaluated = points.map((point): PlotColumn => {
    const { entry } = point;
    const name = isProposal(entry) ? placeName(entry, timeline) : `Warm-up policy ${entry.candidate + 1}`;
    const range = entry.returns.length > 1 ? `, ${returnRange(entry.returns)}` : '';
    const cut = entry.planned === undefined ? '' : ` (of ${entry.planned} planned)`;
    const text = `${name}: ${asText(entry.score)}${range}${cut}; best so far ${asText(point.best)}`;
    return { at: point.at, width: 1, text, ...hrefOf(isProposal(entry) ? link(entry) : undefined) };
  });
  const failed = rejected.map(
    (proposal): PlotColumn => ({
      at: timeline.slot(proposal),
      width: 1,
      text: `${placeName(proposal, timeline)}: no usable proposal after ${plural(proposal.attempts.length, 'call')}`,
      ...hrefOf(link(proposal)),
    }),
  );
  return [...evaluated, ...failed];
}

const hrefOf = (href: string | undefined) => (href === undefined ? {} : { href });

function returnRange(returns: readonly number[]): string {
  const range = [smallest(returns), largest(returns)];
  const ends = range.map(apart(range, formatNumber));
  return `${plural(returns.length, 'episode')} from ${ends.join(' to ')}`;
}

function placeName(place: { iteration: number; candidate: number }, timeline: Timeline): string {
  return `Iteration ${place.iteration}${timeline.candidates > 1 ? `, candidate ${place.candidate + 1}` : ''}`;
}

function describe(points: readonly Point[], confirmed: number | undefined): string {
  const ends = [points[0]!.best, points.at(-1)!.best];
  const asText = apart([...ends, confirmed], formatNumber);
  const [from, to] = ends.map(asText);
  const end = confirmed === undefined ? '' : `; confirmed mean ${asText(confirmed)}`;
  return `Learning curve of ${plural(points.length, 'evaluation')}: best so far rises from ${from} to ${to}${end}.`;
}
