import type { CompletionToken } from '../../language-model.js';
import { likeliestFirst, logNormaliser } from '../constraint/sampling.js';
import type { TokenBytes } from '../tokens/token-text.js';

/** A token with its log-probability and, if `top` > 0, the most likely tokens at its position. */
export function scoredToken(
  logits: Float32Array,
  id: number,
  bytes: TokenBytes,
  top: number | undefined,
): CompletionToken {
  const normaliser = logNormaliser(logits);
  const token = (one: number) => ({
    id: one,
    bytes: [...bytes.of(one)],
    logProbability: logits[one]! - normaliser,
  });
  return top ? { ...token(id), top: likeliestFirst(logits, top).map(token) } : token(id);
}
