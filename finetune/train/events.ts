/** Events of training runs of every kind. The console, the record and the page read them. */
import type { StepLoss } from '../engine/checkpoint.js';

/** Counts over the usable examples of a split, which have a nonzero weight and a reply. */
interface SplitSize {
  readonly examples: number;
  /** Total number of tokens in the examples. */
  readonly tokens: number;
}

/** Figures of an optimizer step of a language model. */
interface OptimizerFigures {
  /** Loss on the step's examples before the update. */
  readonly loss: number;
  readonly gradientNorm: number;
  readonly learningRate: number;
  /** Total number of tokens in the examples, without padding; a shared prompt counts once per example. */
  readonly tokens: number;
}

/** Statistics of an update's first optimizer step, except `tokens` and `clipShare`; means are over trained tokens. */
export interface PolicyUpdateFigures extends OptimizerFigures {
  /** Nats per token. */
  readonly entropy: number;
  /** KL divergence between the sampler's and the trainer's policy before the update; 0 if they agree. */
  readonly mismatch: number;
  /** Largest absolute difference between the two log-probabilities of a token. */
  readonly largestMismatch: number;
  /** KL divergence from the reference; missing without a reference. */
  readonly kl?: number;
  /** Share of the returns' variance explained by the value head before the update; missing without head or variance. */
  readonly explainedVariance?: number;
  /** Fraction of tokens with a clipped ratio in the update's last optimizer step. */
  readonly clipShare: number;
}

/** Figures of the episodes that a language model played for an update. */
interface EpisodeFigures {
  /** Mean return of the update's episodes. */
  readonly reward: number;
  /** Return of the worst episode; `highest` is the return of the best. */
  readonly lowest: number;
  readonly highest: number;
  /** Standard deviation of the returns within a group, averaged over the groups. */
  readonly spread: number;
  /** Fraction of groups whose returns are all equal. */
  readonly flat: number;
  /** Mean return of the proposed policies; proposers only. */
  readonly policyReturn?: number;
  /** Fraction of replies that could be parsed into an action or parameters. */
  readonly valid: number;
  /** Mean number of turns per episode. */
  readonly turns: number;
  /** Mean number of tokens per reply. */
  readonly replyTokens: number;
  readonly sampledTokens: number;
  /** Seconds spent playing episodes; part of the metric's `seconds`. */
  readonly samplingSeconds: number;
}

/** Figures of an update of a numeric policy. */
export interface UpdateFigures {
  /** KL divergence from the policy before the update, in nats; for PPO, the mean over its last epoch. */
  readonly kl: number;
  readonly entropy: number;
  readonly valueLoss: number;
  /** Norm of the gradient of the policy's loss or surrogate. */
  readonly gradientNorm: number;
  /** Fraction of steps whose ratio PPO clipped. */
  readonly clipShare?: number;
  /** Number of times TRPO halved its step; null if no step was accepted. */
  readonly backtracks?: number | null;
}

/** Total numbers of training episodes and of their steps so far. */
interface PlayTotals {
  readonly episodes: number;
  readonly steps: number;
}

interface TrainingStep {
  readonly kind: 'step';
  /** Numbered from 1. */
  readonly step: number;
  readonly totalSteps?: number;
}

/** An update of a language model by reinforcement learning. */
export type PolicyStep = TrainingStep & EpisodeFigures & PolicyUpdateFigures;

export const isPolicyStep = (event: TrainingEvent): event is PolicyStep =>
  event.kind === 'step' && event.flat !== undefined;

type StepEvent = TrainingStep & Partial<EpisodeFigures & PolicyUpdateFigures & UpdateFigures & PlayTotals>;

/** Result of an evaluation, and the update after which it was measured. */
export interface EvaluationResult {
  readonly step: number;
  readonly meanReward: number;
  /** Half the width of the mean's 95% interval. */
  readonly margin?: number;
  /** Mean return of the proposed policies; proposers only. */
  readonly policyReturn?: number | undefined;
  /** Best return of a held-out run, averaged over the runs; proposers only. */
  readonly bestReturn?: number | undefined;
}

export interface Alarm {
  readonly alarm:
    | 'other-prompts'
    | 'validation-diverging'
    | 'no-variance'
    | 'entropy-collapse'
    | 'mismatch'
    | 'format-loss';
  readonly message: string;
  readonly hint: string;
}

export type TrainingEvent =
  | {
      readonly kind: 'start';
      /** Number of completed steps; more than 0 if training resumes from a checkpoint. */
      readonly step: number;
      readonly totalSteps: number;
      /** Tokens of all steps, plus a third of the tokens of all validations, which need no backward pass. */
      readonly work?: number;
      /** Number of trained parameters; for a numeric policy, with its value function and normalization. */
      readonly parameters: number;
      /** Estimated memory of the sessions and the largest step; supervised training only. */
      readonly sessionBytes?: number;
      /** The splits of the dataset. */
      readonly training?: SplitSize;
      readonly validation?: SplitSize;
      /** Episodes per update of a language model. */
      readonly episodes?: number;
      /** Quantity that evaluations measure, such as `mean return`. */
      readonly measured?: string;
      /** The best evaluation of earlier sessions; missing if there was none. */
      readonly best?: StepLoss | Pick<EvaluationResult, 'step' | 'meanReward'> | undefined;
    }
  | StepEvent
  | ({ readonly kind: 'validation'; readonly best: boolean; readonly work?: number } & StepLoss)
  | ({ readonly kind: 'evaluation'; readonly episodes: number; readonly best: boolean } & EvaluationResult)
  /** A baseline search with the budget of training or, for proposers, held-out runs. `returns`: of final episodes. */
  | {
      readonly kind: 'baseline';
      readonly step: number;
      readonly label: string;
      readonly episodes: number;
      readonly bestReturn?: number;
      readonly returns?: readonly number[];
    }
  /** The result: training `episodes`, and `returns` of episodes with new seeds (proposers: scores of fresh runs). */
  | {
      readonly kind: 'final';
      readonly step: number;
      readonly episodes: number;
      readonly returns: readonly number[];
    }
  | { readonly kind: 'checkpoint'; readonly step: number }
  | ({ readonly kind: 'alarm'; readonly step: number } & Alarm);

export type EventOf<Kind extends TrainingEvent['kind']> = Extract<TrainingEvent, { readonly kind: Kind }>;

type WithTiming<Event> = Event & {
  /** ISO 8601. */
  readonly time: string;
  /** Seconds since the session's previous event (or start), e.g. a step's duration; without pauses between sessions. */
  readonly seconds: number;
  /** Resident memory of the process. */
  readonly rssBytes: number;
  /** Speed of a language model's step; missing for other events. */
  readonly tokensPerSecond?: number;
};

export type Metric = WithTiming<TrainingEvent>;
export type MetricOf<Kind extends Metric['kind']> = Extract<Metric, { readonly kind: Kind }>;
