import type { Config } from '../config/config.js';
import { isByBaseline } from '../config/model.js';
import type { LanguageModel } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { BehaviourTest } from '../rollout/behaviour-test.js';
import type { EvaluationSetting, Measured } from '../rollout/evaluation.js';
import type { ReplayBuffer } from '../rollout/replay-buffer.js';
import { type CallRecord, type EndedCall, mostRejections, stageOf } from '../runs/calls.js';
import type { firstFaults, ProposalTally, RunEvent, StopReason } from '../runs/events.js';
import type { StopRequests } from '../runs/stop-request.js';
import type { RunDirectory } from '../runs/writer.js';
import type { Ledger } from './budget/ledger.js';
import type { Prompter } from './prompter.js';
import type { Proposer } from './proposer.js';

/** Everything that the outer loop reads or changes while it runs. */
export interface Experiment {
  readonly run: string;
  readonly config: Config;
  readonly seed: number;
  readonly setting: EvaluationSetting;
  readonly model: Proposer;
  /** The model that reads prompts, possibly a portfolio member; undefined if only baselines propose. */
  readonly languageModel: LanguageModel | undefined;
  /** True if a baseline is the only proposer, here or in the replayed run. A baseline answers with plain parameters. */
  readonly isBaseline: boolean;
  readonly prompter: Prompter;
  /** Finds programs that behave like earlier ones; undefined for other policies. */
  readonly behaviour: BehaviourTest | undefined;
  readonly stages: readonly Stage[];
  readonly buffer: ReplayBuffer;
  /** Parameters from an earlier run, evaluated first. */
  readonly imported: readonly ParameterVector[];
  readonly ledger: Ledger;
  /** Counts of proposal outcomes in earlier processes. */
  readonly tally: ProposalTally;
  /** The last complete iteration; 0 for a new run. */
  completed: number;
  /** Calls of the iterations that an earlier process did not finish. */
  readonly unfinishedCalls: readonly CallRecord[];
  /** Answers that an earlier process received and counted but didn't interpret. */
  readonly arrived: readonly EndedCall[];
  /** Tally of accepted and rejected replies, across all processes. */
  readonly replies: Replies;
  /** How the model's proposal calls have gone in this process. */
  readonly asked: AskedSoFar;
  /** Records a request before it is sent; undefined if calls are free. */
  readonly ask: RunDirectory['ask'] | undefined;
  /** Active time of this run in milliseconds, across all processes. */
  readonly activeMs: () => number;
  readonly emit: (event: RunEvent) => void;
  /** Emits a warning once per run; warnings that differ only in numbers count as equal. */
  readonly warn: (message: string) => void;
  readonly onFault: ReturnType<typeof firstFaults>;
  /** Makes emitted events durable in the background; see `RunDirectory`. */
  readonly commit: () => Promise<void>;
  readonly now: () => Date;
}

interface AskedSoFar {
  /** True once a call was answered, or failed for a reason other than the network. */
  isReached: boolean;
  isAnswered: boolean;
  /** Error message of the last failed call; undefined if none has failed. */
  lastError: string | undefined;
}

/** An optional step of an iteration, run once its proposals are evaluated and recorded. */
export interface Stage {
  /** If true, the stage runs in this iteration, and needs the trajectories of all its episodes. */
  isDue(iteration: number): boolean;
  /**
   * May add evaluations and events to the iteration.
   * @returns why the run ends, if it does
   */
  run(
    experiment: Experiment,
    iteration: number,
    evaluated: readonly Measured[],
    stop: StopRequests,
  ): Promise<StopReason | undefined>;
}

export class Replies {
  readonly #isBaseline: boolean;
  /** True once any proposal, including a baseline's, has been accepted. */
  isAnyAccepted = false;
  isModelAccepted = false;
  /** Number of the model's rejected replies, including replies to corrections. */
  rejected = 0;
  /** The first of the model's replies that was rejected. */
  first: CallRecord | undefined;

  /** @param isBaseline true if only a baseline proposes; its replies don't count as a model's */
  constructor(isBaseline: boolean) {
    this.#isBaseline = isBaseline;
  }

  /** Counts a call's outcome; ignores calls other than proposals. */
  count(call: CallRecord): void {
    if (stageOf(call) !== 'proposal') return;
    const isModel = !this.#isBaseline && !isByBaseline(call);
    if (call.outcome.kind === 'accepted') {
      this.isAnyAccepted = true;
      this.isModelAccepted ||= isModel;
    }
    if (call.outcome.kind !== 'rejected' || !isModel) return;
    this.rejected++;
    this.first ??= call;
  }

  /** Number of replies that may still be rejected; infinite once a proposal has been accepted. */
  get left(): number {
    return this.isAnyAccepted ? Number.POSITIVE_INFINITY : mostRejections - this.rejected;
  }
}
