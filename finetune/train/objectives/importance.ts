import type { ImportanceSettings } from '../../../src/config/learning/objective.js';
import type { Value } from '../../../src/models/local/graph/graph.js';
import type { TokenValues } from '../../engine/objective.js';
import { arithmetic, sequenceSum } from './terms.js';

/** Powers of e above this one are cut: they are above any cap, and their squares would overflow. */
const largestLog = 40;

/**
 * π_old / π_sampler of each token, a constant: the trainer's probability before the update over the sampler's. At the
 * level of the sequence it is the product over the trained tokens. A ratio above the cap becomes 0 (mask) or the cap
 * (truncate).
 * @returns undefined where ratios are ignored
 */
export function importanceWeights(
  tokens: TokenValues,
  old: Value,
  { kind, cap }: ImportanceSettings,
): Value | undefined {
  if (kind === 'none') return undefined;
  const { g, precision, input, detached } = tokens;
  const { number, sub, min, mul, exp } = arithmetic(tokens);
  const own = sub(detached(old), input('sampler_logp'));
  const logarithm = kind.startsWith('sequence') ? sequenceSum(tokens, own) : own;
  const ratio = exp(min(logarithm, number(largestLog)));
  if (kind.endsWith('truncate')) return min(ratio, number(cap));
  return mul(ratio, g.cast(g.op('LessOrEqual', [ratio, number(cap)]), precision));
}
