/** What a comparison reads of each run. */
import { existsSync, realpathSync } from 'node:fs';
import { basename, isAbsolute, join, resolve } from 'node:path';
import type { Config } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { messageOf, UserError } from '../errors.js';
import { type BufferEntry, type RacingTotals, racingTotals } from '../rollout/replay-buffer.js';
import { finalConfirmation } from '../runs/events.js';
import { describeReason } from '../runs/facts.js';
import type { Manifest } from '../runs/manifest.js';
import { requireConfig } from '../runs/open-run.js';
import { readManifest, runFiles, runsBelow, statusOf } from '../runs/reader.js';
import { foldersMatching, isPattern } from '../storage/folder-patterns.js';
import { readJsonLines } from '../storage/json-lines.js';

export interface ComparedRun {
  readonly path: string;
  readonly seed: number;
  /** Of the model. */
  readonly id: string;
  readonly config: Config;
  /** SHA-256 of its prompt templates. */
  readonly prompts: string;
  readonly version: string;
  readonly created: string;
  readonly status: Manifest['status'] | 'crashed';
  /** Why it ended, in words. */
  readonly reason: string;
  /** Complete before its last iteration: at a target, or at a limit of calls, tokens, cost or time. */
  readonly stoppedEarly: boolean;
  /** Mean return of the chosen policy on seeds that chose nothing; null where nothing was confirmed. */
  readonly confirmed: number | null;
  /** Highest mean return that was seen: selected on noise. */
  readonly observed: number | null;
  readonly iterations: number;
  /** Policies that were evaluated, those of the warm-up too. */
  readonly evaluations: number;
  /** Evaluations that the config pays for: the warm-up, and every candidate of every iteration. */
  readonly budget: number;
  /**
   * Highest score after each evaluation of the budget. A candidate that was rejected spends one and changes nothing; a
   * complete run that ended early keeps what it had.
   */
  readonly curve: readonly number[];
  /** Highest score of each iteration from 1 on; null where all its candidates were rejected or cut short. */
  readonly scores: readonly (number | null)[];
  readonly warmup: number;
  readonly tokens: number;
  /** null without a price. */
  readonly cost: number | null;
  /** null where all episodes of all evaluations were played. */
  readonly racing: RacingTotals | null;
}

/**
 * Paths of the runs that arguments name: a run, a directory that holds runs at any depth (repeats, a study, a
 * collection), or a pattern; each is looked up from the working directory, then below `runsDir`. In the order given,
 * each once.
 * @throws UserError where an argument names no run
 */
export function findComparedRuns(
  names: readonly string[],
  where: { readonly cwd: string; readonly runsDir: string },
): readonly string[] {
  const root = resolve(where.cwd, where.runsDir);
  const found = names.flatMap((name) => {
    const places = isAbsolute(name) ? [where.cwd] : [where.cwd, root];
    const runs = places
      .map((from) => (isPattern(name) ? foldersMatching(name, from).toSorted() : [resolve(from, name)]))
      .map((folders) => folders.flatMap((folder) => runsBelow(folder)))
      .find((paths) => paths.length > 0);
    if (runs !== undefined) return runs;
    throw new UserError({
      field: 'runs',
      message: isPattern(name)
        ? 'no run matches this pattern'
        : places.some((from) => existsSync(resolve(from, name)))
          ? 'this directory holds no run'
          : 'there is no such run or directory of runs',
      value: name,
      remedy: 'policyloop list shows the runs there are',
    });
  });
  return [...new Map(found.map((path) => [realpathSync(path), path])).values()];
}

/** A run that can't be read. */
export interface UnreadableRun {
  readonly path: string;
  readonly message: string;
}

export function readComparedRuns(paths: readonly string[]): {
  readonly runs: readonly ComparedRun[];
  readonly unreadable: readonly UnreadableRun[];
} {
  const runs: ComparedRun[] = [];
  const unreadable: UnreadableRun[] = [];
  for (const path of paths) {
    try {
      runs.push(readComparedRun(path));
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      unreadable.push({ path, message: messageOf(error).split('\n', 1)[0]! });
    }
  }
  return { runs, unreadable };
}

/** @throws UserError where the run is damaged */
function readComparedRun(path: string): ComparedRun {
  const manifest = readManifest(path);
  const { config } = loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true });
  const status = statusOf(path, manifest);
  const done = manifest.iterations.done;
  // Evaluations alone: the logs of calls and episodes are a hundred times as large.
  const lines = readJsonLines<BufferEntry>(join(path, runFiles.evaluations), { repair: false }) ?? [];
  const entries = lines.filter(({ iteration }) => iteration <= done);
  const first = entries.filter(({ iteration }) => iteration === 0).length;
  const warmup = status === 'completed' ? first : Math.max(first, config.warmup.policies);
  const budget = warmup + config.iterations * config.candidates;
  const length = status === 'completed' ? budget : first + done * config.candidates;
  const { usage } = manifest;
  return {
    path,
    seed: manifest.seed,
    id: manifest.model,
    config,
    prompts: manifest.prompts,
    version: manifest.versions.policyloop,
    created: manifest.created,
    status,
    reason: describeReason({ status, ...(manifest.reason && { reason: manifest.reason }) }).trim(),
    stoppedEarly: status === 'completed' && manifest.reason?.kind !== 'iterations',
    confirmed: finalConfirmation(manifest.confirmations)?.mean ?? null,
    observed: manifest.best?.return ?? null,
    iterations: done,
    evaluations: entries.length,
    budget,
    curve: bestSoFar(entries, first, config.candidates, length),
    scores: Array.from({ length: done }, (_, i) => bestOf(entries, i + 1)),
    warmup: first,
    tokens: usage.promptTokens + usage.completionTokens,
    cost: usage.cost ?? null,
    racing: config.evaluation.racing ? racingTotals(entries) : null,
  };
}

/** One value an evaluation of the budget; level with the first score before it. */
function bestSoFar(
  entries: readonly BufferEntry[],
  warmup: number,
  candidates: number,
  length: number,
): readonly number[] {
  const first = entries[0];
  if (first === undefined) return [];
  const scores = new Map(
    entries.map(({ iteration, candidate, score }, i) => [
      iteration === 0 ? i : warmup + (iteration - 1) * candidates + candidate,
      score,
    ]),
  );
  let best = first.score;
  return Array.from({ length }, (_, i) => {
    best = Math.max(best, scores.get(i) ?? best);
    return best;
  });
}

function bestOf(entries: readonly BufferEntry[], iteration: number): number | null {
  const scores = entries
    .filter((entry) => entry.iteration === iteration && entry.planned === undefined)
    .map(({ score }) => score);
  return scores.length === 0 ? null : Math.max(...scores);
}

/** The model as a person calls it. */
export const shortModel = (id: string): string => id.replace(/^control\//, '');

/** Last part of a path, where a value of a config is one. */
export const shortPath = (value: string): string => (isAbsolute(value) ? basename(value) : value);
