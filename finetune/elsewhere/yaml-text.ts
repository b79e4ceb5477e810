/** YAML for programs that read version 1.1 of it (PyYAML does): texts are quoted, numbers have a point. */

export type YamlValue =
  | string
  | number
  | boolean
  | null
  | readonly YamlValue[]
  | { readonly [key: string]: YamlValue };

/** A mapping, one key a line. Keys must be plain words. */
export function yamlText(mapping: { readonly [key: string]: YamlValue }, indent = ''): string {
  return Object.entries(mapping)
    .map(([key, value]) =>
      isMapping(value)
        ? `${indent}${key}:\n${yamlText(value, `${indent}  `)}`
        : `${indent}${key}: ${flow(value)}\n`,
    )
    .join('');
}

function isMapping(value: YamlValue): value is { readonly [key: string]: YamlValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function flow(value: YamlValue): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number') return numeral(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  return JSON.stringify(value);
}

/** JSON's escapes are YAML's; characters that YAML takes for unprintable are escaped as well. */
function quoted(text: string): string {
  return JSON.stringify(text).replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** `1e-8` is a text to YAML 1.1; `1.0e-8` is a number. */
function numeral(value: number): string {
  return String(value).replace(/^(-?\d+)e/, '$1.0e');
}
