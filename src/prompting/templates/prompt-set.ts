/** A prompt set: its template files, read and checked, and the messages that they make. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import Handlebars from 'handlebars';
import { messageOf, nearest, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { environmentFacts, environmentFamily, environmentName } from '../../environments/catalogue/facts.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ParseFailure } from '../answer/format.js';
import { failureContext } from '../context/failure-context.js';
import {
  type CorrectionContext,
  correctionContextSchema,
  descriptionSchema,
  type PromptContext,
  promptContextSchema,
  type TaskContext,
  taskContextSchema,
} from '../context/prompt-context.js';
import { descriptionContext } from '../context/task-context.js';
import { bounded, boundLoops } from './bounds.js';
import type { TemplateHelpers } from './helpers.js';
import { blockHelpers, checkTemplate, type ParsedTemplate } from './template-check.js';
import { isFile, isFolder, readPartials, readTemplate } from './template-files.js';
import { type Shape, shapeOfData, shapeOfSchema } from './template-scope.js';

/** Renders the prompts of a run. What it can say is defined by `prompt-context.ts`. */
export interface PromptSet {
  /** The description of the environment: `environment.description` of the context. */
  readonly description: string;
  /** The system prompt stays the same during a run. */
  system(context: TaskContext): string;
  user(context: PromptContext): string;
  /** Tells the model what was wrong with its reply. */
  formatCorrection(context: PromptContext, failure: ParseFailure): string;
  /** SHA-256 of the sources of all templates that these prompts can use. */
  readonly hash: string;
}

export interface PromptSetOptions {
  /** `numeric`, `semantic`, `compact`, or the path of a folder with the same files. */
  readonly set: string;
  /** Path of a template that describes the environment, instead of the built-in one. */
  readonly description?: string | undefined;
  readonly environment: EnvironmentSpec;
  /** The options that the environment was made with. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Steps after which an episode is cut, beside the environment's own limit. */
  readonly maxSteps: number;
  /** Whether the policy is of a user's module, whose own description then replaces the partial `policy`. */
  readonly ownPolicy?: boolean;
  readonly userHelpers?: TemplateHelpers | undefined;
}

const builtInSets = ['numeric', 'semantic', 'compact'];
const fileNames = ['system', 'user', 'format-correction'] as const;

/**
 * Reads and checks all templates of a set.
 * @throws UserError for a missing set or file, a syntax error, or a template that uses what is not there; with file,
 *   line and column.
 */
export function loadPromptSet(options: PromptSetOptions): PromptSet {
  const { environment } = options;
  const folder = findSet(options.set);
  const { userHelpers: helpers = new Map() } = options;
  const handlebars = createHandlebars(helpers);
  const partials = new Map([
    ...readPartials(handlebars, join(packageRoot(), 'prompts')),
    ...readPartials(handlebars, folder),
  ]);
  if (options.ownPolicy) partials.set('policy', partials.get('policy-own')!);
  const [system, user, correction] = fileNames.map((name) =>
    readTemplate(handlebars, fileOfSet(folder, name), folder),
  );
  const about = findDescription(folder, environment.id, options.description);
  const describing = readTemplate(handlebars, about.file, about.folder);
  const facts = environmentFacts(environment.id, options.options);

  const templates: readonly (readonly [ParsedTemplate, Shape])[] = [
    [system!, shapeOfSchema(taskContextSchema)],
    [user!, shapeOfSchema(promptContextSchema)],
    [correction!, shapeOfSchema(correctionContextSchema)],
    [describing, withFacts(shapeOfSchema(descriptionSchema), shapeOfData(facts))],
  ];
  const checks = templates.map(([template, shape]) => checkTemplate(template, shape, partials, helpers));
  const problems = checks.flatMap((check) => check.problems);
  if (problems.length > 0) throw new UserError(problems);
  const included = [...partials].filter(([name]) => checks.some((check) => check.included.has(name)));

  for (const [name, { program }] of included)
    handlebars.registerPartial(name, compile(handlebars, program, helpers));
  const [renderSystem, renderUser, renderCorrection, renderDescription] = templates.map(([template]) =>
    renderer(handlebars, template, helpers),
  );
  return {
    description: renderDescription!({
      ...descriptionContext(environment, options.options, options.maxSteps),
      facts,
    }),
    system: (context) => renderSystem!(context),
    user: (context) => renderUser!(context),
    formatCorrection: (context, failure) =>
      renderCorrection!({ ...context, failure: failureContext(failure) } satisfies CorrectionContext),
    hash: hashOf([...templates.map(([template]) => template), ...included.map(([, partial]) => partial)]),
  };
}

/** An instance whose only helpers are `blockHelpers` and the user's: none that logs, looks up or evaluates. */
function createHandlebars(helpers: TemplateHelpers): typeof Handlebars {
  const handlebars = Handlebars.create();
  boundLoops(handlebars);
  for (const helper of Object.keys(handlebars.helpers)) {
    if (!blockHelpers.includes(helper)) handlebars.unregisterHelper(helper);
  }
  for (const [name, value] of helpers) {
    // Handlebars adds its own options to what the template gives.
    const call = (...given: unknown[]) =>
      typeof value === 'function' ? value(...given.slice(0, -1)) : value;
    handlebars.registerHelper(name, call);
  }
  return handlebars;
}

function compile(
  handlebars: typeof Handlebars,
  program: hbs.AST.Program,
  helpers: TemplateHelpers,
): HandlebarsTemplateDelegate {
  const knownHelpers = Object.fromEntries([...helpers.keys()].map((name) => [name, true]));
  return handlebars.compile(program, { strict: true, noEscape: true, knownHelpersOnly: true, knownHelpers });
}

function renderer(
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

function findSet(set: string): string {
  const folder = /[\\/]/.test(set) ? set : join(packageRoot(), 'prompts', set);
  if (builtInSets.includes(set) || (folder === set && isFolder(folder))) return folder;
  const meant = nearest(set, builtInSets);
  throw new UserError({
    field: 'prompts.set',
    message: folder === set ? 'there is no such folder' : 'there is no such prompt set',
    value: set,
    alternatives: [...builtInSets, "the path of a folder, with a '/' in it"],
    ...(meant !== undefined && { remedy: `did you mean ${meant}?` }),
  });
}

function fileOfSet(folder: string, name: (typeof fileNames)[number]): string {
  const file = join(folder, `${name}.hbs`);
  if (isFile(file)) return file;
  throw new UserError({
    field: 'prompts.set',
    file,
    message: `the prompt set lacks ${name}.hbs`,
    alternatives: fileNames.map((required) => `${required}.hbs`),
    remedy: `write it, or copy the one of ${join(packageRoot(), 'prompts', 'semantic')} and change it`,
  });
}

/** The file that describes an environment: that of the config, of the set, or of the package. */
function findDescription(
  set: string,
  id: string,
  chosen: string | undefined,
): { readonly file: string; readonly folder: string | undefined } {
  if (chosen !== undefined) {
    if (isFile(chosen)) return { file: chosen, folder: undefined };
    throw new UserError({ field: 'prompts.description', message: 'there is no such file', value: chosen });
  }
  const own = join(packageRoot(), 'prompts');
  const candidates = [set, own].flatMap((folder) =>
    [id, environmentName(id), environmentFamily(id)].map((name) => {
      return { file: join(folder, 'environments', `${fileName(name)}.hbs`), folder };
    }),
  );
  return (
    candidates.find(({ file }) => isFile(file)) ?? { file: join(own, 'environments', 'any.hbs'), folder: own }
  );
}

/** An id may hold characters that a file name can't, such as the slash of a namespace. */
const fileName = (id: string): string => id.replace(/[^\w.-]/g, '-');

function withFacts(context: Shape, facts: Shape): Shape {
  return context.kind === 'object' ? { ...context, fields: { ...context.fields, facts } } : context;
}

function hashOf(templates: readonly ParsedTemplate[]): string {
  const hash = createHash('sha256');
  for (const { source } of templates) hash.update(`${source.length}:${source}`);
  return hash.digest('hex');
}
