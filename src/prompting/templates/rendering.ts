/** Renders checked templates to text. */
import { createHash } from 'node:crypto';
import Handlebars from 'handlebars';
import { messageOf, UserError } from '../../base/errors.js';
import { bounded, boundLoops } from './bounds.js';
import type { TemplateHelpers } from './helpers.js';
import { blockHelpers, type ParsedTemplate } from './template-check.js';
import type { Shape } from './template-scope.js';

/**
 * An instance whose only helpers are `blockHelpers` and the user's, without Handlebars' helpers for logging and lookup.
 */
export function createHandlebars(helpers: TemplateHelpers): typeof Handlebars {
  const handlebars = Handlebars.create();
  boundLoops(handlebars);
  for (const helper of Object.keys(handlebars.helpers)) {
    if (!blockHelpers.includes(helper)) handlebars.unregisterHelper(helper);
  }
  for (const [name, value] of helpers) {
    // Handlebars appends its own options to the template's arguments.
    const call = (...given: unknown[]) =>
      typeof value === 'function' ? value(...given.slice(0, -1)) : value;
    handlebars.registerHelper(name, call);
  }
  return handlebars;
}

export function compile(
  handlebars: typeof Handlebars,
  program: hbs.AST.Program,
  helpers: TemplateHelpers,
): HandlebarsTemplateDelegate {
  const knownHelpers = Object.fromEntries([...helpers.keys()].map((name) => [name, true]));
  return handlebars.compile(program, { strict: true, noEscape: true, knownHelpersOnly: true, knownHelpers });
}

export function renderer(
  handlebars: typeof Handlebars,
  { file, program }: ParsedTemplate,
  helpers: TemplateHelpers,
): (context: object) => string {
  const render = compile(handlebars, program, helpers);
  return (context) => {
    try {
      return bounded(() => render(context).trim());
    } catch (error) {
      throw new UserError({ file, message: `the template can't be rendered: ${messageOf(error)}` });
    }
  };
}

/** The shape of a context with an additional field. */
export function withField(context: Shape, name: string, field: Shape): Shape {
  return context.kind === 'object' ? { ...context, fields: { ...context.fields, [name]: field } } : context;
}

export function hashOf(templates: readonly ParsedTemplate[]): string {
  const hash = createHash('sha256');
  for (const { source } of templates) hash.update(`${source.length}:${source}`);
  return hash.digest('hex');
}
