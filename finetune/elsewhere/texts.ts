/** Generates the folder's text files: filled templates, shell words, and YAML that Python can read. */
import Handlebars from 'handlebars';
import { Document, type ScalarTag, visit } from 'yaml';
import { packageText } from '../../src/base/package.js';
import { plural } from '../../src/format/numbers.js';
import { requireOneLine, shellWord } from '../../src/format/one-line.js';

const handlebars = Handlebars.create();
handlebars.registerHelper({
  plural,
  word: shellWord,
  code: (text: string) => `\`${text.replaceAll('`', "'").replaceAll(/\s+/g, ' ')}\``,
});

/**
 * Fills a file of `templates/`. Values are inserted unescaped; templates use `word` (shell) and `code`
 * (Markdown) for untrusted text.
 * @throws UserError for a value with a line break; Error if `values` lacks a value that the template uses
 */
export function fillTemplate(name: string, values: object): string {
  const source = packageText(`finetune/elsewhere/templates/${name}.hbs`);
  return handlebars.compile(source, { noEscape: true, strict: true })(requireOneLine(values));
}

/** YAML 1.1 reads `1e-8` as text and `1.0e-8` as a number. */
const exponent: ScalarTag = {
  tag: 'tag:yaml.org,2002:float',
  default: true,
  identify: (value) => typeof value === 'number' && /^-?\de/.test(String(value)),
  test: /^-?\d\.0e[+-]\d+$/,
  resolve: Number,
  stringify: ({ value }) => String(value).replace('e', '.0e'),
};

/** YAML for version 1.1 readers such as PyYAML: strings are quoted, and numbers have a decimal point. */
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
  // PyYAML rejects characters it considers unprintable. They occur only in quoted strings.
  return text.replaceAll(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
