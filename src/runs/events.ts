import type { Action } from '../environments/environment.js';
import type { EnvironmentFailure } from '../environments/remote/remote-environment.js';
import type { GenerateOptions, ModelErrorKind, ReplyFault } from '../models/language-model.js';
import type { ParameterVector } from '../policies/policy.js';
import type { EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry, Feedback, RacingTotals } from '../rollout/replay-buffer.js';
import type { CallRecord, Cap, LimitName, LoggedFailure, UsageTotals } from './calls.js';

/** One turn of a game. */
export interface GameTurn {
  /** What the player was shown. */
  readonly message: string;
  /** Of a model. */
  readonly reply?: string;
  /** Absent where no step was taken: the reply named none. */
  readonly action?: Action;
  /** What the action is called, where it is a number that has a name. */
  readonly words?: string;
  /** False where the action is not the reply's; absent for players without a model. */
  readonly valid?: boolean;
  readonly reward: number;
}

/** A game of a play: a line of `episodes.jsonl`. Its calls have the same iteration and candidate. */
export interface GameRecord {
  /** Games that are played side by side share it. */
  readonly iteration: number;
  readonly candidate: number;
  /** Number of the game, from 0. */
  readonly episode: number;
  readonly seed: number;
  readonly turns: readonly GameTurn[];
  /** What was to be seen at the end. */
  readonly last: string;
  readonly return: number;
  /** Steps taken. */
  readonly length: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** Of a text world. */
  readonly objective?: string;
  readonly score?: number;
  readonly maxScore?: number | null;
  readonly won?: boolean;
  readonly lost?: boolean;
}

/**
 * A candidate evaluated again on untouched seeds. `selection`: among the best few, to choose one. `final`: the chosen
 * one, on seeds that took no part in choosing it either.
 */
export interface Confirmation {
  readonly stage: 'selection' | 'final';
  readonly iteration: number;
  readonly candidate: number;
  readonly parameters: ParameterVector;
  /** The score it was selected by. */
  readonly observed: number;
  readonly mean: number;
  /** 95 % interval of the mean. */
  readonly ci95: readonly [number, number];
  readonly episodes: number;
}

/** The best candidate on seeds that neither proposed nor chose it: what a run is judged by. */
export function finalConfirmation(confirmations: readonly Confirmation[]): Confirmation | undefined {
  return confirmations.find(({ stage }) => stage === 'final');
}

export type StopReason =
  | { readonly kind: 'iterations' }
  | { readonly kind: 'target'; readonly return: number }
  | { readonly kind: 'limit'; readonly limit: LimitName }
  | { readonly kind: 'interrupted' }
  | { readonly kind: 'model-error'; readonly message: string }
  | {
      /** The model was asked, but no proposal was ever accepted. */
      readonly kind: 'no-proposals';
      /** Why the first reply was rejected. */
      readonly message: string;
      /** What ended the run; absent for its last iteration. */
      readonly limit?: LimitName;
    }
  | {
      readonly kind: 'environment-error';
      readonly failure: EnvironmentFailure;
      readonly message: string;
    };

/** An update of the model by the candidates that were evaluated since the last one; means are over trained tokens. */
export interface Adaptation {
  /** 1 for the first. */
  readonly update: number;
  /** Answers that it compared, in their groups. */
  readonly answers: number;
  readonly groups: number;
  /** Mean reward of the answers. */
  readonly reward: number;
  /** Mean over the groups of the standard deviation of their rewards. */
  readonly spread: number;
  /** Share of groups whose rewards are all equal, which teach nothing. */
  readonly flat: number;
  /** Steps of the optimizer; 0 where all groups were flat, and then what follows is absent. */
  readonly steps: number;
  readonly loss?: number;
  readonly gradientNorm?: number;
  /** In nats. */
  readonly entropy?: number;
  /** KL divergence to the model that the run began with, and of the trainer to the sampler, in nats a token. */
  readonly kl?: number;
  readonly mismatch?: number;
  /** Part of the run's wall time. */
  readonly seconds: number;
}

/** A setting that was changed while the run went; absent where it was or is left out. */
export interface SettingChange {
  /** Dotted. */
  readonly key: string;
  readonly was?: unknown;
  readonly now?: unknown;
}

/** What became of a revision, which is a candidate of its iteration too. */
export interface Revision {
  readonly kind: 'revised';
  readonly iteration: number;
  readonly candidate: number;
  /** The candidate that was to be revised. */
  readonly revises: number;
  /** `kept`: the answer changes nothing. `rejected`: no answer could be used, or none came. */
  readonly result: 'better' | 'no-better' | 'kept' | 'rejected';
  /** Score of what was to be revised. */
  readonly before: number;
  /** Score of the revision, where it was evaluated. */
  readonly after?: number;
  /** How much it changes, 0 to 1; see `critic.distance`. */
  readonly distance?: number;
}

/** A question about an episode: who was asked, and what was shown. */
export interface FeedbackQuestion {
  readonly iteration: number;
  /** The candidate whose evaluation it is of. */
  readonly candidate: number;
  /** The episode of that evaluation, from 0. */
  readonly episode: number;
  readonly from: Feedback['from'];
}

/** What came of a question. */
export interface FeedbackResult extends FeedbackQuestion, Pick<Feedback, 'rating' | 'remark'> {
  readonly kind: 'feedback';
  /** `unanswered`: nobody did so in time. `unusable`: no reply of the model could be read, or none came. */
  readonly result: 'given' | 'skipped' | 'unanswered' | 'unusable';
}

/** What became of the proposals of complete iterations. */
export interface ProposalTally {
  readonly rejected: number;
  /** Proposals that a critic was asked to revise. */
  readonly revisions: number;
  /** Revisions with a higher score than what they revise. */
  readonly better: number;
}

export function tallyOf(events: Iterable<RunEvent>, before?: ProposalTally): ProposalTally {
  let { better, rejected, revisions } = before ?? { better: 0, rejected: 0, revisions: 0 };
  for (const event of events) {
    if (event.kind === 'proposal-rejected') rejected++;
    if (event.kind !== 'revised') continue;
    revisions++;
    if (event.result === 'better') better++;
  }
  return { better, rejected, revisions };
}

/** Everything that happens in a run. Console, files, report and tests read this one stream. */
export type RunEvent =
  | {
      readonly kind: 'run-started';
      readonly run: string;
      readonly environment: string;
      readonly model: string;
      readonly parameters: number;
      readonly iterations: number;
      readonly resumedAt?: number;
      /** Only of a resumed run. */
      readonly best?: BufferEntry;
      /** Saved so far; absent without `evaluation.racing`. */
      readonly racing?: RacingTotals;
      /** Only of a resumed run. */
      readonly tally?: ProposalTally;
    }
  | {
      readonly kind: 'warmup-evaluated';
      readonly entry: BufferEntry;
      readonly episodes: readonly EpisodeRecord[];
      /** Warm-up policies in all. */
      readonly of: number;
    }
  | { readonly kind: 'call-finished'; readonly call: CallRecord }
  | {
      readonly kind: 'proposal-rejected';
      readonly iteration: number;
      readonly candidate: number;
      readonly failures: readonly (LoggedFailure['kind'] | 'model-error')[];
    }
  | {
      readonly kind: 'candidate-evaluated';
      readonly entry: BufferEntry;
      readonly episodes: readonly EpisodeRecord[];
      readonly improved: boolean;
    }
  /** The critic was asked to revise a candidate of an iteration. */
  | Revision
  /** Somebody is shown an episode, and waited for. */
  | ({ readonly kind: 'feedback-asked' } & FeedbackQuestion)
  | FeedbackResult
  | { readonly kind: 'game-finished'; readonly game: GameRecord }
  /** An iteration is complete when this is on disk. `score`: of its best candidate; absent when all were rejected. */
  | {
      readonly kind: 'iteration-finished';
      readonly iteration: number;
      readonly score?: number;
      readonly best?: number;
      /** What the model has learnt from this iteration and those before it; absent where it was not trained. */
      readonly adapted?: Adaptation;
      readonly usage: UsageTotals;
      /** The use of each limit; absent without any. */
      readonly caps?: readonly Cap[];
    }
  | { readonly kind: 'warning'; readonly message: string }
  /** The first fault of its kind since the command began, of a try, a call or a reply; later ones are only counted. */
  | { readonly kind: 'fault'; readonly fault: ModelErrorKind | ReplyFault; readonly message: string }
  /** What another process asked for was done; `iteration`: the last complete one then, `request`: its number. */
  | {
      readonly kind: 'controlled';
      readonly request: number;
      readonly action: 'pause' | 'resume' | 'stop' | 'set';
      readonly iteration: number;
      /** What `iteration` counts, where these are no iterations. */
      readonly unit?: 'game' | 'step' | 'update' | 'run';
      /** Of `set`; empty where nothing could be changed. */
      readonly changes?: readonly SettingChange[];
    }
  /** The user asks to stop, but calls are under way: for so long at most, where anything limits that. */
  | { readonly kind: 'waiting'; readonly seconds?: number }
  /** A request waits for its turn (`model.requestsPerMinute`), or as long as the server asks (Retry-After). */
  | { readonly kind: 'rate-limited'; readonly seconds: number }
  /** `of`: measurements that follow, one more than candidates where one of several is chosen. */
  | {
      readonly kind: 'confirmation-started';
      readonly candidates: number;
      readonly episodesEach: number;
      readonly of: number;
    }
  | { readonly kind: 'confirmed'; readonly confirmation: Confirmation; readonly of: number }
  | {
      readonly kind: 'run-finished';
      readonly reason: StopReason;
      readonly best?: BufferEntry;
      readonly confirmed?: Confirmation;
      readonly racing?: RacingTotals;
      readonly usage: UsageTotals;
      /** The use of each limit; absent without any. */
      readonly caps?: readonly Cap[];
    };

/** Emits the first fault of each kind. One that the user asked for is none. */
export function firstFaults(emit: (event: RunEvent) => void): NonNullable<GenerateOptions['onFault']> {
  const told = new Set<string>(['aborted']);
  return (fault, message) => {
    if (told.has(fault)) return;
    told.add(fault);
    emit({ kind: 'fault', fault, message });
  };
}

/** A line of `events.jsonl`: the large parts stand in the other files. */
export type LoggedEvent = {
  /** ISO 8601. */
  readonly time: string;
  /** `iteration-finished` has the numbers of lines of the other files; with fewer, the iteration is not complete. */
  readonly lines?: { readonly evaluations: number; readonly episodes: number; readonly calls: number };
} & RunEvent;
