/** Formats parameters for prompts; `answer/parse.ts` parses them. */
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';

/** A value with exactly `decimals` decimals; never `-0`. */
export function formatValue(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return text.startsWith('-') && Number(text) === 0 ? text.slice(1) : text;
}

/** The answer format: `params[0]: 1.2, params[1]: -0.5`. */
export function formatParameters(parameters: ParameterVector, spec: ParameterSpec, separator = ', '): string {
  return parameters.map((value, i) => `params[${i}]: ${formatValue(value, spec.decimals)}`).join(separator);
}

/** The answer format with placeholders, which the parser doesn't mistake for an answer. */
export function exampleAnswer({ count, kind }: Pick<ParameterSpec, 'count' | 'kind'>): string {
  const shown = count <= 4 ? Array.from({ length: count }, (_, i) => i) : [0, 1, count - 1];
  const items = shown.map((i) => `params[${i}]: <${kind === 'integer' ? 'integer' : 'number'}>`);
  if (count > 4) items.splice(2, 0, '...');
  return items.join(', ');
}
