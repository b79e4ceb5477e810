/** Picks one of the policies that a run has evaluated. */
import { UserError } from '../../base/errors.js';
import { type BufferEntry, bestEntries } from '../../rollout/replay-buffer.js';
import { finalConfirmation } from '../../runs/events.js';
import type { Manifest } from '../../runs/manifest.js';
import type { OpenedRun } from '../../runs/open-run.js';

export type NotablePolicy = 'best' | 'worst' | 'first';

/**
 * The best (confirmed if possible, otherwise observed), worst and first policy of a run; undefined before any
 * evaluation.
 */
export function notablePolicies(
  entries: readonly BufferEntry[],
  { confirmations }: Pick<Manifest, 'confirmations'>,
): Readonly<Record<NotablePolicy, BufferEntry>> | undefined {
  const [first] = entries;
  if (first === undefined) return undefined;
  const confirmed = finalConfirmation(confirmations);
  const best =
    entries.find(
      ({ iteration, candidate }) => iteration === confirmed?.iteration && candidate === confirmed.candidate,
    ) ?? bestEntries(entries, 1)[0]!;
  const worst = entries.reduce((lowest, entry) => (entry.score < lowest.score ? entry : lowest));
  return { best, worst, first };
}

/**
 * @param wanted `best`, `worst`, `first`, or an iteration number
 * @param candidate 1-based candidate number within that iteration; defaults to the best one
 * @throws UserError if the run has evaluated no such policy
 */
export function choosePolicy(
  { recorded, manifest, path }: Pick<OpenedRun, 'recorded' | 'manifest' | 'path'>,
  wanted: NotablePolicy | number,
  candidate?: number,
): BufferEntry {
  const notable = notablePolicies(recorded.entries, manifest);
  if (notable === undefined) {
    throw new UserError({
      message: 'this run has no evaluated policy yet',
      value: path,
      remedy: `policyloop resume ${path}`,
    });
  }
  if (typeof wanted === 'string') {
    if (candidate === undefined) return notable[wanted];
    throw new UserError({
      field: '--candidate',
      message: `--iteration ${wanted} names one policy already`,
      value: candidate,
      remedy: 'give the number of an iteration beside it',
    });
  }
  const entries = recorded.entries.filter(({ iteration }) => iteration === wanted);
  if (entries.length === 0) {
    throw new UserError({
      field: '--iteration',
      message: 'this iteration has no evaluated policy',
      value: wanted,
      remedy: `the run has iterations 0 (warm-up) to ${recorded.iteration}`,
    });
  }
  // Racing may have cut short every evaluation of an iteration.
  if (candidate === undefined) return bestEntries(entries, 1)[0] ?? entries[0]!;
  const found = entries.find((entry) => entry.candidate === candidate - 1);
  if (found !== undefined) return found;
  throw new UserError({
    field: '--candidate',
    message: `iteration ${wanted} has no evaluated candidate of this number`,
    value: candidate,
    alternatives: entries.map((entry) => String(entry.candidate + 1)),
  });
}
