/** Selects the proposals that a page shows with prompts and replies, so that even pages of long runs open quickly. */
import type { CallRecord } from '../../../runs/calls.js';
import { failureKind } from '../../../runs/failure-text.js';
import { type CandidateId, hasFailure, type LoggedProposal, proposalId, type RunData } from './proposals.js';

const maxShown = 500;

/** Maximum size of each sample (new bests, failures, all) that is drawn from more than `maxShown` proposals. */
const maxPerKind = 120;

/** The proposals that a page shows in full. */
export interface ShownCalls {
  readonly proposals: readonly LoggedProposal[];
  /** The calls of these proposals, by position among the run's calls. */
  readonly calls: ReadonlyMap<number, CallRecord>;
  /** Returns a link to a proposal; undefined if the page doesn't show it. */
  link(place: CandidateId): string | undefined;
}

/** Chooses the proposals to show, and reads their calls. */
export function shownCalls(
  data: Pick<RunData, 'calls' | 'manifest'>,
  proposals: readonly LoggedProposal[],
): ShownCalls {
  const shownProposals = proposals.length > maxShown ? chooseProposals(proposals, data.manifest) : proposals;
  const ids = new Set(shownProposals.map(proposalId));
  const indices = new Set(shownProposals.flatMap(({ attempts }) => attempts.map(({ index }) => index)));
  const calls = new Map<number, CallRecord>();
  let index = 0;
  for (const call of data.calls) {
    if (indices.has(index)) calls.set(index, call);
    index++;
  }
  const link = (place: CandidateId) =>
    place.iteration > 0 && ids.has(proposalId(place)) ? `#${proposalId(place)}` : undefined;
  return { proposals: shownProposals, calls, link };
}

function chooseProposals(
  proposals: readonly LoggedProposal[],
  { best, confirmations }: RunData['manifest'],
): readonly LoggedProposal[] {
  const failedProposals = proposals.filter(hasFailure);
  // The table of failures links to the latest failure of each kind.
  const latestByKind = new Map(
    failedProposals.flatMap((proposal) =>
      proposal.attempts.map(({ faults, outcome }) => [failureKind(outcome, faults), proposal] as const),
    ),
  );
  const notableIds = new Set([...(best ? [best] : []), ...confirmations].map(proposalId));
  const newBests = proposals.filter((one) => one.improved);
  const chosen = new Set([
    ...proposals.filter((one) => notableIds.has(proposalId(one))),
    ...latestByKind.values(),
    ...sampleEvenly(newBests, maxPerKind),
    ...sampleEvenly(failedProposals, maxPerKind),
    ...sampleEvenly(proposals, maxPerKind),
    ...proposals.slice(-maxPerKind / 2),
  ]);
  return proposals.filter((one) => chosen.has(one));
}

/**
 * Returns `count` evenly spaced items including the first and the last; all items if there are at most `count`.
 * @param required an item to include in any case; it replaces the nearest chosen item
 */
export function sampleEvenly<T>(items: readonly T[], count: number, required?: T): readonly T[] {
  if (items.length <= count) return items;
  const step = (items.length - 1) / (count - 1);
  const chosen: T[] = Array.from({ length: count }, (_, i) => items[Math.round(i * step)]!);
  if (required !== undefined) chosen[Math.round(items.indexOf(required) / step)] = required;
  return chosen;
}
