import type { ImportanceSettings } from '../../../src/config/learning/objective.js';
import type { Value } from '../../../src/models/local/graph/graph.js';
import type { TokenValues } from '../../engine/objective.js';
import { arithmetic, sequenceSum } from './terms.js';

/** Log-ratios are clipped here: larger ones exceed any cap, and the square of their exponential could overflow. */
const largestLog = 40;

/**
 * π_old / π_sampler per token, as a constant: the trainer's probability before the update divided by the sampler's. At
 * sequence level, the product over the trained tokens. Ratios above the cap become 0 (mask) or the cap (truncate).
 * @returns undefined if importance weighting is off
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
