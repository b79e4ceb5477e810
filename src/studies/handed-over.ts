/**
 * Output of a command that leaves runs of its plan to others: tasks of a cluster, or processes that play other parts.
 */
import { type CommandContext, exitCodeOf, shownPath } from '../base/context.js';
import type { PlayArguments } from './plan.js';
import type { Played, PlayedStatus } from './play.js';

/** The last line of `--json` in this case. */
export interface PlanProgress {
  readonly status: PlayedStatus;
  /** Number of complete runs. */
  readonly complete: number;
  /** Number of runs that this command completed. */
  readonly played: number;
  /** Directory of the runs. */
  readonly out: string;
}

/** Whether a later command will report the combined results. */
export const isHandedOver = ({ status }: Played, { part }: PlayArguments): boolean =>
  part !== undefined || status === 'elsewhere';

/** @returns the exit code */
export function tellProgress(
  { complete, played, status }: Played,
  directory: string,
  { json }: PlayArguments,
  context: CommandContext,
): number {
  const progress: PlanProgress = { status, complete, played, out: shownPath(directory, context.cwd) };
  if (json) context.print(JSON.stringify(progress));
  return exitCodeOf(status);
}
