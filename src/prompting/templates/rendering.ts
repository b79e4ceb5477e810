/** Loads, checks and renders templates. */
import { createHash } from 'node:crypto';
import Handlebars from 'handlebars';
import { messageOf, nearest, type Problem, UserError } from '../../base/errors.js';
import { isRecord, loadModule } from '../../base/modules/user-module.js';
import { type ParsedTemplate, readPartials, readTemplate } from './template-files.js';

export interface WantedTemplate {
  readonly file: string;
  /** Contexts with which the template is rendered once, to check it. */
  readonly samples: readonly object[];
}

type Helper = string | number | boolean | ((...given: unknown[]) => unknown);

/** Helpers that templates may use in addition to the context: `{{shout environment.id}}`, `{{laboratory}}`. */
export type TemplateHelpers = ReadonlyMap<string, Helper>;

type Render = (context: object) => string;

/**
 * Loads templates, and partials from `sets` (later sets win); with `ownPolicy`, `policy-own` replaces the partial
 * `policy`. Returns renderers and the SHA-256 of the sources used.
 * @throws UserError for a missing file, a syntax error, or an undefined variable
 */
export function loadTemplates(
  wanted: readonly WantedTemplate[],
  sets: readonly string[],
  helpers: TemplateHelpers = new Map(),
  ownPolicy = false,
): { readonly render: readonly Render[]; readonly hash: string } {
  const partials = new Map(sets.flatMap((set) => [...readPartials(set)]));
  if (ownPolicy) partials.set('policy', partials.get('policy-own')!);
  const templates = wanted.map(({ file }) => readTemplate(file));
  const names = new Set(templates.flatMap((template) => partialsIn(template, partials)));
  const included = new Map([...partials].filter(([name]) => names.has(name)));
  // The user's helpers may not understand sample values.
  let isCheck = true;
  const call = (helper: Helper, given: readonly unknown[]) =>
    typeof helper !== 'function' ? helper : isCheck ? 'text' : helper(...given);
  const compiled = compile(templates, included, helpers, call);
  const problems = wanted.flatMap(({ samples }, i) => problemIn(samples, compiled[i]!));
  if (problems.length > 0) throw new UserError(problems);
  isCheck = false;
  const hash = createHash('sha256');
  for (const { source } of [...templates, ...included.values()]) hash.update(`${source.length}:${source}`);
  const render = compiled.map(
    (template): Render =>
      (context) => {
        try {
          return template(context).trim();
        } catch (error) {
          if (!(error instanceof TemplateError)) throw error;
          throw new UserError({
            file: error.file,
            message: `the template can't be rendered: ${error.message}`,
          });
        }
      },
  );
  return { render, hash: hash.digest('hex') };
}

/** Names of the partials that a template includes, directly or not. @throws UserError if one includes itself */
function partialsIn(
  { file, source }: ParsedTemplate,
  partials: ReadonlyMap<string, ParsedTemplate>,
  including: readonly string[] = [],
): readonly string[] {
  return [...source.matchAll(/\{\{~?#?>\s*([\w/-]+)/g)].flatMap(({ 0: tag, 1: name = '', index }) => {
    const at = { file, ...placeOf(source, index + tag.length - name.length) };
    if (including.includes(name))
      throw new UserError({ ...at, message: `the partial ${name} includes itself` });
    const partial = partials.get(name);
    if (partial !== undefined) return [name, ...partialsIn(partial, partials, [...including, name])];
    throw new UserError({
      ...at,
      message: `there is no partial ${name}`,
      ...suggestion(name, [...partials.keys()]),
    });
  });
}

/** An error in rendering one template, or a partial that it includes. */
class TemplateError extends Error {
  constructor(
    readonly file: string,
    readonly source: string,
    override readonly cause: unknown,
  ) {
    super(messageOf(cause));
  }
}

/** Compiles templates in Handlebars' strict mode; its helpers `log` and `lookup` aren't available. */
function compile(
  templates: readonly ParsedTemplate[],
  partials: ReadonlyMap<string, ParsedTemplate>,
  helpers: TemplateHelpers,
  call: (helper: Helper, given: readonly unknown[]) => unknown,
): readonly HandlebarsTemplateDelegate[] {
  const handlebars = Handlebars.create();
  for (const [name, value] of helpers) {
    // Handlebars appends its own options to the template's arguments.
    handlebars.registerHelper(name, (...given: unknown[]) => call(value, given.slice(0, -1)));
  }
  const own = Object.fromEntries([...helpers.keys()].map((name) => [name, true]));
  const knownHelpers = { ...own, log: false, lookup: false };
  const compiled = ({ file, program, source }: ParsedTemplate): HandlebarsTemplateDelegate => {
    const render = handlebars.compile(program, {
      strict: true,
      noEscape: true,
      knownHelpersOnly: true,
      knownHelpers,
    });
    return (context, options) => {
      try {
        return render(context, options);
      } catch (error) {
        throw error instanceof TemplateError ? error : new TemplateError(file, source, error);
      }
    };
  };
  for (const [name, partial] of partials) handlebars.registerPartial(name, compiled(partial));
  return templates.map(compiled);
}

/** The first problem in rendering samples; they are guarded because strict mode accepts unknown names in `#if`. */
function problemIn(samples: readonly object[], render: HandlebarsTemplateDelegate): readonly Problem[] {
  try {
    for (const sample of samples) render(guarded(sample, ''));
    return [];
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error;
    const { cause, file, source } = error;
    if (cause instanceof Mistake) return [{ file, ...placeOfName(source, cause.name), ...cause.problem }];
    const { column, lineNumber } = cause as { readonly column?: number; readonly lineNumber?: number };
    const place = lineNumber === undefined ? {} : { line: lineNumber, column: column! + 1 };
    return [{ file, ...place, ...problemOf(messageOf(cause)) }];
  }
}

function problemOf(message: string): Problem {
  const absent = /^"(.+)" not defined in (?:null|undefined)|of (?:null|undefined) \(reading '(.+)'\)/.exec(
    message,
  );
  if (absent !== null)
    return {
      message: `what contains ${absent[1] ?? absent[2]} may be absent`,
      hint: 'put this inside {{#if …}} … {{/if}} or {{#with …}} … {{/with}}',
    };
  const helper = /unknown helper (\S+)/.exec(message)?.[1];
  if (helper === undefined) return { message: message.replace(/ - \d+:\d+$/, '') };
  return { message: `there is no helper ${helper}`, ...suggestion(helper, ['if', 'unless', 'each', 'with']) };
}

/** A name in a template that doesn't fit the sample. */
class Mistake extends Error {
  constructor(
    override readonly name: string,
    readonly problem: Problem,
  ) {
    super(problem.message);
  }
}

/** A copy of a sample that throws if an unknown name is read, or if an object is used as text. */
function guarded(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((item) => guarded(item, `${path}[]`));
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, field]) => [
    name,
    guarded(field, path === '' ? name : `${path}.${name}`),
  ]);
  return new Proxy(Object.fromEntries(fields) as Record<string, unknown>, {
    has: (_, key) => typeof key === 'string',
    get(target, key) {
      const names = Object.keys(target);
      if (key === Symbol.toPrimitive) {
        const own = path.replace('[]', '');
        const alternatives = names.map((name) => `${path}.${name}`);
        const message = `${own} is an object or a list, not text`;
        throw new Mistake(own.split('.').at(-1)!, { message, alternatives });
      }
      if (typeof key === 'symbol' || names.includes(key)) return target[key as string];
      const message = `there is no variable ${key}${path === '' ? '' : ` in ${path}`}`;
      throw new Mistake(key, {
        message,
        ...suggestion(key, names, `${path}.`.replace(/^(?:.*\[\])?\./, '')),
      });
    },
  });
}

function suggestion(name: string, alternatives: readonly string[], prefix = ''): Partial<Problem> {
  const near = nearest(name, alternatives);
  return { alternatives, ...(near !== undefined && { hint: `did you mean ${prefix}${near}?` }) };
}

const placeOf = (source: string, at: number) => {
  const lines = source.slice(0, at).split('\n');
  return { line: lines.length, column: lines.at(-1)!.length + 1 };
};

/** Where a template uses a name first. */
function placeOfName(source: string, name: string) {
  const use = new RegExp(`[\\w.@/]*(?<!\\w)${name.replace(/\W/g, '.')}(?!\\w)`);
  for (const { 0: tag, index } of source.matchAll(/\{\{[^}]*\}\}/g)) {
    const at = tag.search(use);
    if (at >= 0) return placeOf(source, index + at);
  }
  return {};
}

/** Loads the user's helpers. @throws UserError naming the file and the problem */
export async function loadHelpers(path: string): Promise<TemplateHelpers> {
  const { file, create } = await loadModule(path, 'helpers', 'prompts.helpers');
  const made = await create({}, 'prompts.helpers');
  if (!isRecord(made)) throw new UserError({ file, message: 'create must return an object of helpers' });
  for (const [name, value] of Object.entries(made)) {
    if (!/^[A-Za-z_]\w*$/.test(name))
      throw new UserError({
        file,
        message: 'a helper name must consist of letters, digits and _, and not start with a digit',
        value: name,
      });
    if (!['string', 'number', 'boolean', 'function'].includes(typeof value))
      throw new UserError({
        file,
        message: `the helper ${name} must be a function, string, number or boolean`,
      });
  }
  return new Map(Object.entries(made as Record<string, Helper>));
}
