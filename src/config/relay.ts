/** Rules that end the legs of a relay. */
import { z } from 'zod';
import type { MaybeProblem } from '../base/errors.js';
import { smallest } from '../statistics/descriptive.js';

const limit = z.int().min(1).optional();

/** Keys of a leg in addition to those of its model or baseline. The leg ends at whichever condition is met first. */
export const legShape = {
  calls: limit.describe('Number of proposals after which the leg ends; corrections are not counted'),
  evaluations: limit.describe('Number of evaluations after which the leg ends'),
  until: z
    .enum(['signal', 'stalled'])
    .optional()
    .describe(
      'Condition that ends the leg. `signal`: the best return exceeds the median by more than the noise floor; `stalled`: no improvement by more than the noise floor in `patience` evaluations',
    ),
  patience: limit.describe('With `until: stalled`: evaluations without an improvement (default: 10)'),
};

/** Rules that end a leg; the last leg of a relay has none. */
export interface LegEnd {
  readonly calls?: number | undefined;
  readonly evaluations?: number | undefined;
  readonly until?: 'signal' | 'stalled' | undefined;
  readonly patience?: number | undefined;
}

/** Finds legs that never end or never begin, and end conditions without effect. */
export const relayProblems = (legs: readonly LegEnd[], episodes: number): readonly MaybeProblem[] =>
  legs.flatMap((leg, i) => {
    const field = `model.relay.${i}`;
    const { patience, until } = leg;
    const [endKey] = (['calls', 'evaluations', 'until'] as const).filter((key) => leg[key] !== undefined);
    const isLast = i === legs.length - 1;
    return [
      isLast &&
        endKey !== undefined && {
          field: `${field}.${endKey}`,
          value: leg[endKey],
          message: 'has no effect, because the last leg lasts until the run ends',
          hint: `remove it, or add another leg; iterations and limits.evaluations end the run`,
        },
      !isLast &&
        endKey === undefined && {
          field: `${field}.calls`,
          message: `is missing: the leg would never end, so leg ${i + 2} would never begin`,
          hint: `set ${field}.calls, ${field}.evaluations or ${field}.until`,
        },
      patience !== undefined &&
        until !== 'stalled' && {
          field: `${field}.patience`,
          value: patience,
          message: 'has no effect without until: stalled',
          hint: `remove it, or set ${field}.until=stalled`,
        },
      until === 'signal' &&
        episodes < 2 && {
          field: `${field}.until`,
          value: until,
          message: 'needs a noise floor, but a single episode has none',
          hint: `set evaluation.episodes to 2 or more, or replace until with ${field}.calls`,
        },
    ];
  });

/** The iterations of each leg, if each proposal adds one evaluation, returns differ, and no `until` ends the leg. */
export function spansOf(
  legs: readonly LegEnd[],
  { candidates, iterations }: { readonly candidates: number; readonly iterations: number },
): readonly { readonly first: number; readonly count: number }[] {
  let first = 1;
  return legs.map(({ calls, evaluations }) => {
    const maxEvaluations = smallest([calls, evaluations].map((end = Number.POSITIVE_INFINITY) => end));
    const count = Math.max(0, Math.min(iterations - first + 1, Math.ceil(maxEvaluations / candidates)));
    first += count;
    return { first: first - count, count };
  });
}
