/** Parallel coordinates as data: a vertical axis for each key and one for the result; a line for each run. */
import { type Content, Part } from '../base/text/content.js';
import { distinctFormat, formatNumber } from '../base/text/numbers.js';
import { largest, smallest } from '../statistics/descriptive.js';
import { logTicks, tickStep, ticksWithin } from './ticks.js';

interface ParallelAxis {
  readonly title: string;
  /** Labels and their positions, from 0 (bottom) to 1 (top). */
  readonly ticks: readonly (readonly [at: number, label: string])[];
}

export interface ParallelLine {
  /** Lines of the same group are highlighted together. */
  readonly group: number;
  /** A position from 0 to 1 on each axis; the last one is the result and decides the colour. */
  readonly at: readonly number[];
  /** Text below the plot while this line is highlighted. */
  readonly note: string;
  /** Address of the run, and the text of the link to it. */
  readonly href: string;
  readonly link: string;
}

export interface ParallelData {
  /** Describes the plot, for screen readers. */
  readonly label: string;
  readonly axes: readonly ParallelAxis[];
  /** In ascending order of the result. */
  readonly lines: readonly ParallelLine[];
}

/** A key: values from a list are equally spaced; others lie on a linear or a logarithmic axis. */
export interface ParallelKey {
  readonly key: string;
  readonly kind: 'list' | 'uniform' | 'loguniform';
}

export interface ParallelRun extends Omit<ParallelLine, 'at'> {
  /** The value of each key, as text. */
  readonly values: Readonly<Record<string, string>>;
  readonly result: number;
}

/** @param result title of the last axis */
export function parallelData(
  keys: readonly ParallelKey[],
  runs: readonly ParallelRun[],
  result: string,
): ParallelData {
  const [low, high] = roundRange(
    runs.map((run) => run.result),
    5,
  );
  const ticks = ticksWithin(low, high, 5);
  const scale = (value: number) => (value - low) / (high - low);
  const formatResult = distinctFormat(ticks, formatNumber);
  const sortedRuns = runs.toSorted((a, b) => a.result - b.result);
  const keyAxes = keys.map((key) =>
    keyAxis(
      key,
      sortedRuns.map(({ values }) => values[key.key] ?? ''),
    ),
  );
  return {
    label: `${runs.length} runs by ${keys.map(({ key }) => key).join(', ')} and ${result} return; the table of runs has the same values.`,
    axes: [
      ...keyAxes.map(({ ticks: own }, i) => ({ title: keys[i]!.key, ticks: own })),
      { title: result, ticks: ticks.map((tick) => [scale(tick), formatResult(tick)] as const) },
    ],
    lines: sortedRuns.map(({ group, href, link, note, result, values }) => ({
      group,
      href,
      link,
      note,
      at: [...keyAxes.map(({ at }, i) => at(values[keys[i]!.key] ?? '', scale(result))), scale(result)].map(
        (place) => Math.round(1e4 * place) / 1e4,
      ),
    })),
  };
}

/** Returns a range with round ends that contains the values. */
function roundRange(values: readonly number[], count: number): readonly [low: number, high: number] {
  const finite = values.filter(Number.isFinite);
  const [min, max] = finite.length === 0 ? [0, 1] : [smallest(finite), largest(finite)];
  const padding = max > min ? 0 : Math.abs(min) * 0.05 || 0.5;
  const step = tickStep((max - min + 2 * padding) / count);
  return [Math.floor((min - padding) / step + 1e-9) * step, Math.ceil((max + padding) / step - 1e-9) * step];
}

/** Maximum distance between lines with the same value of a list, as a share of the axis. */
const maxSpread = 0.12;

function keyAxis({ kind }: ParallelKey, values: readonly string[]) {
  const numbers = values.map(Number);
  if (kind === 'list' || !numbers.every(Number.isFinite)) {
    const items = sortIfNumeric([...new Set(values)]);
    const shareOf = (index: number) => (items.length === 1 ? 0.5 : index / (items.length - 1));
    const room = Math.min(maxSpread, 0.5 / items.length);
    return {
      ticks: items.map((item, i) => [inset(shareOf(i), room), item === 'null' ? '(none)' : item] as const),
      // Lines with the same value are spread by their results to make them distinguishable.
      at: (value: string, share: number) => inset(shareOf(items.indexOf(value)), room) + (share - 0.5) * room,
    };
  }
  const isLog = kind === 'loguniform' && numbers.every((value) => value > 0);
  const ends = isLog ? [smallest(numbers), largest(numbers)] : roundRange(numbers, 5);
  const transform = isLog ? Math.log : (value: number) => value;
  const [low, high] = ends.map(transform) as [number, number];
  const at = (value: number) => (high > low ? (transform(value) - low) / (high - low) : 0.5);
  const ticks = isLog ? logTicks(ends[0]!, ends[1]!) : ticksWithin(ends[0]!, ends[1]!, 5);
  const format = distinctFormat(ticks, formatNumber);
  return {
    ticks: ticks.map((tick) => [at(tick), format(tick)] as const),
    at: (value: string) => at(Number(value)),
  };
}

/** Leaves room at both ends for the spread of lines with the same value. */
const inset = (position: number, room: number) => room / 2 + position * (1 - room);

/** Sorts the items if all are numbers; otherwise keeps their order. */
function sortIfNumeric(items: readonly string[]): readonly string[] {
  return items.every((item) => item !== '' && Number.isFinite(Number(item)))
    ? items.toSorted((a, b) => Number(a) - Number(b))
    : items;
}

export const parallelFigure = (parallel: ParallelData): Content => new Part('parallel-plot', { parallel });
