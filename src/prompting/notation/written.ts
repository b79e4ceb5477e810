/** How parameters are written in prompts; `answer/parse.ts` reads them back. */
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';

/** One value with exactly `decimals` digits after the point; never `-0`. */
export function formatValue(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return text.startsWith('-') && Number(text) === 0 ? text.slice(1) : text;
}

/** `params[0]: 1.2, params[1]: -0.5`: the answer format. */
export function formatParameters(parameters: ParameterVector, spec: ParameterSpec, separator = ', '): string {
  return parameters.map((value, i) => `params[${i}]: ${formatValue(value, spec.decimals)}`).join(separator);
}

/** The answer format with placeholders, which the parser takes for no answer. */
export function exampleAnswer({ count, kind }: Pick<ParameterSpec, 'count' | 'kind'>): string {
  const shown = count <= 4 ? Array.from({ length: count }, (_, i) => i) : [0, 1, count - 1];
  const items = shown.map((i) => `params[${i}]: <${kind === 'integer' ? 'integer' : 'number'}>`);
  if (count > 4) items.splice(2, 0, '...');
  return items.join(', ');
}
