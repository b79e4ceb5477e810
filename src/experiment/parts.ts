import type { Config } from '../config/config.js';
import type { ParameterVector } from '../policies/policy.js';
import type { Ledger } from '../proposers/budget.js';
import type { ProposalTurn, Proposer } from '../proposers/proposer.js';
import type { BehaviorTest } from '../rollout/behavior-test.js';
import type { EvaluatedPolicy, EvaluationSetup } from '../rollout/evaluation.js';
import type { ReplayBuffer } from '../rollout/replay-buffer.js';
import type { CallRecord } from '../runs/calls.js';
import type { faultReporter, ProposalTally, RunEvent, StopReason } from '../runs/events.js';
import type { StopRequests } from '../runs/stop-request.js';
import type { RunDirectory } from '../runs/writer.js';
import type { Prompter } from './prompter.js';

/** Everything that the outer loop uses while it runs. */
export interface Experiment {
  readonly config: Config;
  readonly setting: EvaluationSetup;
  readonly proposer: Proposer;
  readonly prompter: Prompter;
  /** Finds policies that act alike. */
  readonly behavior: BehaviorTest;
  readonly stages: readonly Stage[];
  /** Parameters from an earlier run, evaluated first. */
  readonly imported: readonly ParameterVector[];
  readonly buffer: ReplayBuffer;
  readonly progress: RunProgress;
  readonly ledger: Ledger;
  /** Calls that an earlier process made for unfinished iterations. */
  readonly earlierCalls: readonly CallRecord[];
  /** Outcomes of the proposals of earlier processes. */
  readonly tally: ProposalTally;
  readonly log: RunLog;
  readonly clock: RunClock;
}

interface RunLog {
  /** Name of the run. */
  readonly run: string;
  readonly emit: (event: RunEvent) => void;
  /** Emits a warning once per run; warnings that differ only in numbers count as equal. */
  readonly warn: (message: string) => void;
  readonly onFault: ReturnType<typeof faultReporter>;
  /** Records a request before it is sent; undefined if the run calls no language model, as in a replay. */
  readonly send: RunDirectory['send'] | undefined;
  /** Makes emitted events durable in the background; see `RunDirectory`. */
  readonly commit: () => Promise<void>;
}

export interface RunClock {
  readonly now: () => Date;
  /** Active time of this run in milliseconds, across all processes. */
  readonly activeMs: () => number;
}

/** An optional step of an iteration, run once its proposals are evaluated and recorded. */
export interface Stage {
  /** True if the stage runs in this iteration, and so needs the trajectories of all its episodes. */
  isDue(iteration: number): boolean;
  /**
   * May add evaluations and events to the iteration.
   * @returns the stop reason if the run ends
   */
  run(
    experiment: Experiment,
    iteration: number,
    evaluated: readonly EvaluatedPolicy[],
    stop: StopRequests,
  ): Promise<StopReason | undefined>;
}

/** The progress of the run, and the outcomes of its calls; see `countCall`. */
export interface RunProgress {
  /** The last complete iteration; 0 if there is none. */
  lastIteration: number;
  /** Members that proposed candidates, in all processes; keys are `iteration/candidate`. */
  readonly memberTurns: Map<string, ProposalTurn>;
  /** Purposes of this process's calls that were answered, or failed for a reason other than the network. */
  readonly reachedPurposes: Set<string>;
  /** True once a proposal call of this process was answered. */
  isAnswered: boolean;
  /** Message of the last failed proposal call of this process. */
  lastError?: string;
  /** True once any proposal, including a baseline's, has been accepted. */
  isAnyAccepted: boolean;
  isModelAccepted: boolean;
  /** Number of the model's rejected replies to proposal calls, including corrections. */
  rejected: number;
  /** The model's first rejected reply to a proposal call. */
  firstRejected?: CallRecord;
}
