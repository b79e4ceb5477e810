import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec } from '../../policies/policy.js';

/**
 * How an answer is written. `labels`: `params[0]: 1.2, params[1]: …` within free text. `line`: the same, and nothing else.
 * `json`: `{"params": [1.2, …]}`, and nothing else.
 */
export type AnswerForm = 'labels' | 'line' | 'json';

/**
 * The form in which a model is asked to answer: JSON where the format is enforced, else `params[0]: …`. Models of the set
 * `compact` know only the latter.
 * @param model its section of the config
 */
export function answerFormOf(
  { format = 'text', provider }: { readonly format?: string; readonly provider?: string },
  { answer, set }: { readonly answer?: 'json' | 'labels' | undefined; readonly set: string },
): AnswerForm {
  const isLocal = provider === 'local';
  if (!isLocal && format !== 'text') return 'json';
  const notation = answer ?? (format === 'auto' && set !== 'compact' ? 'json' : 'labels');
  return notation === 'labels' && format === 'auto' ? 'line' : notation;
}

/** The answer format as data, for models that enforce it; `parseParameters` reads every answer of this grammar. */
export function answerGrammar(
  { count, kind, low, high, decimals, choices }: ParameterSpec,
  form: AnswerForm = 'labels',
): AnswerGrammar {
  const label = (i: number) =>
    form === 'json' ? (i === 0 ? '{"params": [' : ', ') : `${i === 0 ? '' : ', '}params[${i}]: `;
  return {
    labels: Array.from({ length: count }, (_, i) => label(i)),
    number: { low, high, decimals: kind === 'integer' ? 0 : decimals, ...(choices && { choices }) },
    ...(form !== 'labels' && { closing: form === 'json' ? ']}' : '' }),
    // The parser reads `param`, `params` and `parameters` in any case.
    mention: 'param',
    key: 'params',
  };
}
