/** Search algorithms as proposers: a baseline, and the search that tunes the constants of programs. */
import { createGenerator, type RandomGenerator } from '../base/random/generator.js';
import type { BaselineConfig } from '../config/baselines.js';
import { ModelError } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import { repeatFailure } from '../prompting/answer/failure.js';
import type { CallRecord } from '../runs/calls.js';
import type { Baseline } from './baseline.js';
import { isStopped } from './call.js';
import { createBaseline } from './create-baseline.js';
import {
  earlierUseFinder,
  joinProposals,
  type Proposal,
  type ProposalRequest,
  type Proposals,
  type Proposer,
} from './proposer.js';

export function baselineProposer(config: BaselineConfig, candidates?: number): Proposer {
  const baseline = createBaseline(config, candidates);
  return {
    id: `baseline/${config.provider}`,
    model: undefined,
    propose: (request) => search(request, (randoms) => proposeEach(baseline, request, randoms)),
  };
}

async function proposeEach(
  { propose, proposeGroup }: Baseline,
  { task }: ProposalRequest,
  randoms: readonly RandomGenerator[],
): Promise<readonly ParameterVector[]> {
  if (proposeGroup !== undefined && randoms.length > 1) return proposeGroup(task, randoms);
  const proposed: ParameterVector[] = [];
  for (const random of randoms) proposed.push(await propose(task, random));
  return proposed;
}

/** A search that proposes constants of a program; undefined if no tuning is due. */
type Tuning = { readonly by: string; propose(random: RandomGenerator): Promise<ParameterVector> } | undefined;

/** Replaces a proposer by a search over a program's constants for the candidates that `tuningFor` chooses. */
export const tuningProposer = (
  proposer: Proposer,
  tuningFor: (candidate: number) => Tuning,
): Pick<Proposer, 'propose'> => ({
  async propose(request) {
    const parts: Proposals[] = [];
    const remaining: number[] = [];
    for (const candidate of request.candidates) {
      const tuning = tuningFor(candidate);
      if (tuning === undefined) {
        remaining.push(candidate);
        continue;
      }
      const own = { ...request, candidates: [candidate], member: tuning.by, siblings: parametersOf(parts) };
      parts.push(await search(own, async ([random]) => [await tuning.propose(random!)], true));
    }
    if (remaining.length === 0) return joinProposals(parts);
    return joinProposals([
      ...parts,
      await proposer.propose({ ...request, candidates: remaining, siblings: parametersOf(parts) }),
    ]);
  },
});

export const parametersOf = (parts: readonly Proposals[]): readonly ParameterVector[] =>
  parts.flatMap(({ proposals }) => proposals.flatMap(({ parameters }) => (parameters ? [parameters] : [])));

/**
 * Draws each candidate's parameters with its own random stream, and again if they are a repeat or `check` rejects them.
 * Proposals are recorded like calls, but no model is called.
 * @param draw proposes one candidate per generator; several generators only at the first attempt
 */
async function search(
  request: ProposalRequest,
  draw: (randoms: readonly RandomGenerator[]) => Promise<readonly ParameterVector[]>,
  isTuned = false,
): Promise<Proposals> {
  const { siblings = [], caller, candidates, corrections, onCall, prompt, findRecorded, seed } = request;
  const accepted = [...siblings];
  const all = candidates.map(
    (candidate): SearchedCandidate => ({ candidate, calls: [], ...(isTuned && { tuned: true }) }),
  );
  for (let attempt = 0; attempt <= corrections; attempt++) {
    const openCandidates = all.filter(({ parameters }) => parameters === undefined);
    if (openCandidates.length === 0) break;
    if (caller.signal.aborted) throw new ModelError('aborted', 'aborted', { retries: 0, latencyMs: 0 });
    if (isStopped(caller)) return { proposals: [], end: { kind: 'interrupted' } };
    const limit = caller.ledger.exceededLimit(openCandidates.length);
    if (limit !== undefined) return { proposals: all, end: { kind: 'limit', limit } };
    const randoms = openCandidates.map(({ candidate }) => createGenerator(seed(candidate, attempt)));
    const drawn = attempt === 0 ? await draw(randoms) : [];
    for (const [i, one] of openCandidates.entries()) {
      const parameters = drawn[i] ?? (await draw([randoms[i]!]))[0]!;
      const known = findRecorded(one.candidate, attempt, prompt.messages);
      const call = known ?? (await checkProposal(request, one, attempt, parameters, accepted));
      one.calls.push(call);
      if (known === undefined) {
        caller.ledger.record(call);
        onCall(call);
      }
      if (call.outcome.kind !== 'accepted') continue;
      one.parameters = call.outcome.parameters;
      accepted.push(one.parameters);
    }
  }
  return { proposals: all };
}

/** Checks a proposal and returns its record. */
async function checkProposal(
  request: ProposalRequest,
  { candidate, tuned }: SearchedCandidate,
  attempt: number,
  parameters: ParameterVector,
  accepted: readonly ParameterVector[],
): Promise<CallRecord> {
  const { caller, check, iteration, member, programOf, prompt, purpose, seed } = request;
  const earlierUse = earlierUseFinder(request, accepted)(parameters);
  const failure = earlierUse
    ? repeatFailure(earlierUse)
    : await check?.(parameters, accepted, tuned ? 'tuning' : 'baseline');
  const program = programOf?.(parameters);
  return {
    iteration,
    candidate,
    attempt,
    messages: prompt.messages,
    ...(prompt.shown && { shown: prompt.shown }),
    seed: seed(candidate, attempt),
    time: caller.now().toISOString(),
    purpose: purpose ?? (attempt > 0 ? 'correction' : 'proposal'),
    ...(member !== undefined && { member }),
    outcome: failure
      ? { kind: 'rejected', failure }
      : { kind: 'accepted', parameters, ...(program !== undefined && { program }) },
  };
}

interface SearchedCandidate extends Proposal {
  readonly calls: CallRecord[];
  parameters?: ParameterVector;
}
