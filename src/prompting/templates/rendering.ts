/** Loads, checks and renders templates. */
import { createHash } from 'node:crypto';
import Handlebars from 'handlebars';
import { closestMatch, messageOf, UserError } from '../../base/errors.js';
import { isObject, loadModule } from '../../base/modules/user-module.js';
import { readPartials, readTemplate, type Template } from './template-files.js';

export interface RequestedTemplate {
  readonly file: string;
  /** Contexts with which the template is rendered, once each, to check it. */
  readonly samples: readonly object[];
}

type Helper = string | number | boolean | ((...given: unknown[]) => unknown);

/** Helpers that templates may use in addition to the context: `{{shout environment.id}}`, `{{laboratory}}`. */
export type TemplateHelpers = ReadonlyMap<string, Helper>;

type Render = (context: object) => string;

/**
 * Loads templates, and partials from `sets` (later sets win); with `ownPolicy`, `policy-own` replaces the partial
 * `policy`. Returns renderers and the SHA-256 of the sources used.
 * @throws UserError for a missing file, a syntax error, or an unknown variable or helper
 */
export function loadTemplates(
  requests: readonly RequestedTemplate[],
  sets: readonly string[],
  helpers: TemplateHelpers = new Map(),
  ownPolicy = false,
): { readonly renderers: readonly Render[]; readonly hash: string } {
  const partials = new Map(sets.flatMap((set) => [...readPartials(set)]));
  if (ownPolicy) partials.set('policy', partials.get('policy-own')!);
  const templates = requests.map(({ file }) => readTemplate(file));
  // The user's helpers may fail on sample values.
  let isCheck = true;
  const call = (helper: Helper, args: readonly unknown[]) =>
    typeof helper !== 'function' ? helper : isCheck ? 'text' : helper(...args);
  const renderers = compile(templates, partials, helpers, call);
  for (const [i, { samples }] of requests.entries()) for (const sample of samples) renderers[i]!(sample);
  isCheck = false;
  const names = new Set<string>();
  for (const template of templates) addNames(names, template, partials);
  const includedPartials = [...partials].flatMap(([name, partial]) => (names.has(name) ? [partial] : []));
  const hash = createHash('sha256');
  for (const { source } of [...templates, ...includedPartials]) hash.update(`${source.length}:${source}`);
  return { renderers: renderers.map((one) => (context) => one(context).trim()), hash: hash.digest('hex') };
}

/** Adds the names of the partials that a template includes, directly or indirectly. */
function addNames(names: Set<string>, { source }: Template, partials: ReadonlyMap<string, Template>): void {
  for (const [, name = ''] of source.matchAll(/\{\{~?#?>\s*([\w/-]+)/g)) {
    const partial = partials.get(name);
    if (partial === undefined || names.has(name)) continue;
    names.add(name);
    addNames(names, partial, partials);
  }
}

/** Compiles templates in Handlebars' strict mode; its helpers `log` and `lookup` aren't available. */
function compile(
  templates: readonly Template[],
  partials: ReadonlyMap<string, Template>,
  helpers: TemplateHelpers,
  call: (helper: Helper, args: readonly unknown[]) => unknown,
): readonly HandlebarsTemplateDelegate[] {
  const handlebars = Handlebars.create();
  for (const [name, value] of helpers) {
    // Handlebars appends its own options to the template's arguments.
    handlebars.registerHelper(name, (...args: unknown[]) => call(value, args.slice(0, -1)));
  }
  const userHelpers = Object.fromEntries([...helpers.keys()].map((name) => [name, true]));
  const options = {
    strict: true,
    noEscape: true,
    knownHelpersOnly: true,
    knownHelpers: { ...userHelpers, log: false, lookup: false },
  };
  const compileTemplate = ({ file, source }: Template): HandlebarsTemplateDelegate => {
    const render = handlebars.compile(source, options);
    return (context, renderOptions) => {
      try {
        return render(context, renderOptions);
      } catch (error) {
        if (error instanceof UserError) throw error;
        const names = [...namesIn(renderOptions?.data?.root ?? context), ...helpers.keys()];
        throw renderingError({ file, source }, error, names);
      }
    };
  };
  for (const [name, partial] of partials) handlebars.registerPartial(name, compileTemplate(partial));
  return templates.map(compileTemplate);
}

function renderingError({ file, source }: Template, error: unknown, names: readonly string[]): UserError {
  const message = messageOf(error);
  const [, line, code = ''] = /^Parse error on line (\d+):\n(.*)/.exec(message) ?? [];
  if (line !== undefined)
    return new UserError({ file, line: Number(line), message: `invalid Handlebars syntax near “${code}”` });
  const { column = 0, endColumn, lineNumber } = error as Readonly<Record<string, number | undefined>>;
  const path = source.split('\n')[(lineNumber ?? 0) - 1]?.slice(column, endColumn) ?? '';
  return new UserError({
    file,
    ...(lineNumber !== undefined && { line: lineNumber, column: column + 1 }),
    ...explain(message.replace(/ - \d+:\d+$/, ''), path, names),
  });
}

/** @param path the template's text at the position of the error */
function explain(message: string, path: string, names: readonly string[]) {
  const [, helper] = /unknown helper (\S+)/.exec(message) ?? [];
  const name = helper ?? path;
  const shallowFirst = names.toSorted((a, b) => a.split('.').length - b.split('.').length);
  const matching = shallowFirst.find((one) => name.endsWith(`.${one}`) || one.endsWith(`.${name}`));
  const near = matching ?? closestMatch(name, helper ? ['if', 'unless', 'each', 'with', ...names] : names);
  const namesHint = `use ${names.filter((one) => !one.includes('.')).join(', ')} or their parts (prompts/README.md)`;
  const helperHint = 'define it in a module, and set prompts.helpers to this module (experiments only)';
  const hint = helper ? helperHint : namesHint;
  if (helper ?? / not defined in (?!null)/.test(message))
    return { message: `unknown ${helper ? 'helper' : 'variable'} \`${name}\``, near, hint };
  if (!message.endsWith(' not defined in null'))
    return { message, hint: 'see prompts/README.md for the syntax, partials and variables of templates' };
  const absentHint = 'put it inside {{#if …}} … {{/if}}; prompts/README.md lists such variables (“or null”)';
  return { message: `\`${path}\` may be absent`, hint: absentHint };
}

function namesIn(value: unknown, path = ''): readonly string[] {
  if (!isObject(value) || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, part]) => [path + key, ...namesIn(part, `${path}${key}.`)]);
}

/** Loads the user's helpers. @throws UserError naming the file and the problem */
export async function loadHelpers(path: string): Promise<TemplateHelpers> {
  const { file, create } = await loadModule(path, 'helpers', 'prompts.helpers');
  const helpers = await create({}, 'prompts.helpers');
  if (!isObject(helpers)) throw new UserError({ file, message: 'create must return an object of helpers' });
  return new Map(Object.entries(helpers as Record<string, Helper>));
}
