import type { Config } from '../config/config.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EvaluationSetting } from '../rollout/evaluation.js';
import type { Racing } from '../rollout/racing.js';
import type { ReplayBuffer } from '../rollout/replay-buffer.js';
import type { CallRecord, RunEvent } from '../runs/events.js';
import type { Ledger } from './ledger.js';
import type { Prompter } from './prompter.js';
import type { Proposer } from './proposer.js';

/** Everything a run needs, put together by `assemble`. */
export interface Experiment {
  /** Name of the run. */
  readonly run: string;
  readonly config: Config;
  /** Root seed of this run. */
  readonly seed: number;
  readonly setting: EvaluationSetting;
  /** Undefined where all episodes are played. */
  readonly racing: Racing | undefined;
  readonly model: Proposer;
  readonly prompter: Prompter;
  readonly buffer: ReplayBuffer;
  /** Parameters of an earlier run, to be evaluated first. */
  readonly imported: readonly ParameterVector[];
  readonly ledger: Ledger;
  /** The last complete iteration: 0 for a new run. */
  readonly completed: number;
  /** Calls of an iteration that an earlier process did not finish. */
  readonly unfinishedCalls: readonly CallRecord[];
  /** Milliseconds spent on this run, by earlier processes too. */
  readonly activeMs: () => number;
  /** Milliseconds of the other repeats, where they share limits; else 0. */
  readonly otherMs: number;
  readonly emit: (event: RunEvent) => void;
  /** Keys of the warnings that were given already. */
  readonly warned: Set<string>;
  /** Makes what was emitted durable. */
  readonly commit: () => Promise<void>;
  readonly now: () => Date;
}

/** How a user ends a run early. */
export interface StopRequests {
  /** Finish the iteration, then close. */
  readonly finish: AbortSignal;
  /** Stop now. */
  readonly abort: AbortSignal;
}
