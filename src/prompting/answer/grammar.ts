import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec } from '../../policies/policy.js';

/** The answer format as data, for models that enforce it; `parseParameters` reads every answer of this grammar. */
export function answerGrammar({ count, kind, low, high, decimals, choices }: ParameterSpec): AnswerGrammar {
  return {
    labels: Array.from({ length: count }, (_, i) => `${i === 0 ? '' : ', '}params[${i}]:`),
    number: { low, high, decimals: kind === 'integer' ? 0 : decimals, ...(choices && { choices }) },
    // The parser reads `param`, `params` and `parameters` in any case.
    mention: 'param',
    key: 'params',
  };
}
