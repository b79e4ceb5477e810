/** Executes one run of a plan. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { messageOf, UserError, unlessRefused } from '../base/errors.js';
import { EnvironmentError } from '../environments/remote/remote-environment.js';
import { assemble } from '../experiment/setup/assemble.js';
import type { LimitName } from '../runs/calls.js';
import type { RunEvent } from '../runs/events.js';
import { readManifest, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { writeReport } from '../web/report/write-report.js';
import type { PlanEntry } from './plan.js';
import { finishLeft, reopenRun } from './resume.js';
import { beginRun, executeRun } from './run.js';
import type { SharedLimits } from './shared-limits.js';

/** What a run has in common with the other runs of its plan. */
export interface EntrySetting {
  /** Directory of the plan. */
  readonly directory: string;
  /** True if other runs execute concurrently; `evaluation.workers: auto` then starts at most one thread. */
  readonly isParallel: boolean;
  readonly notes: readonly string[];
  readonly shared: SharedLimits | undefined;
}

export type RunEnd =
  | {
      readonly kind: 'completed';
      /** True if there was nothing left to do. */
      readonly isOld: boolean;
      /** The plan-wide limit that ended the run. */
      readonly limit?: LimitName;
    }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * Executes a run to its end or until a stop request, unless it is already complete.
 * @throws system errors; other errors end the run with `failed`
 */
export async function runEntry(
  { config, path: name }: PlanEntry,
  { directory, isParallel, notes, shared }: EntrySetting,
  show: (event: RunEvent) => void,
  context: CommandContext,
): Promise<RunEnd> {
  const path = join(directory, name);
  try {
    const run = existsSync(join(path, runFiles.manifest))
      ? await reopenRun(path, config, context, { shared })
      : await beginRun(
          await assemble(config, context.env, undefined, { ask: context.stop.finish }),
          () => path,
          context,
          { notes, shared },
        );
    if (run === undefined) {
      await finishLeft(path, context.now, writeReport);
      return endOf(path, true);
    }
    if (isParallel && config.evaluation.workers === 'auto') run.assembly.workers?.useOneThread();
    await executeRun(run, { show, close: () => undefined }, context);
  } catch (error) {
    if (error instanceof UserError || error instanceof EnvironmentError)
      return { kind: 'failed', message: error.message };
    if (error instanceof Error && 'syscall' in error) throw error;
    return { kind: 'failed', message: `unexpected error: ${messageOf(error)}` };
  }
  return endOf(path, false);
}

function endOf(path: string, isOld: boolean): RunEnd {
  const { reason, status } = readManifest(path);
  if (status === 'interrupted') return { kind: 'interrupted' };
  if (status !== 'completed') {
    if (reason?.kind === 'no-proposals')
      return { kind: 'failed', message: describeReason({ reason, status }) };
    const message = reason !== undefined && 'message' in reason ? reason.message : 'the run failed';
    return { kind: 'failed', message };
  }
  const limit = reason !== undefined && 'limit' in reason ? reason.limit : undefined;
  return { kind: 'completed', isOld, ...(limit?.startsWith('sweep.') && { limit }) };
}

/** How the run at `path` ended; undefined if it hasn't, or if its manifest can't be read. */
export function recordedEnd(path: string): RunEnd | undefined {
  if (!existsSync(join(path, runFiles.manifest))) return undefined;
  return unlessRefused(() => (readManifest(path).status === 'running' ? undefined : endOf(path, true)));
}
