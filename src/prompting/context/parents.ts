/** Selects the parents of an iteration's proposals, if the `proposal` section asks for any. */
import { type BufferEntry, bestEntries } from '../../rollout/replay-buffer.js';
import type { ProposalConfig } from '../settings.js';

/**
 * The parents, best first: the `beam` best evaluations; for changes without a beam, the latest one (the best of its
 * iteration). `held`: evaluations in memory, oldest first.
 */
export function parentsOf(
  proposal: ProposalConfig | undefined,
  held: readonly BufferEntry[],
): readonly BufferEntry[] {
  if (proposal === undefined) return [];
  const { beam, form } = proposal;
  if (beam !== undefined) return bestEntries(held, beam);
  const last = held.at(-1);
  if (form === 'absolute' || last === undefined) return [];
  if (last.iteration === 0) return [last];
  const group = held.filter(({ iteration }) => iteration === last.iteration);
  return [group.reduce((best, entry) => (entry.score > best.score ? entry : best))];
}
