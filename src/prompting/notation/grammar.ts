/** The form of answers, as prompts ask for it and as models that constrain decoding enforce it. */
import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { formatParameters, formatValue } from './written.js';

export interface AnswerForm {
  /** `labels`: `params[0]: 1.2, params[1]: …`; `json`: `{"params": [1.2, …]}`. */
  readonly notation: 'labels' | 'json';
  /** Whether nothing may come before or after the answer, apart from thinking. */
  readonly whole: boolean;
  /** Where the reason comes, if one is asked for. */
  readonly reason: 'first' | 'last' | 'none';
}

/** Parameters on the first line, a reason below: the form that no provider enforces. */
export const freeForm: AnswerForm = { notation: 'labels', whole: false, reason: 'last' };

/**
 * The form in which a model is asked to answer: JSON where the format is enforced, else `params[0]: …`. A local model gives
 * no reason under `format: auto`, since it would cost as much time as the answer.
 * @param model its section of the config; undefined for none
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
  // Models of the set `compact` know labels only.
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
    // The parser reads `param`, `params` and `parameters` in any case.
    mention: 'param',
    key: 'params',
  };
}

/** An answer in a form, as a model would write it. `parseParameters` reads it back. */
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
