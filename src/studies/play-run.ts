/** Plays one run of a plan; `limits.total` holds what the runs of a plan, at once or in turn, may use together. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError } from '../base/errors.js';
import { type Config, isLanguageModel } from '../config/config.js';
import { loadConfig } from '../config/load.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { assemble } from '../experiment/assemble.js';
import { spentBy } from '../experiment/ledger.js';
import { createBudget, plus, type SharedBudget } from '../experiment/limits.js';
import { runInDirectory } from '../experiment/session.js';
import type { LimitName, RunEvent } from '../runs/events.js';
import { readManifest, readRun, runFiles } from '../runs/reader.js';
import type { RunDirectory } from '../runs/writer.js';
import type { Plan } from './plan.js';
import { beginRun, reopenRun, runAndReport } from './single-run.js';

export class SharedLimits {
  readonly #all = createBudget();
  /** Milliseconds of each run that has begun: of one that is being played, up to its last iteration. */
  readonly #activeMs = new Map<string, () => number>();

  /** Reads what the runs in `directory` have used: the log of each once. */
  constructor({ entries }: Plan, directory: string) {
    for (const entry of entries) {
      const path = join(directory, entry.path);
      if (!existsSync(join(path, runFiles.manifest))) continue;
      this.#all.spent = plus(this.#all.spent, spentBy(readRun(path).calls, entry.config));
      const { activeMs } = readManifest(path);
      this.#activeMs.set(path, () => activeMs);
    }
  }

  /** The limits as the run in `directory` sees them; what it uses counts for all. */
  of(directory: RunDirectory): SharedBudget {
    const activeMs = this.#activeMs;
    activeMs.set(directory.path, () => directory.manifest.activeMs);
    return {
      all: this.#all,
      get otherMs() {
        return [...activeMs].reduce((sum, [path, ms]) => (path === directory.path ? sum : sum + ms()), 0);
      },
    };
  }
}

/** A run as a thread receives it. */
export interface Job {
  /** Path of the run's directory. */
  readonly path: string;
  readonly config: Config;
  /** See `isBulk`. */
  readonly bulk: boolean;
  /** Whether others are played at the same time: then it starts no threads of its own. */
  readonly beside: boolean;
  readonly notes: readonly string[];
}

export type RunEnd =
  | {
      readonly kind: 'completed';
      /** Whether there was something left to do. */
      readonly played: boolean;
      /** The limit of all runs of the plan that ended it. */
      readonly limit?: LimitName;
    }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Plays a run to its end, or as far as a stop request lets it, unless it is there already.
 * @throws only what the system refuses
 */
export async function playRun(
  job: Job,
  show: (event: RunEvent) => void,
  context: CommandContext,
  shared?: SharedLimits,
): Promise<RunEnd> {
  const { bulk, config, notes, path } = job;
  let played: boolean;
  try {
    if (bulk && existsSync(path) && !isReadable(path)) rmSync(path, { recursive: true });
    // Calls of a language model are not to be paid for twice; those of a control cost nothing.
    const durability = bulk && !isLanguageModel(config.model) ? 'run' : 'iteration';
    const opened = existsSync(join(path, runFiles.manifest))
      ? await reopenRun(path, config, context, { durability })
      : await beginRun(await assemble(config, context.env), () => path, context, { durability, notes });
    played = opened !== undefined;
    if (opened !== undefined) {
      const { directory } = opened;
      const assembly = {
        ...opened.assembly,
        ...(shared && { sharedBudget: shared.of(directory) }),
        ...(job.beside && config.evaluation.workers === 'auto' && { workers: undefined }),
      };
      const display = { show, close: () => undefined };
      await (bulk ? runInDirectory : runAndReport)(assembly, directory, display, context);
    }
  } catch (error) {
    if (error instanceof UserError || error instanceof EnvironmentError) {
      return { kind: 'failed', message: error.message };
    }
    if (error instanceof Error && 'syscall' in error) throw error;
    return { kind: 'failed', message: `unexpected error: ${messageOf(error)}` };
  }
  return endOf(path, played);
}

function endOf(path: string, played: boolean): RunEnd {
  const { reason, status } = readManifest(path);
  if (status === 'interrupted') return { kind: 'interrupted' };
  if (status !== 'completed') {
    const message = reason !== undefined && 'message' in reason ? reason.message : 'the run failed';
    return { kind: 'failed', message };
  }
  const isShared = reason?.kind === 'limit' && reason.limit.startsWith('total.');
  return { kind: 'completed', played, ...(isShared && { limit: reason.limit }) };
}

/** A run whose files a crash of the machine has torn is not. */
function isReadable(path: string): boolean {
  try {
    loadConfig({ file: join(path, runFiles.config) });
    readRun(path);
    return true;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}
