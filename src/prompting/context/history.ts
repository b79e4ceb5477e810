/** The evaluations of a prompt: as text, ranked, and the best of them. */
import type { ParameterSpec } from '../../policies/policy.js';
import type { EpisodeRecord } from '../../rollout/episode.js';
import { type BufferEntry, bestEntry } from '../../rollout/replay-buffer.js';
import { formatParameters, formatValue } from '../answer/format.js';
import type { MemoryConfig } from '../settings.js';
import { estimateTokens } from '../token-estimate.js';
import type { ProgressContext } from './prompt-context.js';
import { trajectoryLines } from './trajectory.js';

/** Formats every evaluation once. */
export interface History {
  /** Estimated tokens of an evaluation in a prompt: what `selectHistory` budgets. */
  tokens(entry: BufferEntry): number;
  /** What changes from prompt to prompt. */
  context(progress: {
    readonly iteration: number;
    readonly iterations: number;
    /** All that the memory holds, oldest first. */
    readonly held: readonly BufferEntry[];
    /** Those of them that the prompt shows, in its order. */
    readonly shown: readonly BufferEntry[];
    /** Whether earlier prompts stand before this one, and it shows only what they lack. */
    readonly continued?: boolean;
  }): ProgressContext;
}

export function createHistory({
  spec,
  memory,
  trajectory,
}: {
  readonly spec: ParameterSpec;
  readonly memory: MemoryConfig;
  /** The first recorded episode of an evaluation, where there is one. */
  readonly trajectory?: (entry: BufferEntry) => EpisodeRecord | undefined;
}): History {
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
    context({ iteration, iterations, held, shown, continued = false }) {
      const total = continued ? shown.length : held.length;
      const text = shown.map((entry) => format(entry).text).join('\n');
      const partial = shown.length < total;
      return {
        iteration,
        remaining: Math.max(0, iterations - iteration),
        continued,
        history: { text, shown: shown.length, total, partial, ...rankHistory(shown, spec, memory) },
        best: bestContext(held, spec),
      };
    },
  };
}

/** `params[0]: 1.2; params[1]: -0.5; f(params): 123.45`, with the number of episodes where it was cut short */
export function historyLine(
  entry: Pick<BufferEntry, 'parameters' | 'score' | 'returns' | 'planned'>,
  spec: ParameterSpec,
): string {
  const { parameters, planned, returns, score } = entry;
  const cut = planned === undefined ? '' : ` (stopped after ${returns.length} of ${planned} episodes)`;
  return `${formatParameters(parameters, spec, '; ')}; f(params): ${formatValue(score, 2)}${cut}`;
}

function bestContext(held: readonly BufferEntry[], spec: ParameterSpec): ProgressContext['best'] {
  const best = bestEntry(held);
  if (best === undefined) return null;
  const { iteration, score } = best;
  return {
    line: historyLine(best, spec),
    score: formatValue(score, 2),
    iteration,
    warmup: iteration === 0,
    since: held.length - 1 - held.lastIndexOf(best),
  };
}

/**
 * The evaluations in two parts, for templates that lay them out themselves: the `memory.best` highest (all, where the
 * memory does not say), the best last and the earlier one the better on ties; and the others, oldest first.
 * @param shown in any order
 */
export function rankHistory(
  shown: readonly BufferEntry[],
  spec: ParameterSpec,
  { best, recent }: Pick<MemoryConfig, 'best' | 'recent'>,
): Pick<ProgressContext['history'], 'best' | 'others'> {
  const byTime = shown.toSorted((a, b) => a.iteration - b.iteration || a.candidate - b.candidate);
  const ascending = byTime.toReversed().sort((a, b) => a.score - b.score);
  const low = ascending[0]?.score ?? 0;
  const span = (ascending.at(-1)?.score ?? 0) - low;
  const ranked = (entry: BufferEntry) => ({
    percent: span > 0 ? Math.round((99 * (entry.score - low)) / span) : 50,
    score: formatValue(entry.score, 2),
    parameters: formatParameters(entry.parameters, spec),
  });
  const count = best ?? (recent === undefined ? shown.length : 0);
  const highest = new Set(ascending.slice(Math.max(0, ascending.length - count)));
  const others = byTime.filter((entry) => !highest.has(entry));
  return { best: [...highest].map(ranked), others: others.map(ranked) };
}
