import Handlebars from 'handlebars';
import { plural } from '../../src/format/numbers.js';
import { packageText } from '../../src/package.js';
import { shellWord } from './shell-text.js';

const handlebars = Handlebars.create();
handlebars.registerHelper({
  plural,
  word: shellWord,
  code: (text: string) => `\`${text.replaceAll('`', "'").replaceAll(/\s+/g, ' ')}\``,
});

/**
 * A file of `templates/` with its values, as they are: shell and Markdown have `word` and `code` for texts of others.
 * @throws Error for a value that the template names and `values` lacks
 */
export function fillTemplate(name: string, values: object): string {
  const source = packageText(`finetune/elsewhere/templates/${name}.hbs`);
  return handlebars.compile(source, { noEscape: true, strict: true })(values);
}
