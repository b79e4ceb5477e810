/** What happens in a reinforcement learning, for console, log and page. */

import type { ControlledTraining } from '../train/steering.js';
import type { Improvement } from './improvement.js';
import type { Baseline } from './learning/task.js';

export interface RlAlarm {
  readonly alarm: 'no-variance' | 'entropy-collapse' | 'mismatch' | 'format-loss' | 'length-drift';
  readonly message: string;
  readonly remedy: string;
}

/** The mean return of an evaluation, and the update after which it was measured. */
export interface Evaluated {
  readonly step: number;
  readonly meanReward: number;
  /** Half of the 95 % interval of the mean. */
  readonly margin: number;
  /** Mean return of the policies that were proposed; of proposers. */
  readonly policyReturn?: number | undefined;
  /** Mean over held-out runs of the best return of each; of proposers. */
  readonly bestReturn?: number | undefined;
}

export type RlEvent =
  | {
      readonly kind: 'start';
      /** Updates already made: 0, or those of the checkpoint that it goes on from. */
      readonly step: number;
      readonly totalSteps: number;
      /** Episodes an update. */
      readonly episodes: number;
      readonly best?: Pick<Evaluated, 'step' | 'meanReward'> | undefined;
    }
  | ({
      readonly kind: 'step';
      /** 1 for the first update. */
      readonly step: number;
      readonly totalSteps: number;
      /** Mean return of the episodes that were played for it. */
      readonly reward: number;
      /** Those of the worst and the best episode. */
      readonly lowest: number;
      readonly highest: number;
      /** Mean over the groups of the standard deviation of their returns. */
      readonly spread: number;
      /** Share of groups whose returns are all equal. */
      readonly flat: number;
      /** Mean return of the policies that were proposed; of proposers. */
      readonly policyReturn?: number;
      /** Share of replies that could be read: they named an action, or parameters. */
      readonly valid: number;
      /** Mean turns of an episode. */
      readonly turns: number;
      /** Mean tokens of a reply. */
      readonly replyTokens: number;
      readonly sampledTokens: number;
      /** Part of `seconds` of the metric that the episodes took. */
      readonly samplingSeconds: number;
    } & Improvement)
  | ({ readonly kind: 'evaluation'; readonly episodes: number; readonly best: boolean } & Evaluated)
  | ({ readonly kind: 'baseline'; readonly step: number } & Baseline)
  | { readonly kind: 'checkpoint'; readonly step: number }
  | ({ readonly kind: 'alarm'; readonly step: number } & RlAlarm)
  | ControlledTraining;

export type RlEventOf<Kind extends RlEvent['kind']> = Extract<RlEvent, { readonly kind: Kind }>;
