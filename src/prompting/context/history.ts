/** Renders the replay buffer for a prompt: selects, orders and formats evaluations. */
import type { EpisodeRecord } from '../../rollout/episode.js';
import { type BufferEntry, bestEntry } from '../../rollout/replay-buffer.js';
import type { Encoding } from '../notation/encoding.js';
import type { AnswerForm } from '../notation/grammar.js';
import type { MemoryConfig, MemorySettings } from '../settings.js';
import { estimateTokens } from '../token-estimate.js';
import type { ProgressContext } from './prompt-context.js';
import { type ScoreFormat, ScoreFormatter, scoreText as textOfScore } from './scores.js';
import { trajectoryLines } from './trajectory.js';

/** Share of the token budget kept when the window moves. It moves rarely, so prompts share their beginning. */
const keptShare = 0.75;

/** The fields of an evaluation that determine whether it is remembered. */
type MemoryEntry = Pick<BufferEntry, 'iteration' | 'score'> &
  Partial<Pick<BufferEntry, 'candidate' | 'revises'>>;

/**
 * Returns the evaluations in memory: all except the worse of a proposal and its revision (the revision if tied).
 * Prompts and baselines use only these; repeats, the target and the best policy depend on all.
 * `entries`: oldest first, candidates in order.
 */
export function rememberedEntries<Entry extends MemoryEntry>(entries: readonly Entry[]): readonly Entry[] {
  const dropped = new Set<Entry>();
  for (const [i, entry] of entries.entries()) {
    if (entry.revises === undefined) continue;
    for (let j = i - 1; entries[j]?.iteration === entry.iteration; j--) {
      const revised = entries[j]!;
      if (revised.candidate === entry.revises) dropped.add(entry.score > revised.score ? revised : entry);
    }
  }
  return dropped.size === 0 ? entries : entries.filter((entry) => !dropped.has(entry));
}

/** Keeps the best of the programs that differ only in their constants (the earliest if tied). */
export function withoutVariants(entries: readonly BufferEntry[]): readonly BufferEntry[] {
  const best = new Map<number | undefined, BufferEntry>();
  for (const entry of entries) {
    const [structure] = entry.parameters;
    if (entry.score > (best.get(structure)?.score ?? Number.NEGATIVE_INFINITY)) best.set(structure, entry);
  }
  return entries.filter((entry) => best.get(entry.parameters[0]) === entry);
}

/** Returns the maximum number of evaluations selected for a prompt; the token budget may allow fewer. */
export const selectedCount = ({ best, recent }: Pick<MemoryConfig, 'best' | 'recent'>): number =>
  best === undefined && recent === undefined ? Number.POSITIVE_INFINITY : (best ?? 0) + (recent ?? 0);

/**
 * Selects the evaluations shown in a prompt: all, or the `best` highest scores (the earlier wins ties) and the
 * `recent` last ones. If they exceed the token budget, the oldest are dropped, but those among the `best` only after
 * all others. If neither number is set, dropping continues to three quarters of the budget. At least one selected
 * evaluation remains. `entries`: oldest first.
 */
export function selectHistory(
  entries: readonly BufferEntry[],
  memory: Pick<MemoryConfig, 'best' | 'recent' | 'tokens'>,
  tokensOf: (entry: BufferEntry) => number,
): readonly BufferEntry[] {
  const { best, recent, tokens: budget } = memory;
  return best === undefined && recent === undefined
    ? slideWindow(entries, budget, tokensOf)
    : selectBestAndRecent(entries, best ?? 0, recent ?? 0, budget, tokensOf);
}

/** Replays how the window moved as entries were added, so the result is the same after resuming. */
function slideWindow(
  entries: readonly BufferEntry[],
  budget: number,
  tokensOf: (entry: BufferEntry) => number,
): readonly BufferEntry[] {
  let first = 0;
  let usedTokens = 0;
  for (const [last, entry] of entries.entries()) {
    usedTokens += tokensOf(entry);
    if (usedTokens <= budget) continue;
    while (first < last && usedTokens > keptShare * budget) usedTokens -= tokensOf(entries[first++]!);
  }
  return first === 0 ? entries : entries.slice(first);
}

function selectBestAndRecent(
  entries: readonly BufferEntry[],
  best: number,
  recent: number,
  budget: number,
  tokensOf: (entry: BufferEntry) => number,
): readonly BufferEntry[] {
  const highest = new Set(entries.toSorted((a, b) => b.score - a.score).slice(0, best));
  const start = entries.length - recent;
  const chosen = entries.filter((entry, i) => i >= start || highest.has(entry));
  let usedTokens = chosen.reduce((sum, entry) => sum + tokensOf(entry), 0);
  const dropped = new Set<BufferEntry>();
  const dropOrder = [
    ...chosen.filter((entry) => !highest.has(entry)),
    ...chosen.filter((entry) => highest.has(entry)),
  ];
  for (const entry of dropOrder.slice(0, -1)) {
    if (usedTokens <= budget) break;
    dropped.add(entry);
    usedTokens -= tokensOf(entry);
  }
  return dropped.size === 0 ? chosen : chosen.filter((entry) => !dropped.has(entry));
}

interface HistoryTurn {
  readonly answer: string;
  readonly result: string;
}

/** The history of a run; caches the formatted evaluations. */
export interface History {
  /** Registers all evaluations in memory, oldest first; the format of a score depends on earlier scores. */
  register(remembered: readonly BufferEntry[]): void;
  readonly scoreText: ScoreFormat;
  /** The evaluations as turns of a conversation, in the same order. */
  turns(shown: readonly BufferEntry[], form: AnswerForm): readonly HistoryTurn[];
  /** Estimated number of prompt tokens for an evaluation, as passed to `selectHistory`. */
  tokensOf(entry: BufferEntry): number;
  /** Returns the variables that change from prompt to prompt. */
  context(progress: {
    readonly iteration: number;
    readonly iterations: number;
    readonly remembered: readonly BufferEntry[];
    /** The evaluations shown in the prompt. */
    readonly shown: readonly BufferEntry[];
    /** The program to change. */
    readonly parent?: BufferEntry | undefined;
  }): ProgressContext;
}

export function createHistory({
  encoding,
  memory,
  trajectory,
}: {
  readonly encoding: Encoding;
  readonly memory: MemorySettings;
  /** The first episode of an evaluation, if it was recorded. */
  readonly trajectory?: (entry: BufferEntry) => EpisodeRecord | undefined;
}): History {
  const scores = new ScoreFormatter();
  const withTrajectory = (line: string, entry: BufferEntry) =>
    [line, ...trajectoryLines(trajectory?.(entry), memory, scores.textOf)].join('\n  ');
  const format = (entry: BufferEntry) => withTrajectory(historyLine(entry, encoding, scores.textOf), entry);
  // Prompts of a long run show only a few of its evaluations, so cache only the texts of those shown.
  let shownTexts = new WeakMap<BufferEntry, string>();
  let tokenCounts = new WeakMap<BufferEntry, number>();
  const register = (remembered: readonly BufferEntry[]) => {
    if (!scores.register(remembered)) return;
    shownTexts = new WeakMap();
    tokenCounts = new WeakMap();
  };
  const textOf = (entry: BufferEntry) => {
    const text = shownTexts.get(entry) ?? format(entry);
    shownTexts.set(entry, text);
    return text;
  };
  const tokensOf = (entry: BufferEntry) => {
    const count = tokenCounts.get(entry) ?? estimateTokens(shownTexts.get(entry) ?? format(entry)) + 1;
    tokenCounts.set(entry, count);
    return count;
  };
  return {
    register,
    scoreText: scores.textOf,
    tokensOf,
    turns: (shown, form) =>
      shown.map((entry) => ({
        answer: encoding.answer(entry.parameters, form),
        result: withTrajectory(encoding.result(scores.textOf(entry.score)), entry),
      })),
    context({ iteration, iterations, remembered, shown, parent }) {
      register(remembered);
      const total = remembered.length;
      const text = shown.map(textOf).join('\n');
      const isPartial = shown.length < total;
      return {
        iteration,
        remaining: Math.max(0, iterations - iteration),
        continued: false,
        history: {
          text,
          shown: shown.length,
          total,
          partial: isPartial,
          ...rankHistory(shown, encoding, memory, scores.textOf),
        },
        best: bestContext(remembered, encoding, scores.textOf),
        parent: parent === undefined ? null : { line: historyLine(parent, encoding, scores.textOf) },
      };
    },
  };
}

/** Writes a line such as `params[0]: 1.2; params[1]: -0.5; f(params): 123.45`. */
export function historyLine(
  entry: Pick<BufferEntry, 'parameters' | 'score'>,
  encoding: Encoding,
  scoreText: ScoreFormat = textOfScore,
): string {
  return encoding.line(entry.parameters, scoreText(entry.score));
}

function bestContext(
  remembered: readonly BufferEntry[],
  encoding: Encoding,
  scoreText: ScoreFormat,
): ProgressContext['best'] {
  const best = bestEntry(remembered);
  if (best === undefined) return null;
  const { iteration, score } = best;
  return {
    line: historyLine(best, encoding, scoreText),
    score: scoreText(score),
    iteration,
    warmup: iteration === 0,
    since: remembered.length - 1 - remembered.lastIndexOf(best),
  };
}

/**
 * Splits the evaluations shown, oldest first, into the `memory.best` highest (best last) and the others (oldest first).
 * Without `best` and `recent`, the first part has all of them.
 */
export function rankHistory(
  shown: readonly BufferEntry[],
  encoding: Encoding,
  { best, recent }: Pick<MemoryConfig, 'best' | 'recent'>,
  scoreText: ScoreFormat = textOfScore,
): Pick<ProgressContext['history'], 'best' | 'others'> {
  const ascending = shown.toReversed().sort((a, b) => a.score - b.score);
  const low = ascending[0]?.score ?? 0;
  const span = (ascending.at(-1)?.score ?? 0) - low;
  const toRanked = (entry: BufferEntry) => ({
    percent: span > 0 ? Math.round((99 * (entry.score - low)) / span) : 50,
    score: scoreText(entry.score),
    parameters: encoding.text(entry.parameters),
  });
  const count = best ?? (recent === undefined ? shown.length : 0);
  const highest = new Set(ascending.slice(Math.max(0, ascending.length - count)));
  const others = shown.filter((entry) => !highest.has(entry));
  return { best: [...highest].map(toRanked), others: others.map(toRanked) };
}
