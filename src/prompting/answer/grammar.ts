import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec } from '../../policies/policy.js';

/**
 * How an answer is written. `labels`: `params[0]: 1.2, params[1]: …` within free text. `line`: the same, and nothing else.
 * `json`: `{"params": [1.2, …]}`, and nothing else.
 */
export type AnswerForm = 'labels' | 'line' | 'json';

/**
 * The form in which a model is asked to answer. Under `format: auto` a local model answers in JSON, except with the set
 * `compact`, whose models know `params[0]: …` only.
 * @param model its section of the config
 * @param set as `prompts.set` has it
 */
export function answerFormOf(
  { format, provider }: { readonly format?: string; readonly provider?: string },
  set: string,
): AnswerForm {
  if (format !== 'auto' || provider !== 'local')
    return format === 'json' || format === 'auto' ? 'json' : 'labels';
  return set === 'compact' ? 'line' : 'json';
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
