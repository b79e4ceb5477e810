/** Traces a run's programs back to the programs that they were made from. */
import type { Config } from '../../../config/config.js';
import { rememberedEntries, selectHistory, withoutVariants } from '../../../prompting/context/history.js';
import { type BufferEntry, bestEntry, entriesBefore } from '../../../rollout/replay-buffer.js';
import { isModelCall } from '../../../runs/calls.js';
import type { LoggedProposal, RunData } from './proposals.js';
import type { ShownCalls } from './shown-calls.js';

/** A program, and the evaluation that it was made from. */
export interface ProgramOrigin {
  readonly entry: BufferEntry;
  readonly parent: BufferEntry | undefined;
  /** True if a model wrote it in reply to a prompt. */
  readonly isWritten: boolean;
}

type ProposedEntry = Pick<BufferEntry, 'iteration'> &
  Partial<Pick<BufferEntry, 'parameters' | 'revises' | 'tuned'>>;

/**
 * Returns the evaluation that a program was made from: the one that it revises or tunes, the best so far if replies
 * edit it (`policy.edits`), or else the best evaluation in the prompt. Prompts don't show programs of the warm-up.
 */
export function parentOf(
  { iteration, parameters, revises, tuned }: ProposedEntry,
  { config, entries }: { readonly config: Config; readonly entries: readonly BufferEntry[] },
): BufferEntry | undefined {
  if (revises !== undefined)
    return entries.find((one) => one.iteration === iteration && one.candidate === revises);
  const earlierEntries = entriesBefore(entries, iteration);
  if (tuned) return bestEntry(earlierEntries.filter((one) => one.parameters[0] === parameters?.[0]));
  const shownEntries = withoutVariants(rememberedEntries(earlierEntries));
  const { memory, policy } = config;
  if (policy?.kind === 'program' && policy.edits) return bestEntry(shownEntries);
  const proposedEntries = shownEntries.filter((one) => one.iteration > 0);
  const unlimited = { ...memory, tokens: Number.POSITIVE_INFINITY };
  return bestEntry(selectHistory(proposedEntries, unlimited, () => 0));
}

/** Returns new bests and their ancestors, oldest first. */
export function lineage(
  data: Pick<RunData, 'config' | 'entries'>,
  proposals: readonly LoggedProposal[],
  calls: ShownCalls['calls'],
): readonly ProgramOrigin[] {
  // Baselines don't read prompts.
  const promptedEntries = new Set(
    proposals.flatMap(({ attempts, entry }) => {
      const call = calls.get(attempts.at(-1)?.index ?? -1);
      return call && isModelCall(call) ? (entry ?? []) : [];
    }),
  );
  const originByEntry = new Map<BufferEntry, ProgramOrigin>();
  for (const { entry: best, improved } of proposals) {
    for (let entry = improved ? best : undefined; entry !== undefined && !originByEntry.has(entry); ) {
      const isWritten = entry.source === 'proposal' && !entry.tuned && promptedEntries.has(entry);
      const parent: BufferEntry | undefined = isWritten || entry.tuned ? parentOf(entry, data) : undefined;
      originByEntry.set(entry, { entry, parent, isWritten });
      entry = parent;
    }
  }
  return data.entries.flatMap((entry) => originByEntry.get(entry) ?? []);
}
