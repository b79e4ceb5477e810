import type { MemoryConfig } from '../config.js';
import type { ParameterSpec } from '../policies/policy.js';
import type { BufferEntry } from '../replay-buffer.js';
import { formatParameters, formatValue } from './parameter-format.js';

/** An evaluation that a template lays out itself. */
export interface RankedEvaluation {
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
