import type { Action } from '../environments/environment.js';
import type { EnvironmentFailure } from '../environments/remote/remote-environment.js';
import type { AttemptHooks, ModelErrorKind, ReplyFault } from '../models/language-model.js';
import type { ParseFailure } from '../prompting/answer/failure.js';
import type { Episode, EpisodeRecord } from '../rollout/episode.js';
import type { BufferEntry, Candidate } from '../rollout/replay-buffer.js';
import type { CallRecord, LimitName, LimitUsage, UsageTotals } from './calls.js';

export interface GameTurn {
  readonly message: string;
  /** Present only if a model plays. */
  readonly reply?: string;
  /** Absent if the reply named no action and no fallback action was taken. */
  readonly action?: Action;
  /** The action's name, if the action is recorded as a number and has a name. */
  readonly words?: string;
  /** False if the reply named no possible action; absent if no model plays. */
  readonly valid?: boolean;
  readonly reward: number;
}

/** A line of `episodes.jsonl` for an agent run. A game's calls have the same iteration and candidate numbers. */
export interface GameRecord extends Episode {
  /** 1-based index of the batch of concurrent games. */
  readonly iteration: number;
  readonly candidate: number;
  /** 0-based index of the game within the agent run. */
  readonly episode: number;
  readonly seed: number;
  readonly turns: readonly GameTurn[];
  /** The latest message for the model, usually the final observation. */
  readonly last: string;
  /** This and the following fields are present only in text worlds. */
  readonly objective?: string;
  readonly score?: number;
  readonly maxScore?: number | null;
  readonly won?: boolean;
  readonly lost?: boolean;
}

/**
 * A candidate's evaluation on fresh seeds. `selection`: to choose among the best few candidates. `final`: the chosen
 * candidate, on seeds that played no part in choosing it.
 */
export interface Confirmation extends Candidate {
  readonly stage: 'selection' | 'final';
  /** The candidate's score during the search. */
  readonly observed: number;
  readonly mean: number;
  /** 95% interval of the mean. */
  readonly ci95: readonly [number, number] | null;
  readonly episodes: number;
}

/** Maximum number of episodes for comparing the best policies: three times as many as for the final figure. */
export const selectionBudget = (episodes: number): number => 3 * episodes;

/** Size of the differences that chance causes between the mean returns of two equally good policies. */
export interface Noise {
  /** Two equal policies differ by more than this in 5 % of evaluations; 0 if their difference never varies. */
  readonly floor: number;
  /** Episodes per evaluation. */
  readonly episodes: number;
  /** Lead of the best policy over the best one that acts differently. */
  readonly lead: number;
  /** Minimum number of episodes for the lead to reach the floor; absent if there is no lead. */
  readonly needed?: number;
}

/** The confirmation that counts as the result of a run. */
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
      /** The model answered, but no proposal was ever accepted. */
      readonly kind: 'no-proposals';
      /** Why the first reply was rejected. */
      readonly message: string;
      /** The limit that ended the run, if one did. */
      readonly limit?: LimitName;
    }
  | {
      readonly kind: 'environment-error';
      readonly failure: EnvironmentFailure;
      readonly message: string;
    };

/** The outcome of asking for a revision. `candidate`: the revision's number among the candidates. */
export interface Revision {
  readonly kind: 'revised';
  readonly iteration: number;
  readonly candidate: number;
  /** Number of the candidate to revise. */
  readonly revises: number;
  /** `kept`: nothing was changed. `rejected`: no usable revision. */
  readonly result: 'better' | 'no-better' | 'kept' | 'rejected';
  /** Score of the candidate before its revision. */
  readonly before: number;
  /** Score of the revision, if it was evaluated. */
  readonly after?: number;
  /** Size of the change, in [0, 1]. */
  readonly distance?: number;
}

/** Outcomes of the proposals in a run. */
export interface ProposalTally {
  readonly rejected: number;
  /** Requests for revisions. */
  readonly revisions: number;
  /** Revisions that scored higher than the original. */
  readonly better: number;
}

export function tallyOf(events: Iterable<RunEvent>, earlierTally?: ProposalTally): ProposalTally {
  let { better, rejected, revisions } = earlierTally ?? { better: 0, rejected: 0, revisions: 0 };
  for (const event of events) {
    if (event.kind === 'proposal-rejected') rejected++;
    if (event.kind !== 'revised') continue;
    revisions++;
    if (event.result === 'better') better++;
  }
  return { better, rejected, revisions };
}

/** Anything that happens in a run. The console output, the logs and the report are made from these events. */
export type RunEvent =
  | {
      readonly kind: 'run-started';
      readonly run: string;
      readonly environment: string;
      readonly model: string;
      /** Number of parameters; 0 for an agent run, absent if policies are programs. */
      readonly parameters?: number;
      readonly iterations: number;
      readonly resumedAt?: number;
      /** Present only for a resumed run. */
      readonly best?: BufferEntry;
      /** Present only for a resumed run. */
      readonly tally?: ProposalTally;
    }
  | {
      readonly kind: 'warmup-evaluated';
      readonly entry: BufferEntry;
      readonly episodes: readonly EpisodeRecord[];
      /** Total number of warm-up policies, including imported ones. */
      readonly of: number;
    }
  | { readonly kind: 'call-finished'; readonly call: CallRecord }
  | {
      readonly kind: 'proposal-rejected';
      readonly iteration: number;
      readonly candidate: number;
      readonly failures: readonly (ParseFailure['kind'] | 'model-error')[];
    }
  | {
      readonly kind: 'candidate-evaluated';
      readonly entry: BufferEntry;
      readonly episodes: readonly EpisodeRecord[];
      readonly improved: boolean;
    }
  | Revision
  | { readonly kind: 'game-finished'; readonly game: GameRecord }
  /** `score`: the best candidate's score (absent if nothing was evaluated), or the mean return of a batch of games. */
  | {
      readonly kind: 'iteration-finished';
      readonly iteration: number;
      readonly score?: number;
      readonly best?: number;
      readonly usage: UsageTotals;
      /** The amount used of each limit. */
      readonly caps?: readonly LimitUsage[];
    }
  | { readonly kind: 'warning'; readonly message: string }
  /** The first fault of its kind in this process; later ones are only counted. */
  | { readonly kind: 'fault'; readonly fault: ModelErrorKind | ReplyFault; readonly message: string }
  /** The user asked the run to stop, but calls are in flight. The run waits for them, for at most `seconds` if set. */
  | { readonly kind: 'waiting'; readonly seconds?: number }
  /** A request is waiting because the server, or `model.requestsPerMinute`, limits the rate. */
  | { readonly kind: 'rate-limited'; readonly seconds: number }
  /** A local model has read this many tokens of a prompt, and writes once it has read all; shown, but not logged. */
  | { readonly kind: 'reading'; readonly read: number; readonly of: number }
  /** After the warm-up, and before the confirmation. */
  | { readonly kind: 'noise-measured'; readonly noise: Noise }
  /** `of` is the number of results if no program fails: 1 for a single candidate, otherwise `candidates` + 1. */
  | {
      readonly kind: 'confirmation-started';
      readonly candidates: number;
      /** Episodes of the final figure. */
      readonly episodesEach: number;
      /** Maximum number of episodes in which the candidates are compared. */
      readonly budget: number;
      readonly of: number;
    }
  | { readonly kind: 'confirmed'; readonly confirmation: Confirmation; readonly of: number }
  | {
      readonly kind: 'run-finished';
      readonly reason: StopReason;
      readonly best?: BufferEntry;
      readonly confirmed?: Confirmation;
      readonly usage: UsageTotals;
      /** The amount used of each limit. */
      readonly caps?: readonly LimitUsage[];
    };

/** Returns a function that emits the first fault of each kind, except `aborted`. */
export function faultReporter(emit: (event: RunEvent) => void): NonNullable<AttemptHooks['onFault']> {
  const seen = new Set<string>(['aborted']);
  return (fault, message) => {
    if (seen.has(fault)) return;
    seen.add(fault);
    emit({ kind: 'fault', fault, message });
  };
}

/** A line of `events.jsonl`. */
export type LoggedEvent = {
  /** ISO 8601. */
  readonly time: string;
  /** Line counts of the other logs after the iteration; if a log has fewer lines, the iteration is incomplete. */
  readonly lines?: { readonly evaluations: number; readonly episodes: number; readonly calls: number };
} & RunEvent;
