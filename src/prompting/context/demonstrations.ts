/** Good episodes shown in prompts as examples of how the policy should act. */

import { z } from 'zod';
import type { Action, Observation } from '../../environments/environment.js';
import type { DemonstrationsConfig } from '../settings.js';
import { count, flag, list, maybeText, text } from './fields.js';
import { scoreTexts } from './scores.js';
import { evenSteps, show } from './trajectory.js';

/** A good episode, with all of its steps or only those shown in prompts. */
export interface Demonstration {
  /** Undiscounted; absent if unknown. */
  readonly return?: number | undefined;
  /** Number of steps in the whole episode. */
  readonly length: number;
  readonly steps: readonly DemonstratedStep[];
}

export interface DemonstratedStep {
  readonly observation: Observation;
  readonly action: Action;
}

const value = z.union([z.number(), z.array(z.number())]);

/** Demonstrations as stored in a run. */
export const recordedDemonstrations = z
  .array(
    z.strictObject({
      return: z.number().optional(),
      length: z.int().min(0),
      steps: z.array(z.strictObject({ observation: value, action: value })).min(1),
    }),
  )
  .min(1) satisfies z.ZodType<readonly Demonstration[]>;

export const demonstratedSchema = z.strictObject({
  several: flag('True if there is more than one episode'),
  episodes: list('The episodes', {
    number: count('Number of the demonstration, from 1'),
    return: maybeText('Return of the episode; null if unknown'),
    shown: count('Number of steps shown'),
    length: count('Number of steps in the whole episode'),
    partial: flag('True if some steps are omitted'),
    text: text('The steps, one per line: `observation -> action`'),
  }),
});

/** Reduces an episode to the steps shown in prompts. */
export function sampled(whole: Demonstration, most: DemonstrationsConfig['steps']): Demonstration {
  if (most === 'all') return whole;
  return { ...whole, steps: evenSteps(whole.steps.length, most).map((t) => whole.steps[t]!) };
}

/** The template variables; null if there are no demonstrations. `ofReturns` is `memory.digits`. */
export function demonstratedContext(
  demonstrations: readonly Demonstration[],
  digits: number | undefined,
  ofReturns?: number,
): z.output<typeof demonstratedSchema> | null {
  if (demonstrations.length === 0) return null;
  const totals = demonstrations.flatMap(({ return: total }) => (total === undefined ? [] : [total]));
  const asText =
    ofReturns === undefined ? (total: number) => total.toFixed(2) : scoreTexts(ofReturns, totals);
  return {
    several: demonstrations.length > 1,
    episodes: demonstrations.map(({ length, return: total, steps }, i) => ({
      number: i + 1,
      return: total === undefined ? null : asText(total),
      shown: steps.length,
      length,
      partial: steps.length < length,
      text: steps
        .map(({ action, observation }) => `${show(observation, digits)} -> ${show(action, digits)}`)
        .join('\n'),
    })),
  };
}
