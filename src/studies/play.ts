/** The one engine for many runs: plays what is left of a plan, some runs at once. */
import { join } from 'node:path';
import type { CommandContext } from '../context.js';
import { plural } from '../format/numbers.js';
import type { LimitName, RunEvent } from '../runs/events.js';
import { shownPath } from '../runs/facts.js';
import { createPlanDisplay, type PlanDisplay } from './display.js';
import { isComplete } from './open.js';
import { isBulk, labelsOf, type Plan, type PlanEntry, type PlayArguments } from './plan.js';
import { type Job, playRun } from './play-run.js';
import { SharedLimits } from './shared-limits.js';
import { PlayerThread } from './thread.js';

interface PlanFailure<Entry extends PlanEntry = PlanEntry> {
  readonly entry: Entry;
  readonly message: string;
}

/** What a command has played of a plan. */
export interface Played<Entry extends PlanEntry = PlanEntry> {
  /** `completed` where a limit of all runs left out the rest, too. */
  readonly status: 'completed' | 'interrupted' | 'failed';
  /** Runs that are complete now. */
  readonly complete: number;
  /** Of them, those that this command brought to their end. */
  readonly played: number;
  /** This command's. */
  readonly evaluations: number;
  readonly seconds: number;
  readonly failures: readonly PlanFailure<Entry>[];
  /** The limit of all runs that is reached. */
  readonly limit?: LimitName;
}

/** The summary of failures that every command prints. */
export const failureLines = ({ failures }: Played): readonly string[] =>
  failures.map(({ entry, message }) => `failed      ${entry.path}: ${message}`);

interface Playing<Entry extends PlanEntry> {
  readonly args: PlayArguments;
  /** Called with the failures so far whenever all runs of a `repeat` have ended, if one of them was played now. */
  readonly onRepeat?: (failures: readonly PlanFailure<Entry>[]) => void;
}

/**
 * Plays what is left of a plan. Several runs are played in a thread each; those that share limits all in this one,
 * where one ledger sees every call before it is made. After the first stop request each run ends with its iteration,
 * after the second at once, and the same command goes on.
 * @throws what the system refuses; what else goes wrong with a run is a failure of that run
 */
export async function playPlan<Entry extends PlanEntry>(
  plan: Plan<Entry>,
  directory: string,
  { args, onRepeat }: Playing<Entry>,
  context: CommandContext,
): Promise<Played<Entry>> {
  const done = plan.entries.filter(({ path }) => isComplete(join(directory, path)));
  const skipped = new Set<PlanEntry>(isBulk(plan) ? done : []);
  const left = plan.entries.filter((entry) => !skipped.has(entry));
  const jobs = Math.max(1, Math.min(args.jobs ?? 1, left.length));
  const display = createPlanDisplay(plan, { ...args, jobs, directory, done: skipped.size }, context);
  if (!args.json && !args.quiet && plan.kind !== 'repeats') {
    const complete = done.length > 0 ? `, ${done.length} of them complete` : '';
    const beside = jobs > 1 ? `; ${jobs} at once` : '';
    const shape = plan.shape === undefined ? '' : ` (${plan.shape})`;
    context.note(
      `${plan.entries.length} runs${shape} in ${shownPath(directory, context.cwd)}${complete}${beside}`,
    );
  }
  try {
    const played = await new Player(plan, directory, jobs, display, context).play(left, onRepeat);
    const complete = skipped.size + played.complete;
    const { failures, limit } = played;
    const isOver = complete === plan.entries.length || limit !== undefined;
    return {
      ...played,
      complete,
      status: failures.length > 0 ? 'failed' : isOver ? 'completed' : 'interrupted',
    };
  } finally {
    display.close();
  }
}

class Player<Entry extends PlanEntry> {
  readonly #plan: Plan<Entry>;
  readonly #directory: string;
  readonly #jobs: number;
  readonly #display: PlanDisplay<Entry>;
  readonly #context: CommandContext;
  readonly #shared: SharedLimits | undefined;
  /** What no run should throw ends all. */
  readonly #broken = new AbortController();
  readonly #failures: PlanFailure<Entry>[] = [];
  readonly #leftOut = new Set<unknown>();
  #limit: LimitName | undefined;
  #complete = 0;
  #played = 0;
  #evaluations = 0;

  constructor(
    plan: Plan<Entry>,
    directory: string,
    jobs: number,
    display: PlanDisplay<Entry>,
    context: CommandContext,
  ) {
    this.#plan = plan;
    this.#directory = directory;
    this.#jobs = jobs;
    this.#display = display;
    const said = new Set<string>();
    const { finish, abort } = context.stop;
    const broken = this.#broken.signal;
    this.#context = {
      ...context,
      // Every run opens its model: what there is to say of it is said once.
      note: (text) => {
        if (!said.has(text)) display.note(text);
        said.add(text);
      },
      stop: { finish: AbortSignal.any([finish, broken]), abort: AbortSignal.any([abort, broken]) },
    };
    this.#shared = plan.sharesLimits ? new SharedLimits(plan, directory) : undefined;
  }

  async play(entries: readonly Entry[], onRepeat: Playing<Entry>['onRepeat']) {
    const started = this.#context.milliseconds();
    const upcoming = entries.values();
    const repeats = new OpenRepeats(entries, () => onRepeat?.(this.#failures));
    const ended = await Promise.allSettled(
      Array.from({ length: this.#jobs }, () => this.#playNext(upcoming, repeats)),
    );
    for (const end of ended) if (end.status === 'rejected') throw end.reason;
    const left = [...upcoming].length;
    if (this.#limit !== undefined && left > 0) {
      this.#display.note(`limits.${this.#limit} is reached: ${plural(left, 'run')} left out`);
    }
    return {
      complete: this.#complete,
      played: this.#played,
      evaluations: this.#evaluations,
      seconds: (this.#context.milliseconds() - started) / 1000,
      failures: this.#failures,
      ...(this.#limit && { limit: this.#limit }),
    };
  }

  /** Plays one run after the other, in this thread or in one of its own, while others do the same. */
  async #playNext(upcoming: Iterator<Entry>, repeats: OpenRepeats): Promise<void> {
    let thread: PlayerThread | undefined;
    try {
      while (!this.#context.stop.finish.aborted && this.#limit === undefined) {
        const { done, value: entry } = upcoming.next();
        if (done === true) return;
        const key = this.#failureKey(entry);
        const isLeftOut = key !== undefined && this.#leftOut.has(key);
        if (!isLeftOut && this.#jobs > 1 && this.#shared === undefined) {
          thread ??= new PlayerThread(this.#context);
        }
        repeats.end(entry, !isLeftOut && (await this.#playOne(entry, thread)));
      }
    } catch (error) {
      this.#broken.abort();
      throw error;
    } finally {
      await thread?.close();
    }
  }

  #failureKey(entry: Entry): unknown {
    const label = this.#plan.afterFailure?.label;
    return label && labelsOf(entry)[label];
  }

  /** @returns whether something was left to do */
  async #playOne(entry: Entry, thread: PlayerThread | undefined): Promise<boolean> {
    const job: Job = {
      path: join(this.#directory, entry.path),
      config: entry.config,
      bulk: isBulk(this.#plan),
      beside: this.#jobs > 1,
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
    if (end.kind === 'failed') {
      this.#failures.push({ entry, message: end.message });
      this.#leftOut.add(this.#failureKey(entry));
    }
    if (end.kind === 'completed') {
      this.#complete++;
      if (end.played) this.#played++;
      this.#limit ??= end.limit;
    }
    this.#display.end(entry, end);
    return end.kind !== 'completed' || end.played;
  }
}

/** Tells when the last run of a repeat has ended, so that there is always something to look at. */
class OpenRepeats {
  readonly #repeats = new Map<unknown, { left: number; played: boolean }>();
  readonly #onRepeat: () => void;

  constructor(entries: readonly PlanEntry[], onRepeat: () => void) {
    this.#onRepeat = onRepeat;
    for (const entry of entries) this.#of(entry).left++;
  }

  end(entry: PlanEntry, played: boolean): void {
    const repeat = this.#of(entry);
    repeat.left--;
    repeat.played ||= played;
    if (repeat.left === 0 && repeat.played) this.#onRepeat();
  }

  #of(entry: PlanEntry) {
    const key = 'repeat' in entry ? entry.repeat : undefined;
    const repeat = this.#repeats.get(key) ?? { left: 0, played: false };
    this.#repeats.set(key, repeat);
    return repeat;
  }
}
