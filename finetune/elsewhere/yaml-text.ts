import { Document, type ScalarTag, visit } from 'yaml';

/** `1e-8` is a text to YAML 1.1; `1.0e-8` is a number. */
const exponent: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && /^-?\de/.test(String(value)),
  test: /^-?\d\.0e[+-]\d+$/,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
};

/** YAML for programs that read version 1.1 of it (PyYAML does): texts are quoted, numbers have a point. */
export function yamlText(mapping: object): string {
  const document = new Document(mapping, { version: '1.1', customTags: (tags) => [exponent, ...tags] });
  visit(document, {
    Seq: (_, list) => {
      list.flow = true;
    },
  });
  const text = document.toString({
    defaultKeyType: 'PLAIN',
    defaultStringType: 'QUOTE_DOUBLE',
    doubleQuotedAsJSON: true,
    flowCollectionPadding: false,
    lineWidth: 0,
  });
  // PyYAML refuses what it takes for unprintable; such characters stand in quoted texts only.
  return text.replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
