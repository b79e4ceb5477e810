import { UserError } from '../src/errors.js';
import type { DecoderConfig } from '../src/models/local/hf-config.js';
import { exampleLength, makeBatch, type TokenExample, totalWeight } from './batch.js';
import { type OrderSettings, planEpoch, unitsOf } from './order.js';
import { layOut, type Part } from './packing.js';
import type { Parameter, TrainingSession } from './training-session.js';

/**
 * Those that have a weight and an answer.
 * @throws UserError when there are none, or some are longer than the model's context
 */
export function usableExamples(
  examples: readonly TokenExample[],
  config: DecoderConfig,
  field: string,
): readonly TokenExample[] {
  const long = examples.filter((example) => exampleLength(example) > config.contextTokens);
  if (long.length > 0)
    throw new UserError({
      field,
      value: Math.max(...long.map(exampleLength)),
      message: `${long.length} of ${examples.length} examples are longer than the context of ${config.contextTokens} tokens`,
      remedy: 'show less history in the examples, as serving would have to',
    });
  const weighted = examples.filter(({ weight, completionIds }) => weight !== 0 && completionIds.length > 0);
  if (weighted.length === 0)
    throw new UserError({
      field,
      message: 'no example has a weight other than 0 and an answer: there is nothing to learn',
    });
  return weighted;
}

/** Examples that are laid out together where nothing is learnt from them. */
const validationGroup = 64;

/** The parts that a validation reads: the same every time. */
export function validationParts(examples: readonly TokenExample[], settings: OrderSettings): readonly Part[] {
  return planEpoch(unitsOf(examples, settings), { ...settings, batchExamples: validationGroup }, 0).flatMap(
    (group) =>
      layOut(
        group.map((index) => examples[index]!),
        settings,
      ),
  );
}

/** Weighted mean of −log p over the answers' tokens, without dropout. */
export async function meanLoss(
  session: TrainingSession,
  parameters: readonly Parameter[],
  parts: readonly Part[],
): Promise<number> {
  const normalizer = totalWeight(parts.flat(3));
  let loss = 0;
  for (const part of parts) loss += (await session.run(parameters, makeBatch(part, normalizer), 0)).loss;
  return loss;
}
