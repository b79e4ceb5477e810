/** The learning curve of a run, the same in its report and in the live view. */
import type { Content } from '../../../base/text/content.js';
import { html } from '../../../base/text/html.js';
import { distinctFormat, formatNumber, formatScore, plural } from '../../../base/text/numbers.js';
import type { BufferEntry } from '../../../rollout/replay-buffer.js';
import { noiseText } from '../../../runs/summary.js';
import { largest, quantile, smallest, standardDeviation } from '../../../statistics/descriptive.js';
import { type Chart, chartFigure, downsample, type Series } from '../../chart.js';
import {
  type CandidateId,
  isRejected,
  type LoggedProposal,
  type RunData,
  skipRevisions,
} from '../data/proposals.js';
import type { ShownCalls } from '../data/shown-calls.js';

/** True if returns have at most two distinct values, such as 0 and 1; quartiles are then uninformative. */
function isBinary(entries: readonly BufferEntry[]): boolean {
  const values = new Set<number>();
  return entries.every(({ returns }) => {
    for (const value of returns) values.add(value);
    return values.size <= 2;
  });
}

interface Spread {
  readonly low: number;
  readonly high: number;
  readonly inner?: readonly [number, number];
}

/** Returns the spread to draw for an evaluation: range and quartiles or, if returns are binary, the standard error. */
export function spreadOf({ returns, score }: BufferEntry, isBinary: boolean): Spread {
  if (isBinary) {
    const error = returns.length < 2 ? 0 : standardDeviation(returns) / Math.sqrt(returns.length);
    return { low: score - error, high: score + error };
  }
  if (returns.length === 0) return { low: score, high: score };
  const sorted = returns.toSorted((a, b) => a - b);
  const inner = [quantile(sorted, 0.25), quantile(sorted, 0.75)] as const;
  return { low: sorted[0]!, high: sorted.at(-1)!, inner };
}

/** Maximum number of failed proposals to mark; if there are more, only the latest are marked. */
const maxRejectedMarks = 500;

/** A long run is divided into at most this many stretches; only the lowest and highest evaluation of each are drawn. */
const maxStretches = 2048;

/** An evaluation to draw. `best`: the highest score so far. */
interface Point extends Spread, CandidateId, Pick<BufferEntry, 'score' | 'returns'> {
  readonly best: number;
  /** The member, leg or tuning search that proposed it. */
  readonly member: string | undefined;
}

/** Draws each evaluation's score and spread, the best so far, failed proposals, the confirmed return and the target. */
export function learningCurve(
  data: RunData,
  proposals: readonly LoggedProposal[],
  link: ShownCalls['link'],
): Content {
  const { config, confirmed, entries, manifest } = data;
  const { noise } = manifest;
  if (entries.length === 0) return html`<p class="empty">No evaluations.</p>`;
  const areBinary = isBinary(entries);
  const memberByEntry = new Map(proposals.map(({ entry, member }) => [entry, member]));
  let [warmupCount, best] = [0, Number.NEGATIVE_INFINITY];
  const allPoints = entries.map((entry): Point => {
    best = Math.max(best, entry.score);
    const candidate = entry.iteration === 0 ? warmupCount++ : entry.candidate;
    return { ...entry, candidate, best, member: memberByEntry.get(entry), ...spreadOf(entry, areBinary) };
  });
  const rejectedProposals = skipRevisions(proposals).filter(isRejected).slice(-maxRejectedMarks);
  const xOf = candidatePositions([...allPoints, ...rejectedProposals]);
  const points = downsample(allPoints, maxStretches, extremes)
    .toSorted((a, b) => xOf(a) - xOf(b))
    .filter((point, i, sorted) => i === sorted.length - 1 || xOf(point) !== xOf(sorted[i + 1]!));
  const scores = entries.map(({ score }) => score);
  const asText = distinctFormat(scores, formatScore);
  const hasCandidates = entries.some(({ candidate, iteration }) => iteration > 0 && candidate > 0);
  const noteOf = ({ best: highest, candidate, iteration, member, returns, score }: Point) => {
    const name =
      iteration === 0
        ? `Warm-up policy ${candidate + 1}`
        : `Iteration ${iteration}${hasCandidates ? `, candidate ${candidate + 1}` : ''}${member === undefined ? '' : `, ${member}`}`;
    const range = returns.length > 1 ? `, ${returnRange(returns)}` : '';
    return `${name}: ${asText(score)}${range}; best so far ${asText(highest)}`;
  };
  const bests = points.map((point) => point.best);
  const { episodes } = config.evaluation;
  const hasWarmup = warmupCount > 0;
  const { target } = config;
  const chart: Chart = {
    label: `Learning curve of ${plural(entries.length, 'evaluation')}; best so far ${formatNumber(best)}${confirmed ? `; confirmed ${formatNumber(confirmed.mean)}` : ''}.`,
    x: { title: 'Iteration', kind: 'whole', from: hasWarmup ? 0 : Math.min(1, xOf(points[0]!)) },
    y: { title: episodes === 1 ? 'Return' : `Mean return of ${episodes} episodes` },
    height: 340,
    at: points.map(xOf),
    series: [
      ...evaluationSeries(points, entries.length > points.length),
      {
        label: 'best so far',
        draw: 'steps',
        outliers: 'low',
        color: '--accent',
        width: 2,
        values: bests,
        ...(noise && { low: bests.map((score) => score - noise.floor), high: bests }),
      },
    ],
    marks: [
      {
        ...({ label: 'no usable proposal', draw: 'cross', color: '--bad' } as const),
        marks: rejectedProposals.map((proposal) => ({ x: xOf(proposal) })),
      },
      {
        label: 'confirmed on fresh episodes, with 95 % interval',
        ...({ draw: 'diamond', color: '--good' } as const),
        marks: confirmed ? [{ x: xOf(confirmed), y: confirmed.mean, interval: confirmed.ci95 }] : [],
      },
    ].filter(({ marks }) => marks.length > 0),
    ...(noise && { bands: { label: `noise floor (${formatNumber(noise.floor, 3)})` } }),
    ...(target && { levels: [{ y: target.return, label: `target ${formatNumber(target.return)}` }] }),
    ...(hasWarmup && { shades: [[0, 1] as const] }),
    notes: points.map(noteOf),
    links: points.map((point) => (point.iteration === 0 ? null : (link(point) ?? null))),
    hint: 'Hover over an evaluation for details; click to open its log; drag to zoom, double-click to reset.',
  };
  const spreadText = areBinary
    ? 'the standard error of the mean'
    : 'quartiles (bar) and range (line) over episodes';
  const caption = html`Evaluations with ${spreadText}.${noise && ` Noise floor ${noiseText(noise)}.`}`;
  return chartFigure(chart, episodes > 1 ? caption : undefined);
}

/** Returns the evaluations as series, with a colour for each member, leg or tuning search that proposed some. */
function evaluationSeries(points: readonly Point[], areExtremes: boolean): readonly Series[] {
  const members = [...new Set(points.flatMap(({ member }) => member ?? []))];
  const proposers = points.some(({ member }) => member === undefined) ? [undefined, ...members] : members;
  return proposers.map((by): Series => {
    const valuesOf = (value: (point: Point) => number | undefined) =>
      points.map((point) => (point.member === by ? (value(point) ?? null) : null));
    return {
      label: `${by ?? 'evaluations'}${areExtremes ? ' (extremes only)' : ''}`,
      draw: 'points',
      outliers: 'low',
      color: by === undefined ? '--point' : `--arm-${members.indexOf(by)}`,
      values: valuesOf(({ score }) => score),
      low: valuesOf(({ low }) => low),
      high: valuesOf(({ high }) => high),
      ...(points.some(({ inner }) => inner !== undefined) && {
        inner: [valuesOf(({ inner }) => inner?.[0]), valuesOf(({ inner }) => inner?.[1])] as const,
      }),
    };
  });
}

/** Returns a function that places candidates on the iteration axis, evenly between their iteration and the next one. */
function candidatePositions(candidates: readonly CandidateId[]): (place: CandidateId) => number {
  const sizeOf = (own: readonly CandidateId[]) => largest([1, ...own.map(({ candidate }) => candidate + 1)]);
  const warmupSize = sizeOf(candidates.filter(({ iteration }) => iteration === 0));
  const proposalSize = sizeOf(candidates.filter(({ iteration }) => iteration > 0));
  return ({ candidate, iteration }) => iteration + candidate / (iteration === 0 ? warmupSize : proposalSize);
}

/** Returns the lowest and the highest evaluation of a stretch, in chronological order. */
function extremes(stretch: readonly Point[]): readonly Point[] {
  const scores = stretch.map(({ score }) => score);
  const indices = [scores.indexOf(smallest(scores)), scores.indexOf(largest(scores))];
  return [...new Set(indices.toSorted((a, b) => a - b))].map((i) => stretch[i]!);
}

function returnRange(returns: readonly number[]): string {
  const range = [smallest(returns), largest(returns)];
  const texts = range.map(distinctFormat(range, formatNumber));
  return `${plural(returns.length, 'episode')} from ${texts.join(' to ')}`;
}
