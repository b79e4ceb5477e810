import type { Config } from '../config/config.js';
import { isByBaseline } from '../config/model.js';
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

/** Everything that the outer loop reads while it runs. */
export interface Experiment {
  readonly config: Config;
  readonly setting: EvaluationSetting;
  readonly model: Proposer;
  /** True if a baseline is the only proposer, here or in the replayed run. A baseline answers with plain parameters. */
  readonly isBaseline: boolean;
  readonly prompter: Prompter;
  /** Finds programs that behave like earlier ones; undefined for other policies. */
  readonly behaviour: BehaviourTest | undefined;
  readonly stages: readonly Stage[];
  /** Parameters from an earlier run, evaluated first. */
  readonly imported: readonly ParameterVector[];
  readonly buffer: ReplayBuffer;
  readonly progress: Progress;
  readonly ledger: Ledger;
  readonly earlier: EarlierProcesses;
  readonly log: RunLog;
  readonly clock: RunClock;
}

interface RunLog {
  /** Name of the run. */
  readonly run: string;
  readonly emit: (event: RunEvent) => void;
  /** Emits a warning once per run; warnings that differ only in numbers count as equal. */
  readonly warn: (message: string) => void;
  readonly onFault: ReturnType<typeof firstFaults>;
  /** Records a request before it is sent; undefined if calls are free. */
  readonly ask: RunDirectory['ask'] | undefined;
  /** Makes emitted events durable in the background; see `RunDirectory`. */
  readonly commit: () => Promise<void>;
}

export interface RunClock {
  readonly now: () => Date;
  /** Active time of this run in milliseconds, across all processes. */
  readonly activeMs: () => number;
}

/** What earlier processes of this run left. */
interface EarlierProcesses {
  readonly tally: ProposalTally;
  /** Calls of unfinished iterations. */
  readonly calls: readonly CallRecord[];
  /** Answers that were received and counted but not interpreted. */
  readonly arrived: readonly EndedCall[];
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

/** How far the run is, and what became of the replies. */
export class Progress {
  readonly #isBaseline: boolean;
  /** The last complete iteration; 0 for a new run. */
  completed: number;
  /** True once a proposal call of this process was answered, or failed for a reason other than the network. */
  isReached = false;
  /** True once a proposal call of this process was answered. */
  isAnswered = false;
  /** Message of the last failed proposal call of this process. */
  lastError: string | undefined;
  /** True once any proposal, including a baseline's, has been accepted. */
  isAnyAccepted = false;
  isModelAccepted = false;
  /** Number of the model's rejected replies, including replies to corrections. */
  rejected = 0;
  /** The first of the model's replies that was rejected. */
  first: CallRecord | undefined;

  /** @param isBaseline true if only a baseline proposes; its replies don't count as a model's */
  constructor(isBaseline: boolean, completed: number) {
    this.#isBaseline = isBaseline;
    this.completed = completed;
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
