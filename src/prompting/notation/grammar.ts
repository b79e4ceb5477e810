/** The form of answers, as requested in prompts and enforced by constrained decoding. */
import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';

export interface AnswerForm {
  /** `labels`: `params[0]: 1.2, params[1]: …`; `json`: `{"params": [1.2, …]}`. */
  readonly notation: 'labels' | 'json';
  /** True if the reply may contain nothing but thinking and the answer. */
  readonly isStrict: boolean;
  readonly reason: 'first' | 'last' | 'none';
}

/** Parameters on the first line and a reason below; the default if replies may contain other text. */
export const freeForm: AnswerForm = { notation: 'labels', isStrict: false, reason: 'last' };

/**
 * Chooses the form of answers. By default, it is JSON if a format is enforced, and labels otherwise. Local models with
 * `format: auto` omit the reason, to save time, and use labels for the set `compact`.
 */
export function answerFormOf(
  model: { readonly format?: string; readonly provider?: string } | undefined,
  { answer, set }: { readonly answer?: 'json' | 'labels' | undefined; readonly set: string },
): AnswerForm {
  const { format = 'text', provider } = model ?? {};
  const isLocal = provider === 'local';
  const isEnforced = isLocal ? format === 'auto' : format !== 'text';
  if (format === 'json' || (isEnforced && !isLocal))
    return { notation: 'json', isStrict: true, reason: format === 'json' ? 'first' : 'last' };
  // Models trained on the `compact` prompt set have seen only the `labels` notation.
  const notation = answer ?? (isEnforced && set !== 'compact' ? 'json' : 'labels');
  if (isEnforced) return { notation, isStrict: true, reason: 'none' };
  return notation === 'labels' ? freeForm : { notation, isStrict: true, reason: 'last' };
}

/** Returns the answer format as data, for models that enforce it; `parseParameters` reads every answer in it. */
export function answerGrammar(
  { count, kind, low, high, decimals, choices }: ParameterSpec,
  { notation, isStrict }: AnswerForm = freeForm,
): AnswerGrammar {
  const isJson = notation === 'json';
  const label = (i: number) => {
    if (isJson) return i === 0 ? '{"params": [' : ', ';
    return `${i === 0 ? '' : ', '}params[${i}]: `;
  };
  return {
    labels: Array.from({ length: count }, (_, i) => label(i)),
    number: { low, high, decimals: kind === 'integer' ? 0 : decimals, ...(choices && { choices }) },
    ...((isJson || isStrict) && { closing: isJson ? ']}' : '' }),
    // The parser accepts `param`, `params` and `parameters`, in upper or lower case.
    mention: 'param',
    key: 'params',
  };
}

/** Writes an answer in the given form, as a model would; the inverse of `parseParameters`. */
export function writeAnswer(
  parameters: ParameterVector,
  spec: ParameterSpec,
  { notation, reason: order }: AnswerForm,
  reason = '',
): string {
  if (notation === 'json') {
    const list = `"params": [${parameters.map((value) => formatValue(value, spec.decimals)).join(', ')}]`;
    const why = `"reason": ${JSON.stringify(reason)}`;
    return `{${(order === 'none' ? [list] : order === 'first' ? [why, list] : [list, why]).join(', ')}}`;
  }
  const line = formatParameters(parameters, spec);
  return reason === '' || order === 'none' ? line : `${line}\n${reason}`;
}

/** Formats a value with exactly `decimals` decimals, never as `-0`. */
export function formatValue(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return text.startsWith('-') && Number(text) === 0 ? text.slice(1) : text;
}

/** Formats parameters in the `labels` notation: `params[0]: 1.2, params[1]: -0.5`. */
export function formatParameters(parameters: ParameterVector, spec: ParameterSpec, separator = ', '): string {
  return parameters.map((value, i) => `params[${i}]: ${formatValue(value, spec.decimals)}`).join(separator);
}

/** Writes the `labels` notation with placeholders, which the parser doesn't mistake for an answer. */
export function exampleAnswer({ count, kind }: Pick<ParameterSpec, 'count' | 'kind'>): string {
  const shownIndices = count <= 4 ? Array.from({ length: count }, (_, i) => i) : [0, 1, count - 1];
  const items = shownIndices.map((i) => `params[${i}]: <${kind === 'integer' ? 'integer' : 'number'}>`);
  if (count > 4) items.splice(2, 0, '...');
  return items.join(', ');
}
