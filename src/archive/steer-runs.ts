/** `policyloop pause`, `stop` and `set`: the live runs that names mean, each asked, and the answers printed. */
import { type CommandContext, shownPath } from '../base/context.js';
import { UserError } from '../base/errors.js';
import type { ControlRequest } from '../runs/control.js';
import { findRuns } from './names.js';
import { playedOf, type Steered, steer } from './steer.js';
import { steeredText } from './steered-text.js';

interface SteerArguments {
  readonly runs: readonly string[];
  readonly runsDir: string;
  /** Seconds. */
  readonly wait: number;
  readonly json: boolean;
}

/**
 * @param check throws where a run can't be asked that
 * @throws UserError where no process plays any of the runs
 */
export async function steerRuns(
  { json, runs, runsDir, wait }: SteerArguments,
  request: ControlRequest,
  { cwd, print }: Pick<CommandContext, 'cwd' | 'print'>,
  check: (path: string) => void = () => undefined,
): Promise<number> {
  if (!(wait >= 0)) throw new UserError({ field: '--wait', value: wait, message: 'give seconds, 0 or more' });
  const found = findRuns(runs, { cwd, runsDir });
  const live = playedOf(found);
  // Where several are named, those that nobody plays are no mistake.
  const asked = found.length === 1 ? found : live;
  if (asked.length === 0)
    throw new UserError({
      ...{ field: 'run', value: runs.join(' '), message: 'no process plays any of these runs' },
      remedy: 'policyloop list status=running shows those that are played',
    });
  for (const path of live) check(path);
  const steered = await Promise.all(asked.map((path) => steer(path, request, wait)));
  const shown: readonly Steered[] = steered.map((one) => ({ ...one, run: shownPath(one.run, cwd) }));
  print(json ? JSON.stringify(shown) : steered.map((one) => steeredText(one, cwd)).join('\n'));
  return 0;
}
