/** A prompt set: loads and checks its templates, and renders messages. */
import { join } from 'node:path';
import type { z } from 'zod';
import { closestMatch, UserError } from '../../base/errors.js';
import { packageRoot } from '../../base/package.js';
import { environmentFacts } from '../../environments/catalogue/facts.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { ParseFailure } from '../answer/failure.js';
import { failureContext } from '../context/failure-context.js';
import {
  correctionContextSchema,
  descriptionSchema,
  type PromptContext,
  promptContextSchema,
  type TaskContext,
  taskContextSchema,
} from '../context/prompt-context.js';
import type { ScoreFormat } from '../context/scores.js';
import { descriptionContext } from '../context/task-context.js';
import { findDescriptionFile } from './description.js';
import { loadTemplates, type RequestedTemplate, type TemplateHelpers } from './rendering.js';
import { isFolder, templateFile } from './template-files.js';
import { samplesOf } from './variables.js';

/** Renders the prompts for one kind of call. User prompts can use the variables of `Context`. */
export interface PromptRenderer<Context> {
  system(context: TaskContext): string;
  user(context: Context): string;
  /** @param scoreText formats scores as the preceding prompt did */
  formatCorrection(context: Context, failure: ParseFailure, scoreText?: ScoreFormat): string;
  /** SHA-256 of the sources of the templates and of the partials that they include. */
  readonly hash: string;
}

/** Renders the prompts that ask for proposals. */
export interface PromptSet extends PromptRenderer<PromptContext> {
  /** Description of the environment; becomes `environment.description` in the context. */
  readonly description: string;
}

export interface PromptSetOptions {
  /** `numeric`, `semantic`, `compact`, `programs`, or the path of a folder with the same files. */
  readonly set: string;
  /** Path of a template that describes the environment, instead of the built-in one. */
  readonly description?: string | undefined;
  readonly environment: EnvironmentSpec;
  readonly options: Readonly<Record<string, unknown>>;
  readonly maxSteps: number;
  /** True if the policy is a user's module; its own description then replaces the `policy` partial. */
  readonly ownPolicy?: boolean;
  readonly userHelpers?: TemplateHelpers | undefined;
}

const builtInSets = ['numeric', 'semantic', 'compact', 'programs'];
const fileNames = ['system', 'user', 'format-correction'] as const;

/** Loads and checks all templates of a set. @throws UserError if the set or a template is missing, or one is invalid */
export function loadPromptSet(options: PromptSetOptions): PromptSet {
  const { environment } = options;
  const folder = findSet(options.set, builtInSets, 'prompts.set');
  const facts = environmentFacts(environment.id, options.options);
  const description = {
    file: findDescriptionFile(folder, environment, options.description),
    samples: samplesOf(descriptionSchema, { facts }),
  };
  const schemas = [promptContextSchema, correctionContextSchema] as const;
  const { prompts, renderers } = loadPrompts<PromptContext>(folder, 'prompts.set', options, schemas, [
    description,
  ]);
  const context = { ...descriptionContext(environment, options.options, options.maxSteps), facts };
  return { ...prompts, description: renderers.at(-1)!(context) };
}

/** Schemas of the variables in the user prompt and the correction. */
type TemplateSchemas = readonly [z.ZodObject, z.ZodObject];

/**
 * @param field the setting that names the set
 * @param extras additional templates; their render functions come last in `renderers`
 * @throws UserError that names the file if a template is missing or invalid
 */
export function loadPrompts<Context extends TaskContext>(
  folder: string,
  field: string,
  { ownPolicy, userHelpers }: Pick<PromptSetOptions, 'ownPolicy' | 'userHelpers'>,
  schemas: TemplateSchemas,
  extras: readonly RequestedTemplate[] = [],
): {
  readonly prompts: PromptRenderer<Context>;
  readonly renderers: readonly ((context: object) => string)[];
} {
  const isProposal = field === 'prompts.set';
  const example = isProposal ? 'semantic' : field.split('.')[0]!;
  const templates = [taskContextSchema, ...schemas].map((schema, i) => ({
    file: templateFile(folder, fileNames[i]!, fileNames, field, example),
    samples: samplesOf(schema),
  }));
  const sets = [join(packageRoot(), 'prompts'), folder];
  const { hash, renderers } = loadTemplates([...templates, ...extras], sets, userHelpers, ownPolicy);
  const [system, user, correction] = renderers;
  const prompts: PromptRenderer<Context> = {
    system: system!,
    user: user!,
    formatCorrection(context, failure, scoreText) {
      return correction!({ ...context, failure: failureContext(failure, scoreText) });
    },
    hash,
  };
  return { prompts, renderers };
}

/** @throws UserError if there is no such set */
export function findSet(set: string, builtIn: readonly string[], field: string): string {
  const folder = /[\\/]/.test(set) ? set : join(packageRoot(), 'prompts', set);
  if (builtIn.includes(set) || (folder === set && isFolder(folder))) return folder;
  throw new UserError({
    field,
    message: folder === set ? 'there is no such folder' : 'there is no such prompt set',
    value: set,
    near: closestMatch(set, builtIn),
    alternatives: [...builtIn, "the path of a folder (with a '/')"],
  });
}
