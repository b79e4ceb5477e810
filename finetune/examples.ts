import { UserError } from '../src/errors.js';
import type { DecoderConfig } from '../src/models/local/hf-config.js';
import { exampleLength, makeBatch, type TokenExample, totalWeight } from './batch.js';
import { parts } from './order.js';
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

/** Weighted mean of −log p over the answers' tokens, without dropout. */
export async function meanLoss(
  session: TrainingSession,
  parameters: readonly Parameter[],
  examples: readonly TokenExample[],
  batchTokens: number,
): Promise<number> {
  const lengths = examples.map(exampleLength);
  const sorted = [...lengths.keys()].sort((a, b) => lengths[a]! - lengths[b]!);
  const normalizer = totalWeight(examples);
  let loss = 0;
  for (const part of parts(sorted, lengths, batchTokens)) {
    const batch = makeBatch(
      part.map((i) => examples[i]!),
      normalizer,
    );
    loss += (await session.run(parameters, batch, 0)).loss;
  }
  return loss;
}
