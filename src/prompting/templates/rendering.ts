/** Loads, checks and renders templates. */
import { createHash } from 'node:crypto';
import Handlebars from 'handlebars';
import { messageOf, UserError } from '../../base/errors.js';
import { isRecord, loadModule } from '../../modules/user-module.js';
import {
  blockHelpers,
  checkTemplate,
  type Helper,
  type ParsedTemplate,
  type TemplateHelpers,
} from './template-check.js';
import { readPartials, readTemplate } from './template-files.js';
import type { Shape } from './template-scope.js';

export interface WantedTemplate {
  readonly file: string;
  readonly shape: Shape;
}

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
): { readonly render: readonly ((context: object) => string)[]; readonly hash: string } {
  const handlebars = createHandlebars(helpers);
  const partials = new Map(sets.flatMap((set) => [...readPartials(handlebars, set)]));
  if (ownPolicy) partials.set('policy', partials.get('policy-own')!);
  const templates = wanted.map(({ file }) => readTemplate(handlebars, file));
  const checks = templates.map((template, i) => checkTemplate(template, wanted[i]!.shape, partials, helpers));
  const problems = checks.flatMap((check) => check.problems);
  if (problems.length > 0) throw new UserError(problems);
  const knownHelpers = Object.fromEntries([...helpers.keys()].map((name) => [name, true]));
  const compile = ({ program }: ParsedTemplate) =>
    handlebars.compile(program, { strict: true, noEscape: true, knownHelpersOnly: true, knownHelpers });
  const included = [...partials].filter(([name]) => checks.some((check) => check.included.has(name)));
  for (const [name, partial] of included) handlebars.registerPartial(name, compile(partial));
  const hash = createHash('sha256');
  for (const { source } of [...templates, ...included.map(([, partial]) => partial)])
    hash.update(`${source.length}:${source}`);
  return {
    render: templates.map((template) => renderer(template, compile(template))),
    hash: hash.digest('hex'),
  };
}

function renderer({ file }: ParsedTemplate, render: HandlebarsTemplateDelegate): (context: object) => string {
  return (context) => {
    try {
      return render(context).trim();
    } catch (error) {
      throw new UserError({ file, message: `the template can't be rendered: ${messageOf(error)}` });
    }
  };
}

/** Creates an instance with only `blockHelpers` and the user's helpers, without Handlebars' `log` and `lookup`. */
function createHandlebars(helpers: TemplateHelpers): typeof Handlebars {
  const handlebars = Handlebars.create();
  for (const helper of Object.keys(handlebars.helpers))
    if (!blockHelpers.includes(helper)) handlebars.unregisterHelper(helper);
  for (const [name, value] of helpers) {
    // Handlebars appends its own options to the template's arguments.
    const call = (...given: unknown[]) =>
      typeof value === 'function' ? value(...given.slice(0, -1)) : value;
    handlebars.registerHelper(name, call);
  }
  return handlebars;
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
