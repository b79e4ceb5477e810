import type { BufferEntry } from '../rollout/replay-buffer.js';
import type { MemoryConfig } from './settings.js';

/**
 * Share of the token budget that is used right after the window over all evaluations moved. It moves seldom and far, so
 * that the prompts between two moves share their beginning.
 */
const keptShare = 0.75;

/**
 * The evaluations that the memory holds: those of the warm-up, and of each iteration the best (the earliest on ties) of
 * the first `ofGroup` candidates that were evaluated; all where `ofGroup` is absent. Prompts, controls and fine-tuning
 * know no others; the check for repeated parameters, the target and the run's best policy look at all.
 *
 * @param entries oldest first, the candidates of an iteration in their order
 * @returns some of them, in the same order
 */
export function remembered<Entry extends Pick<BufferEntry, 'iteration' | 'score'>>(
  entries: readonly Entry[],
  { ofGroup }: Pick<MemoryConfig, 'ofGroup'>,
): readonly Entry[] {
  if (ofGroup === undefined) return entries;
  const held: Entry[] = [];
  let group = 0;
  for (const entry of entries) {
    const last = held.at(-1);
    const begins = entry.iteration === 0 || entry.iteration !== last?.iteration;
    group = begins ? 1 : group + 1;
    if (begins) held.push(entry);
    else if (group <= ofGroup && entry.score > last.score) held[held.length - 1] = entry;
  }
  return held;
}

/**
 * The evaluations that a prompt shows, in the order in which it shows them: all of them, or the union of the `best`
 * highest scores (the earlier entry on ties) and the `recent` last. Beyond the token budget the oldest go first (without
 * `best` and `recent` down to three quarters of it), those among the best after the others; one entry is always left.
 * @param entries oldest first
 * @param tokens how many tokens the prompt needs for an entry
 */
export function selectHistory(
  entries: readonly BufferEntry[],
  memory: Pick<MemoryConfig, 'best' | 'recent' | 'order' | 'tokens'>,
  tokens: (entry: BufferEntry) => number,
): readonly BufferEntry[] {
  const { best, recent } = memory;
  const chosen =
    best === undefined && recent === undefined
      ? window(entries, memory.tokens, tokens)
      : bestAndRecent(entries, best ?? 0, recent ?? 0, memory.tokens, tokens);
  switch (memory.order) {
    case 'chronological':
      return chosen;
    case 'best-last':
      return chosen.toSorted((a, b) => a.score - b.score);
    case 'best-first':
      return chosen.toSorted((a, b) => b.score - a.score);
  }
}

/** Replays how the window moved as the entries came in. */
function window(
  entries: readonly BufferEntry[],
  budget: number,
  tokens: (entry: BufferEntry) => number,
): readonly BufferEntry[] {
  let first = 0;
  let used = 0;
  for (const [last, entry] of entries.entries()) {
    used += tokens(entry);
    if (used <= budget) continue;
    while (first < last && used > keptShare * budget) used -= tokens(entries[first++]!);
  }
  return first === 0 ? entries : entries.slice(first);
}

function bestAndRecent(
  entries: readonly BufferEntry[],
  best: number,
  recent: number,
  budget: number,
  tokens: (entry: BufferEntry) => number,
): readonly BufferEntry[] {
  const highest = new Set(entries.toSorted((a, b) => b.score - a.score).slice(0, best));
  const start = entries.length - recent;
  const chosen = entries.filter((entry, i) => i >= start || highest.has(entry));
  let used = chosen.reduce((sum, entry) => sum + tokens(entry), 0);
  const dropped = new Set<BufferEntry>();
  const byWorth = [
    ...chosen.filter((entry) => !highest.has(entry)),
    ...chosen.filter((entry) => highest.has(entry)),
  ];
  for (const entry of byWorth.slice(0, -1)) {
    if (used <= budget) break;
    dropped.add(entry);
    used -= tokens(entry);
  }
  return dropped.size === 0 ? chosen : chosen.filter((entry) => !dropped.has(entry));
}
