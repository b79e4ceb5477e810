import type { ParameterVector } from '../policies/policy.js';

/** The part of a candidate that baselines use. */
export interface ScoredParameters {
  readonly parameters: ParameterVector;
  /** Mean return. */
  readonly score: number;
}

/**
 * One evaluated candidate: a line of `evaluations.jsonl`. Contains no timestamps, so the same seed and
 * replies give the same bytes.
 */
export interface BufferEntry extends ScoredParameters {
  /** 0 for the warm-up, then 1, 2, … */
  readonly iteration: number;
  /** Equal to `iteration`: the candidates of an iteration form a group. */
  readonly group: number;
  /** 0-based index within the group (for iteration 0, within the warm-up). */
  readonly candidate: number;
  readonly source: 'warm-up' | 'proposal' | 'imported';
  /** Name of the stage that proposed it, such as `critic`; undefined if none did. */
  readonly by?: string;
  /** For a revision, the candidate of the same iteration that it revises. */
  readonly revises?: number;
  /** Source of a program; `parameters` then holds the hash of its structure, followed by its constants. */
  readonly program?: string;
  /** Present if the candidate was proposed by tuning the constants of a program (`policy.tune`). */
  readonly tuned?: true;
  /** Undiscounted return of each episode. */
  readonly returns: readonly number[];
  /** Number of steps of each episode. */
  readonly lengths: readonly number[];
}

export type Candidate = Pick<BufferEntry, 'iteration' | 'candidate' | 'parameters' | 'program'>;

/** All evaluations of a run, oldest first. Append-only. */
export interface ReplayBuffer {
  readonly entries: readonly BufferEntry[];
  /** The entry with the highest score, the earliest if tied; undefined if empty. */
  readonly best: BufferEntry | undefined;
  /** The first entry with these parameters; undefined if there is none. */
  find(parameters: ParameterVector): BufferEntry | undefined;
  append(entries: readonly BufferEntry[]): void;
}

export function createReplayBuffer(initial: readonly BufferEntry[] = []): ReplayBuffer {
  const entries: BufferEntry[] = [];
  // Filled lazily by `find`, because most buffers are only displayed and never need the keys.
  const byParameters = new Map<string, BufferEntry>();
  let indexedCount = 0;
  let best: BufferEntry | undefined;
  const append = (newEntries: readonly BufferEntry[]): void => {
    for (const entry of newEntries) entries.push(entry);
    best = bestEntry(best === undefined ? newEntries : [best, ...newEntries]);
  };
  append(initial);
  return {
    entries,
    get best() {
      return best;
    },
    find(parameters) {
      for (; indexedCount < entries.length; indexedCount++) {
        const key = vectorKey(entries[indexedCount]!.parameters);
        if (!byParameters.has(key)) byParameters.set(key, entries[indexedCount]!);
      }
      return byParameters.get(vectorKey(parameters));
    },
    append,
  };
}

/** The evaluations of earlier iterations, oldest first. */
export function entriesBefore(entries: readonly BufferEntry[], iteration: number): readonly BufferEntry[] {
  const end = entries.findLastIndex((entry) => entry.iteration < iteration) + 1;
  return end === entries.length ? entries : entries.slice(0, end);
}

/** The entry with the highest score, the earliest if tied. */
export function bestEntry<T extends ScoredParameters>(entries: readonly T[]): T | undefined {
  let best: T | undefined;
  for (const entry of entries) if (best === undefined || entry.score > best.score) best = entry;
  return best;
}

/** The best `count` entries with distinct parameters, best first, then oldest first. */
export function bestEntries(entries: readonly BufferEntry[], count: number): readonly BufferEntry[] {
  const ranked = entries.toSorted((a, b) => b.score - a.score);
  const best = new Map<string, BufferEntry>();
  for (const entry of ranked) {
    if (best.size === count) break;
    const key = vectorKey(entry.parameters);
    if (!best.has(key)) best.set(key, entry);
  }
  return [...best.values()];
}

/** Equal vectors have equal keys; 0 and -0 count as equal, because both print as `0`. */
export const vectorKey = (parameters: ParameterVector): string => parameters.join(',');
