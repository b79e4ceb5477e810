/** The form of answers, as requested in prompts and enforced by constrained decoding. */
import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { formatParameters, formatValue } from './written.js';

export interface AnswerForm {
  /** `labels`: `params[0]: 1.2, params[1]: …`; `json`: `{"params": [1.2, …]}`. */
  readonly notation: 'labels' | 'json';
  /** True if nothing except thinking may surround the answer. */
  readonly whole: boolean;
  /** Position of the reason, if one is requested. */
  readonly reason: 'first' | 'last' | 'none';
}

/** Parameters on the first line and a reason below; no provider enforces this form. */
export const freeForm: AnswerForm = { notation: 'labels', whole: false, reason: 'last' };

/**
 * The form in which a model is asked to answer: JSON if the format is enforced, otherwise `params[0]: …`.
 * Under `format: auto`, a local model gives no reason, because that would take as long as the answer.
 * @param model its config section; undefined if there is none
 */
export function answerFormOf(
  model: { readonly format?: string; readonly provider?: string } | undefined,
  { answer, set }: { readonly answer?: 'json' | 'labels' | undefined; readonly set: string },
): AnswerForm {
  const { format = 'text', provider } = model ?? {};
  const isLocal = provider === 'local';
  const isEnforced = isLocal ? format === 'auto' : format !== 'text';
  if (isEnforced && !isLocal) {
    return { notation: 'json', whole: true, reason: format === 'json' ? 'first' : 'last' };
  }
  // Models trained on the `compact` prompt set only know labels.
  const notation = answer ?? (isEnforced && set !== 'compact' ? 'json' : 'labels');
  if (isEnforced) return { notation, whole: true, reason: 'none' };
  return notation === 'labels' ? freeForm : { notation, whole: true, reason: 'last' };
}

/** The answer format as data, for models that enforce it; `parseParameters` reads every answer of this grammar. */
export function answerGrammar(
  { count, kind, low, high, decimals, choices }: ParameterSpec,
  { notation, whole }: AnswerForm = freeForm,
): AnswerGrammar {
  const isJson = notation === 'json';
  const label = (i: number) => {
    if (isJson) return i === 0 ? '{"params": [' : ', ';
    return `${i === 0 ? '' : ', '}params[${i}]: `;
  };
  return {
    labels: Array.from({ length: count }, (_, i) => label(i)),
    number: { low, high, decimals: kind === 'integer' ? 0 : decimals, ...(choices && { choices }) },
    ...((isJson || whole) && { closing: isJson ? ']}' : '' }),
    // The parser accepts `param`, `params` and `parameters` in any case.
    mention: 'param',
    key: 'params',
  };
}

/** Writes an answer in the given form, as a model would. `parseParameters` is the inverse. */
export function writtenAnswer(
  parameters: ParameterVector,
  spec: ParameterSpec,
  { notation, reason: place }: AnswerForm,
  reason = '',
): string {
  if (notation === 'json') {
    const list = `"params": [${parameters.map((value) => formatValue(value, spec.decimals)).join(', ')}]`;
    const why = `"reason": ${JSON.stringify(reason)}`;
    return `{${(place === 'none' ? [list] : place === 'first' ? [why, list] : [list, why]).join(', ')}}`;
  }
  const line = formatParameters(parameters, spec);
  return reason === '' || place === 'none' ? line : `${line}\n${reason}`;
}
