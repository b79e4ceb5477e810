/** A prompt set: loads and checks its templates, and renders messages. */
import { join } from 'node:path';
import { nearest, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { environmentFacts } from '../../environments/catalogue/facts.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ParseFailure } from '../answer/parse.js';
import {
  type CriticContext,
  criticContextSchema,
  criticCorrectionSchema,
} from '../context/critic-context.js';
import { failureContext } from '../context/failure-context.js';
import {
  type FeedbackContext,
  feedbackContextSchema,
  feedbackCorrectionSchema,
} from '../context/feedback-context.js';
import {
  type CorrectionContext,
  correctionContextSchema,
  descriptionSchema,
  type PromptContext,
  promptContextSchema,
  type TaskContext,
  taskContextSchema,
} from '../context/prompt-context.js';
import type { ScoreText } from '../context/scores.js';
import { descriptionContext } from '../context/task-context.js';
import { findDescription } from './description.js';
import type { TemplateHelpers } from './helpers.js';
import { compile, createHandlebars, hashOf, renderer, withField } from './rendering.js';
import { checkTemplate, type ParsedTemplate } from './template-check.js';
import { isFile, isFolder, readPartials, readTemplate } from './template-files.js';
import { type Shape, shapeOfData, shapeOfSchema } from './template-scope.js';

/** Renders the prompts for one kind of call; the user prompt has the variables of `Context`. */
interface Prompts<Context> {
  /** The system prompt, which is constant during a run. */
  system(context: TaskContext): string;
  user(context: Context): string;
  /** The message that says what was wrong with the model's reply. */
  /** @param scoreText how the prompt being corrected formats scores */
  formatCorrection(context: Context, failure: ParseFailure, scoreText?: ScoreText): string;
  /** SHA-256 of the sources of all templates that these prompts can use. */
  readonly hash: string;
}

/** Renders the prompts of a run that ask for proposals. */
export interface PromptSet extends Prompts<PromptContext> {
  /** Description of the environment: `environment.description` in the context. */
  readonly description: string;
}

export interface PromptSetOptions {
  /** `numeric`, `semantic`, `compact`, or the path of a folder with the same files. */
  readonly set: string;
  /** Path of a template that describes the environment, instead of the built-in one. */
  readonly description?: string | undefined;
  readonly environment: EnvironmentSpec;
  /** The options that the environment was created with. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Maximum number of steps per episode, on top of the environment's own limit. */
  readonly maxSteps: number;
  /** True for a user module's policy, whose own description then replaces the `policy` partial. */
  readonly ownPolicy?: boolean;
  readonly userHelpers?: TemplateHelpers | undefined;
}

const builtInSets = ['numeric', 'semantic', 'compact'];
const fileNames = ['system', 'user', 'format-correction'] as const;

/**
 * Loads and checks all templates of a set.
 * @throws UserError for a missing set or file, a syntax error, or a template that uses something undefined;
 * with file, line and column
 */
export function loadPromptSet(options: PromptSetOptions): PromptSet {
  const { environment } = options;
  const folder = findSet(options.set, builtInSets, 'prompts.set');
  const about = findDescription(folder, environment, options.description);
  const facts = environmentFacts(environment.id, options.options);
  const { hash, render } = loadTemplates(folder, 'prompts.set', options, [
    ['system', shapeOfSchema(taskContextSchema)],
    ['user', shapeOfSchema(promptContextSchema)],
    ['format-correction', shapeOfSchema(correctionContextSchema)],
    [about, withField(shapeOfSchema(descriptionSchema), 'facts', shapeOfData(facts))],
  ]);
  const [system, user, correction, description] = render;
  return {
    description: description!({
      ...descriptionContext(environment, options.options, options.maxSteps),
      facts,
    }),
    system: (context) => system!(context),
    user: (context) => user!(context),
    formatCorrection: (context, failure, scoreText) =>
      correction!({
        ...context,
        failure: failureContext(failure, context.answer.name, scoreText),
      } satisfies CorrectionContext),
    hash,
  };
}

export type CriticPrompts = Prompts<CriticContext>;

/** Prompts for a vision model that gives feedback. */
export type FeedbackPrompts = Prompts<FeedbackContext>;

type OtherOptions = Pick<PromptSetOptions, 'set' | 'ownPolicy' | 'userHelpers'>;

/** @throws UserError see `loadPromptSet` */
export const loadCriticPrompts = (options: OtherOptions): CriticPrompts =>
  loadPrompts('critic', options, criticContextSchema, criticCorrectionSchema);

/** @throws UserError see `loadPromptSet` */
export const loadFeedbackPrompts = (options: OtherOptions): FeedbackPrompts =>
  loadPrompts('feedback', options, feedbackContextSchema, feedbackCorrectionSchema);

/** Loads the templates of calls other than proposals, which have different variables. */
function loadPrompts<Context extends object>(
  section: 'critic' | 'feedback',
  options: OtherOptions,
  user: Parameters<typeof shapeOfSchema>[0],
  correction: Parameters<typeof shapeOfSchema>[0],
): Prompts<Context> {
  const field = `${section}.prompts`;
  const { hash, render } = loadTemplates(findSet(options.set, [section], field), field, options, [
    ['system', shapeOfSchema(taskContextSchema)],
    ['user', shapeOfSchema(user)],
    ['format-correction', shapeOfSchema(correction)],
  ]);
  const [renderSystem, renderUser, renderCorrection] = render;
  return {
    system: (context) => renderSystem!(context),
    user: (context) => renderUser!(context),
    formatCorrection: (context, failure, scoreText) =>
      renderCorrection!({ ...context, failure: failureContext(failure, 'params', scoreText) }),
    hash,
  };
}

type FileName = (typeof fileNames)[number];

/** Loads and checks templates, from the set or elsewhere, with all the partials that they include. */
function loadTemplates(
  folder: string,
  field: string,
  options: Pick<PromptSetOptions, 'ownPolicy' | 'userHelpers'>,
  wanted: readonly (readonly [
    FileName | { readonly file: string; readonly folder: string | undefined },
    Shape,
  ])[],
) {
  const { userHelpers: helpers = new Map() } = options;
  const handlebars = createHandlebars(helpers);
  const partials = new Map([
    ...readPartials(handlebars, join(packageRoot(), 'prompts')),
    ...readPartials(handlebars, folder),
  ]);
  if (options.ownPolicy) partials.set('policy', partials.get('policy-own')!);
  const templates = wanted.map(([place, shape]): readonly [ParsedTemplate, Shape] => {
    const own = typeof place === 'string' ? { file: fileOfSet(folder, place, field), folder } : place;
    return [readTemplate(handlebars, own.file, own.folder), shape];
  });
  const checks = templates.map(([template, shape]) => checkTemplate(template, shape, partials, helpers));
  const problems = checks.flatMap((check) => check.problems);
  if (problems.length > 0) throw new UserError(problems);
  const included = [...partials].filter(([name]) => checks.some((check) => check.included.has(name)));
  for (const [name, { program }] of included)
    handlebars.registerPartial(name, compile(handlebars, program, helpers));
  return {
    render: templates.map(([template]) => renderer(handlebars, template, helpers)),
    hash: hashOf([...templates.map(([template]) => template), ...included.map(([, partial]) => partial)]),
  };
}

function findSet(set: string, builtIn: readonly string[], field: string): string {
  const folder = /[\\/]/.test(set) ? set : join(packageRoot(), 'prompts', set);
  if (builtIn.includes(set) || (folder === set && isFolder(folder))) return folder;
  const meant = nearest(set, builtIn);
  throw new UserError({
    field,
    message: folder === set ? 'there is no such folder' : 'there is no such prompt set',
    value: set,
    alternatives: [...builtIn, "the path of a folder, with a '/' in it"],
    ...(meant !== undefined && { remedy: `did you mean ${meant}?` }),
  });
}

function fileOfSet(folder: string, name: FileName, field: string): string {
  const file = join(folder, `${name}.hbs`);
  if (isFile(file)) return file;
  const example = field === 'prompts.set' ? 'semantic' : field.split('.')[0]!;
  throw new UserError({
    field,
    file,
    message: `the prompt set lacks ${name}.hbs`,
    alternatives: fileNames.map((required) => `${required}.hbs`),
    remedy: `write it, or copy the one of ${join(packageRoot(), 'prompts', example)} and change it`,
  });
}
