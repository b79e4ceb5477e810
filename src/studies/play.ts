/** Executes the remaining runs of a plan, several at once. */

import { join } from 'node:path';
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import { languageModelOf } from '../config/model.js';
import { plural } from '../format/numbers.js';
import { sharesProcess } from '../models/local/settings.js';
import { type LimitName, limitField } from '../runs/calls.js';
import type { RunEvent } from '../runs/events.js';
import { runFiles } from '../runs/reader.js';
import { watchStopRequests } from '../runs/stop-request.js';
import { removeForeignLock } from '../storage/lock.js';
import { createPlanDisplay, type PlanDisplay } from './display.js';
import { type Part, type PlanEnd, writePartEnd } from './part.js';
import {
  isComplete,
  openPart,
  openPlan,
  type Plan,
  type PlanEntry,
  type PlanPlace,
  type PlayArguments,
} from './plan.js';
import { isIn, type Job, limitsOf, playRun, type SharedLimits } from './play-run.js';
import { PlayerThread } from './thread.js';

interface PlanFailure<Entry extends PlanEntry = PlanEntry> {
  readonly entry: Entry;
  readonly message: string;
}

/** `elsewhere`: other processes execute the remaining runs. */
export type PlayedStatus = 'completed' | 'interrupted' | 'failed' | 'elsewhere';

/** The outcome of a command that ran a plan. */
export interface Played<Entry extends PlanEntry = PlanEntry> {
  /** Also `completed` if the remaining runs were skipped because of a plan-wide limit. */
  readonly status: PlayedStatus;
  /** Number of runs that are now complete. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  /** Number of evaluations that this command made. */
  readonly evaluations: number;
  readonly seconds: number;
  /** Maximum number of concurrent runs, as last set. */
  readonly jobs: number;
  readonly failures: readonly PlanFailure<Entry>[];
  /** The plan-wide limit that was reached. */
  readonly limit?: LimitName;
}

/** Formats one line per failure, for the result that a command prints. */
export const failureLines = ({ failures }: Pick<Played, 'failures'>): readonly string[] =>
  failures.map(({ entry, message }) => `failed      ${entry.path}: ${message}`);

/**
 * True if a run must stay in the main thread, because its local model batches the calls of several runs.
 */
function staysHere({ config: { model } }: PlanEntry): boolean {
  const reader = languageModelOf(model);
  return reader?.provider === 'local' && sharesProcess(reader);
}

/**
 * Executes the remaining runs of a plan, concurrent ones in separate threads. Runs that share a local model or limits
 * stay in the main thread, which has the model and the budget. After the first stop
 * request, each run finishes its iteration; after the second, it stops immediately.
 * @param write writes the results so far, given the failures; called at the end and, in studies, also before; not
 * called for a part
 * @throws UserError if the directory can't be used
 * @throws system errors; any other error of a run counts as its failure
 */
export async function playPlan<Entry extends PlanEntry, Result>(
  plan: Plan<Entry>,
  given: PlanPlace,
  args: PlayArguments,
  context: CommandContext,
  write: (failures: readonly PlanFailure<Entry>[]) => Result,
): Promise<Played<Entry> & { readonly result?: Awaited<Result> }> {
  const { elsewhere, part } = args;
  const place = withCount(plan, given);
  if (part !== undefined) return playPart(plan, place, part, args, context);
  let outcome: PlanEnd = { failures: [] };
  if (elsewhere !== undefined) {
    // Create the directory but unlock it at once, because the processes that run its parts may start immediately.
    openPlan(plan.kind, place)();
    const end = await elsewhere(plan, place.directory);
    if (end === undefined) {
      await write([]);
      return { ...playedElsewhere(plan, place, args), status: 'elsewhere' };
    }
    outcome = end;
  }
  const release = openPlan(plan.kind, place);
  try {
    const played = isUnfinished(outcome)
      ? playedElsewhere(plan, place, args, outcome)
      : await new Player(plan, place.directory, args, context, write).play();
    return { ...played, result: await write(played.failures) };
  } finally {
    release();
  }
}

/** Adds the number of runs to the plan's record; records of repeats already contain it. */
function withCount({ before = [], entries, kind }: Plan, place: PlanPlace): PlanPlace {
  if (kind === 'repeats') return place;
  const runs = before.length + entries.length;
  return { ...place, record: (written) => ({ ...place.record(written), runs }) };
}

const isUnfinished = ({ failures, limit }: PlanEnd) => failures.length > 0 || limit !== undefined;

/** The state of a plan that other processes execute, including the failures and the limit that they reported. */
function playedElsewhere<Entry extends PlanEntry>(
  { entries }: Plan<Entry>,
  { directory }: PlanPlace,
  { jobs = 1 }: PlayArguments,
  { failures, limit }: PlanEnd = { failures: [] },
): Played<Entry> {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  return {
    status: failures.length > 0 ? 'failed' : 'completed',
    complete: entries.filter(({ path }) => isComplete(join(directory, path))).length,
    ...{ played: 0, evaluations: 0, seconds: 0, jobs },
    failures: failures.map(({ run, message }) => ({ entry: byPath.get(run)!, message })),
    ...(limit && { limit }),
  };
}

/** Executes one part while other processes execute the rest; the command without `--part` combines the results. */
async function playPart<Entry extends PlanEntry>(
  plan: Plan<Entry>,
  place: PlanPlace,
  part: Part,
  args: PlayArguments,
  context: CommandContext,
): Promise<Played<Entry>> {
  openPart(plan.kind, place);
  const entries = plan.entries.filter(isIn(part));
  // Only one process at a time runs a part, so locks from other machines are stale.
  for (const { path } of entries) removeForeignLock(join(place.directory, path, runFiles.lock));
  const own = { ...plan, entries };
  const played = await new Player(own, place.directory, args, context, () => undefined).play();
  if (played.status !== 'interrupted') {
    const failures = played.failures.map(({ entry, message }) => ({ run: entry.path, message }));
    const { limit } = played;
    writePartEnd(place.directory, part, { failures, limit }, new Set(entries.map(({ path }) => path)));
  }
  return played;
}

/** Limits on writing results before a repeat has ended: minimum milliseconds between writes, maximum share of time. */
const leastBetweenWrites = 1000;
const writeShare = 0.05;

class Player<Entry extends PlanEntry> {
  readonly #plan: Plan<Entry>;
  readonly #directory: string;
  readonly #jobs: number;
  /** Number of concurrent runs. */
  readonly #atOnce: number;
  readonly #requests: ReturnType<typeof watchStopRequests>;
  readonly #display: PlanDisplay<Entry>;
  readonly #context: CommandContext;
  readonly #write: (failures: readonly PlanFailure<Entry>[]) => unknown;
  readonly #shared: SharedLimits | undefined;
  /** Number of processes that execute parts of the plan. */
  readonly #parts: number;
  readonly #upcoming: Iterator<Entry> & Iterable<Entry>;
  /** Number of unfinished runs of each repeat. */
  readonly #open = new Map<number, number>();
  /** Stops all runs after an unexpected error. */
  readonly #broken = new AbortController();
  readonly #failures: PlanFailure<Entry>[] = [];
  #limit: LimitName | undefined;
  #complete = 0;
  #played = 0;
  #evaluations = 0;
  /** True if a run has ended since results were last written. */
  #unwritten = false;
  /** When unfinished results may be written again, in milliseconds of the context's clock. */
  #nextWrite = 0;

  constructor(
    plan: Plan<Entry>,
    directory: string,
    args: PlayArguments,
    context: CommandContext,
    write: (failures: readonly PlanFailure<Entry>[]) => unknown,
  ) {
    this.#plan = plan;
    this.#directory = directory;
    this.#write = write;
    this.#shared = limitsOf(plan, directory, args.part);
    this.#parts = args.part?.of ?? 1;
    this.#upcoming = plan.entries.values();
    for (const { repeat } of plan.entries) {
      if (repeat !== undefined) this.#open.set(repeat, (this.#open.get(repeat) ?? 0) + 1);
    }
    this.#jobs = args.jobs ?? 1;
    const { json, quiet } = args;
    this.#atOnce = Math.max(1, Math.min(this.#jobs, plan.entries.length));
    this.#display = createPlanDisplay({ plan, directory, context, json, quiet, jobs: this.#atOnce });
    this.#requests = watchStopRequests(directory, context.stop, args.part !== undefined);
    this.#context = this.#contextOfRuns(context);
    if (!json && !quiet && plan.kind !== 'repeats') {
      const complete = plan.entries.filter(({ path }) => isComplete(join(directory, path)));
      const before = complete.length > 0 ? `; ${complete.length} already complete` : '';
      const beside = this.#atOnce > 1 ? `; ${this.#atOnce} at once` : '';
      const shape = plan.shape === undefined ? '' : ` (${plan.shape})`;
      const place = shownPath(directory, context.cwd);
      context.note(`${plural(plan.entries.length, 'run')}${shape} in ${place}${before}${beside}`);
    }
  }

  /** Adds the plan's stop requests, and shows a note that several runs repeat only once. */
  #contextOfRuns(context: CommandContext): CommandContext {
    const said = new Set<string>();
    const { finish, abort } = this.#requests.stop;
    const broken = this.#broken.signal;
    return {
      ...context,
      note: (text) => {
        if (!said.has(text)) this.#display.note(text);
        said.add(text);
      },
      stop: {
        finish: AbortSignal.any([finish, broken]),
        abort: AbortSignal.any([abort, broken]),
      },
    };
  }

  async play(): Promise<Played<Entry>> {
    const started = this.#context.milliseconds();
    try {
      if (this.#open.size > 0) this.#writeSoFar();
      // Each worker executes one run after another.
      const workers = Array.from({ length: this.#atOnce }, () => this.#playNext());
      const ended = await Promise.allSettled(workers);
      for (const end of ended) if (end.status === 'rejected') throw end.reason;
      const left = [...this.#upcoming].length;
      if (this.#limit !== undefined && left > 0) {
        this.#display.note(`${limitField(this.#limit)} is reached: ${plural(left, 'run')} skipped`);
      }
    } finally {
      this.#requests.close();
      this.#display.close();
    }
    const isOver = this.#complete === this.#plan.entries.length || this.#limit !== undefined;
    return {
      status: this.#failures.length > 0 ? 'failed' : isOver ? 'completed' : 'interrupted',
      complete: this.#complete,
      played: this.#played,
      evaluations: this.#evaluations,
      seconds: (this.#context.milliseconds() - started) / 1000,
      jobs: this.#jobs,
      failures: this.#failures,
      ...(this.#limit && { limit: this.#limit }),
    };
  }

  /** A worker: executes one run after another, in this thread or a new one. */
  async #playNext(): Promise<void> {
    let thread: PlayerThread | undefined;
    try {
      while (!this.#context.stop.finish.aborted && this.#limit === undefined) {
        const { done, value: entry } = this.#upcoming.next();
        if (done === true) return;
        if (!this.#isLeftOut(entry)) {
          const apart = this.#atOnce > 1 && this.#shared === undefined && !staysHere(entry);
          if (apart) thread ??= new PlayerThread(this.#context);
          await this.#playOne(entry, apart ? thread : undefined);
        }
        this.#endOfRun(entry);
      }
    } catch (error) {
      this.#broken.abort();
      throw error;
    } finally {
      await thread?.close();
    }
  }

  #isLeftOut(entry: Entry): boolean {
    const label = this.#plan.afterFailure?.label;
    return label !== undefined && this.#failures.some((failure) => failure.entry[label] === entry[label]);
  }

  async #playOne(entry: Entry, thread: PlayerThread | undefined): Promise<void> {
    const job: Job = {
      path: join(this.#directory, entry.path),
      config: entry.config,
      beside: this.#atOnce > 1,
      atOnce: this.#parts * this.#atOnce,
      notes: this.#plan.notes ?? [],
    };
    const show = (event: RunEvent) => {
      if (event.kind === 'warmup-evaluated' || event.kind === 'candidate-evaluated') this.#evaluations++;
      this.#display.event(entry, event);
    };
    this.#display.begin(entry);
    const end = await (thread === undefined
      ? playRun(job, show, this.#context, this.#shared)
      : thread.play(job, show));
    if (end.kind === 'failed') this.#failures.push({ entry, message: end.message });
    if (end.kind === 'completed') {
      this.#complete++;
      if (end.played) this.#played++;
      this.#limit ??= end.limit;
    }
    this.#unwritten ||= end.kind !== 'completed' || end.played;
    this.#display.end(entry, end);
  }

  /** Writes the results so far, so that they can be viewed: when all runs of a repeat have ended, or after a while. */
  #endOfRun({ repeat }: Entry): void {
    if (repeat === undefined) return;
    const left = this.#open.get(repeat)! - 1;
    this.#open.set(repeat, left);
    const isDue = left === 0 || this.#context.milliseconds() >= this.#nextWrite;
    if (isDue && this.#unwritten) this.#writeSoFar();
  }

  #writeSoFar(): void {
    const began = this.#context.milliseconds();
    this.#write(this.#failures);
    this.#unwritten = false;
    const ended = this.#context.milliseconds();
    this.#nextWrite = ended + Math.max(leastBetweenWrites, (ended - began) / writeShare);
  }
}

/** The last line of `--json` if a later command will report the combined results. */
interface PlanProgress {
  readonly status: PlayedStatus;
  /** Number of complete runs. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  /** Directory of the runs. */
  readonly out: string;
}

/** True if a later command will report the combined results. */
export const isHandedOver = ({ status }: Played, { part }: PlayArguments): boolean =>
  part !== undefined || status === 'elsewhere';

/** @returns the exit code */
export function reportProgress(
  { complete, played, status }: Played,
  directory: string,
  { json }: PlayArguments,
  context: CommandContext,
): number {
  const progress: PlanProgress = { status, complete, played, out: shownPath(directory, context.cwd) };
  if (json) context.print(JSON.stringify(progress));
  return exitCodeOf(status);
}
