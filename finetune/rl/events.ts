/** Events of reinforcement learning, for console, log and page. */

import type { ControlledTraining, Timed } from '../train/record.js';
import type { Improvement } from './improvement.js';
import type { Baseline } from './learning/task.js';

export interface RlAlarm {
  readonly alarm: 'no-variance' | 'entropy-collapse' | 'mismatch' | 'format-loss' | 'length-drift';
  readonly message: string;
  readonly remedy: string;
}

/** Mean return of an evaluation, and the update after which it was measured. */
export interface Evaluated {
  readonly step: number;
  readonly meanReward: number;
  /** Half-width of the 95 % interval of the mean. */
  readonly margin: number;
  /** Mean return of the proposed policies; proposers only. */
  readonly policyReturn?: number | undefined;
  /** Best return of a held-out run, averaged over the runs; proposers only. */
  readonly bestReturn?: number | undefined;
}

export type RlEvent =
  | {
      readonly kind: 'start';
      /** Completed updates: 0, or those of the checkpoint. */
      readonly step: number;
      readonly totalSteps: number;
      /** Episodes per update. */
      readonly episodes: number;
      readonly best?: Pick<Evaluated, 'step' | 'meanReward'> | undefined;
    }
  | ({
      readonly kind: 'step';
      /** One-based. */
      readonly step: number;
      readonly totalSteps: number;
      /** Mean return of the update's episodes. */
      readonly reward: number;
      /** Return of the worst episode; `highest` is that of the best. */
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
      /** The part of the metric's `seconds` spent on playing episodes. */
      readonly samplingSeconds: number;
    } & Improvement)
  | ({ readonly kind: 'evaluation'; readonly episodes: number; readonly best: boolean } & Evaluated)
  | ({ readonly kind: 'baseline'; readonly step: number } & Baseline)
  | { readonly kind: 'checkpoint'; readonly step: number }
  | ({ readonly kind: 'alarm'; readonly step: number } & RlAlarm)
  | ControlledTraining;

export type RlEventOf<Kind extends RlEvent['kind']> = Extract<RlEvent, { readonly kind: Kind }>;

export type RlMetric = Timed<RlEvent>;
export type RlMetricOf<Kind extends RlMetric['kind']> = Timed<RlEventOf<Kind>>;
