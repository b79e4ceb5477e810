import type { AnswerGrammar, ChatMessage, LanguageModel, SamplingChoice } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EarlierUse, ParseContext, ParseFailure, ParseResult } from '../prompting/answer/failure.js';
import { type BufferEntry, vectorKey } from '../rollout/replay-buffer.js';
import type { CallRecord, ShownEvaluations } from '../runs/calls.js';
import type { StopReason } from '../runs/events.js';
import type { SearchTask } from './baseline.js';
import type { CallContext } from './call.js';

/** Proposes parameters: a language model, a baseline, or a combination of these. */
export interface Proposer {
  readonly id: string;
  /** The language model that it calls; undefined if there is none. */
  readonly model: LanguageModel | undefined;
  /** @throws ModelError if retrying can't help or the calls are aborted */
  propose(request: ProposalRequest): Promise<Proposals>;
}

/** Records of a run, from which a relay chooses the leg that proposes next. */
interface PastProposals {
  readonly entries: readonly BufferEntry[];
  /** The portfolio members, relay legs or tuning searches that proposed, by `iteration/candidate`. */
  readonly memberTurns: ReadonlyMap<string, ProposalTurn>;
}

/** The portfolio member, relay leg or tuning search that proposed in an iteration. */
export interface ProposalTurn {
  readonly iteration: number;
  readonly member: string;
}

interface Prompt {
  readonly messages: readonly ChatMessage[];
  readonly shown?: ShownEvaluations;
  readonly formatCorrection: (failure: ParseFailure) => string;
}

/** A request for proposals. Baselines read the task, language models the prompt. */
export interface ProposalRequest {
  readonly iteration: number;
  /** Numbers of the candidates to propose, ascending. */
  readonly candidates: readonly number[];
  /** Maximum number of further attempts per candidate. */
  readonly corrections: number;
  readonly seed: (candidate: number, attempt: number) => number;
  readonly task: SearchTask;
  readonly prompt: Prompt;
  /** Purpose of the calls, if they aren't for proposals. */
  readonly purpose?: string;
  /** Absent for stages. */
  readonly pastProposals?: PastProposals;
  /** Name of the portfolio member, relay leg or tuning search that proposes. */
  readonly member?: string;
  /** Proposals of this iteration that come from other proposers. */
  readonly siblings?: readonly ParameterVector[];
  /** Finds an earlier use of the same parameters. */
  readonly seen: (parameters: ParameterVector) => EarlierUse | undefined;
  /** Returns the reason for rejecting new parameters, if there is one, e.g. that they act like earlier ones. */
  readonly check?: RepeatCheck | undefined;
  readonly read: (reply: string, context: ParseContext) => ParseResult;
  readonly grammar?: AnswerGrammar | undefined;
  /** Returns the source of a program. */
  readonly programOf?: ((parameters: ParameterVector) => string) | undefined;
  /** Sampling settings after a reply that repeats earlier parameters or the prompt's; unchanged if omitted. */
  readonly afterRepeat?: ((attempt: number) => SamplingChoice) | undefined;
  /** Maximum number of requests in flight at once. */
  readonly concurrency: number;
  readonly caller: CallContext;
  /** Finds a call that an earlier process recorded for this iteration. */
  readonly findRecorded: (
    candidate: number,
    attempt: number,
    messages: readonly ChatMessage[],
  ) => CallRecord | undefined;
  /** Receives each new call once its outcome is known. */
  readonly onCall: (call: CallRecord) => void;
  /** True if this process has already reached the model's server. Default: true. */
  readonly isReached?: boolean;
  /** If nothing is accepted, stops once this many replies are rejected. Default: unlimited. */
  readonly maxRejected?: number;
}

/** Source of a proposal; `tuning`: a search over the constants of a program. */
export type ProposalSource = 'model' | 'baseline' | 'tuning';

/** @param siblings the iteration's other proposals */
export type RepeatCheck = (
  parameters: ParameterVector,
  siblings: readonly ParameterVector[],
  source: ProposalSource,
) => Promise<ParseFailure | undefined>;

/** One candidate's calls, in order, and the parameters of the last one if it was accepted. */
export interface Proposal {
  readonly candidate: number;
  readonly calls: readonly CallRecord[];
  readonly parameters?: ParameterVector | undefined;
  /** True if it came from tuning a program's constants. */
  readonly tuned?: true;
}

/** `end`: the reason why the run ends. After a stop request or a time limit, there are no proposals. */
export interface Proposals {
  readonly proposals: readonly Proposal[];
  readonly end?: StopReason | undefined;
}

export const callsOf = ({ proposals }: Proposals): readonly CallRecord[] =>
  proposals.flatMap(({ calls }) => calls);

/** Finds an earlier use of parameters, including in the iteration's other proposals. */
export const earlierUseFinder =
  ({ iteration, seen }: Pick<ProposalRequest, 'iteration' | 'seen'>, siblings: readonly ParameterVector[]) =>
  (parameters: ParameterVector): EarlierUse | undefined =>
    siblings.some((other) => vectorKey(other) === vectorKey(parameters)) ? { iteration } : seen(parameters);

/** Joins the proposals of several proposers; none if one of them was interrupted. */
export function joinProposals(parts: readonly Proposals[]): Proposals {
  const ends = parts.flatMap((part) => part.end ?? []);
  const end = ends.find(({ kind }) => kind === 'interrupted') ?? ends[0];
  const proposals = end?.kind === 'interrupted' ? [] : parts.flatMap((part) => part.proposals);
  return { proposals: proposals.toSorted((a, b) => a.candidate - b.candidate), end };
}
