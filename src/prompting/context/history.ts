/** One episode as a few lines of text: sampled steps, or statistics. */

import { short } from '../../environments/catalogue/facts.js';
import type { ParameterSpec } from '../../policies/policy.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { formatParameters, formatValue } from '../answer/format.js';
import type { MemoryConfig } from '../settings.js';
import { estimateTokens } from '../token-estimate.js';

/** An evaluation that a template lays out itself. */
interface RankedEvaluation {
  /** Its score between the worst and the best shown, as a whole number from 0 to 99; 50 where all are equal. */
  readonly percent: number;
  readonly score: string;
  /** `params[0]: 1.2, params[1]: -0.5` */
  readonly parameters: string;
}

/** The evaluations that are shown, in two parts. */
export interface RankedHistory {
  /** The `memory.best` highest (all, where the memory does not say), the best last; the earlier one is the better on ties. */
  readonly best: readonly RankedEvaluation[];
  /** The others, oldest first. */
  readonly others: readonly RankedEvaluation[];
}

/** @param shown in any order */
export function rankHistory(
  shown: readonly BufferEntry[],
  spec: ParameterSpec,
  { best, recent }: Pick<MemoryConfig, 'best' | 'recent'>,
): RankedHistory {
  const byTime = shown.toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate);
  const ascending = byTime.toReversed().sort((a, b) => a.score - b.score);
  const low = ascending[0]?.score ?? 0;
  const span = (ascending.at(-1)?.score ?? 0) - low;
  const ranked = (entry: BufferEntry): RankedEvaluation => ({
    percent: span > 0 ? Math.round((99 * (entry.score - low)) / span) : 50,
    score: formatValue(entry.score, 2),
    parameters: formatParameters(entry.parameters, spec),
  });
  const count = best ?? (recent === undefined ? shown.length : 0);
  const highest = ascending.slice(Math.max(0, ascending.length - count));
  const among = new Set(highest);
  return {
    best: highest.map(ranked),
    others: byTime.filter((entry) => !among.has(entry)).map(ranked),
  };
}

/** The evaluations that a prompt shows, as text. */
export interface HistoryPart {
  /** One line for each evaluation, with its trajectory indented below it where the memory shows one. */
  readonly text: string;
  /** How many evaluations the text holds. */
  readonly shown: number;
  /** How many it was chosen from. */
  readonly total: number;
  /** The same evaluations, ranked, for templates that lay them out themselves. */
  readonly ranked: RankedHistory;
}

/** Formats every evaluation once. */
export interface History {
  /** Estimated tokens of an evaluation in a prompt: what `selectHistory` budgets. */
  readonly tokens: (entry: BufferEntry) => number;
  /** The text of these evaluations, chosen from `total`. */
  readonly part: (shown: readonly BufferEntry[], total: number) => HistoryPart;
}

/** `params[0]: 1.2; params[1]: -0.5; f(params): 123.45`, and of how many episodes that is where it was cut short */
export function historyLine(
  entry: Pick<BufferEntry, 'parameters' | 'score' | 'returns' | 'planned'>,
  spec: ParameterSpec,
): string {
  const { parameters, planned, returns, score } = entry;
  const cut = planned === undefined ? '' : ` (stopped after ${returns.length} of ${planned} episodes)`;
  return `${formatParameters(parameters, spec, '; ')}; f(params): ${formatValue(score, 2)}${cut}`;
}

/** @param trajectory the first recorded episode of an evaluation, where there is one */
export function createHistory(options: {
  readonly spec: ParameterSpec;
  readonly memory: MemoryConfig;
  readonly trajectory?: (entry: BufferEntry) => EpisodeRecord | undefined;
}): History {
  const { spec, memory, trajectory } = options;
  const formatted = new WeakMap<BufferEntry, { readonly text: string; readonly tokens: number }>();
  const format = (entry: BufferEntry) => {
    const known = formatted.get(entry);
    if (known !== undefined) return known;
    const lines = [historyLine(entry, spec), ...trajectoryLines(trajectory?.(entry), memory)];
    const text = lines.join('\n  ');
    const made = { text, tokens: estimateTokens(text) + 1 };
    formatted.set(entry, made);
    return made;
  };
  return {
    tokens: (entry) => format(entry).tokens,
    part: (shown, total) => ({
      text: shown.map((entry) => format(entry).text).join('\n'),
      shown: shown.length,
      total,
      ranked: rankHistory(shown, spec, memory),
    }),
  };
}

function trajectoryLines(episode: EpisodeRecord | undefined, memory: MemoryConfig): readonly string[] {
  if (episode === undefined) return [];
  switch (memory.trajectories) {
    case 'none':
      return [];
    case 'rows':
      return trajectoryRows(episode, memory.rows);
    case 'summary':
      return trajectorySummary(episode);
  }
}

type Episode = Pick<EpisodeRecord, 'observations' | 'actions' | 'rewards' | 'terminated' | 'truncated'>;
type Value = number | readonly number[];

/**
 * `count` steps at even distances, the first and the last among them, one a line:
 * `step | observation | action | reward`; then how the episode ended.
 */
export function trajectoryRows(episode: Episode, count: number): readonly string[] {
  const rows = evenSteps(episode.actions.length, count).map((t) => {
    const { observations, actions, rewards } = episode;
    return `${t} | ${show(observations[t]!)} | ${show(actions[t]!)} | ${short(rewards[t]!)}`;
  });
  return [...rows, `end | ${show(episode.observations.at(-1)!)} | ${outcome(episode)}`];
}

/** Indices of `count` of `length` steps at even distances, from the first to the last. */
function evenSteps(length: number, count: number): readonly number[] {
  const shown = Math.min(length, count);
  if (shown <= 1) return shown === 1 ? [0] : [];
  return Array.from({ length: shown }, (_, i) => Math.round((i * (length - 1)) / (shown - 1)));
}

/** Length, return and end; first and last observation; ranges and means of observations, rewards and actions. */
export function trajectorySummary(episode: Episode): readonly string[] {
  const { observations, actions } = episode;
  return [
    outcome(episode),
    `first observation: ${show(observations[0]!)}; last: ${show(observations.at(-1)!)}`,
    ...describe('observation', observations, 'visits'),
    ...describe('action', actions, 'times taken'),
  ];
}

function outcome({ actions, rewards, terminated }: Episode): string {
  const total = rewards.reduce((sum, reward) => sum + reward, 0);
  const steps = `${actions.length} ${actions.length === 1 ? 'step' : 'steps'}`;
  return `${terminated ? 'terminated' : 'cut off'} after ${steps}, return ${total.toFixed(2)}`;
}

/** How many of the values that occur are counted. */
const countedValues = 12;

/** Integers are counted; of vectors each component's minimum, mean and maximum are told. */
function describe(name: string, values: readonly Value[], counted: string): readonly string[] {
  const first = values[0];
  if (first === undefined) return [];
  if (typeof first === 'number') {
    const counts = new Map<number, number>();
    for (const value of values as readonly number[]) counts.set(value, (counts.get(value) ?? 0) + 1);
    const most = [...counts].sort(([a, m], [b, n]) => n - m || a - b);
    const listed = most.slice(0, countedValues).map(([value, n]) => `${short(value)}: ${n}`);
    const rest = most.length - listed.length;
    return [`${name} (${counted}): ${listed.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`];
  }
  return first.map((_, i) => {
    const components = (values as readonly (readonly number[])[]).map((value) => value[i]!);
    let [low, high, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0];
    for (const component of components) {
      low = Math.min(low, component);
      high = Math.max(high, component);
      sum += component;
    }
    return `${name}[${i}]: min ${short(low)}, mean ${short(sum / components.length)}, max ${short(high)}`;
  });
}

function show(value: Value): string {
  return typeof value === 'number' ? short(value) : `[${value.map(short).join(', ')}]`;
}
