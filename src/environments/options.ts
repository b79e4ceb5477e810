import { z } from 'zod';
import { append } from '../base/append.js';
import { closestMatch, type Problem, UserError } from '../base/errors.js';
import type { Environment, Task } from './environment.js';
import { LimitedEnvironment } from './limited-environment.js';

export const stepLimitSchema = z.union([z.literal(-1), z.int().min(1)]);

/** The option that all built-in environments share. */
const limitSchema = z.strictObject({
  /** Steps after which an episode is truncated, instead of the environment's own limit; -1 for no limit. */
  max_episode_steps: stepLimitSchema.nullish(),
});

/** Lists the names of an environment's options, spelled as in Gymnasium, including `max_episode_steps`. */
function optionNames(schema: z.ZodObject): readonly string[] {
  return [...Object.keys(schema.shape), ...Object.keys(limitSchema.shape)];
}

interface ParsedOptions<S extends z.ZodObject> {
  readonly ownOptions: z.output<S>;
  /** Undefined keeps the environment's own limit; -1 removes it. */
  readonly maxEpisodeSteps: number | undefined;
}

/** Parses options, named as in Gymnasium or in camelCase. @throws UserError that lists the problems */
function parseOptions<S extends z.ZodObject>(
  id: string,
  schema: S,
  options: Readonly<Record<string, unknown>>,
): ParsedOptions<S> {
  const names = optionNames(schema);
  const problems: Problem[] = [];
  const givenOptions: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(options)) {
    const name = snakeCase(key);
    if (!names.includes(name)) problems.push(unknownOptionProblem(id, key, names));
    else if (name in givenOptions) problems.push({ field: key, message: 'is set twice' });
    else if (value !== undefined) givenOptions[name] = value;
  }
  const { max_episode_steps, ...ownOptions } = givenOptions;
  const ownResult = schema.safeParse(ownOptions);
  const limitResult = limitSchema.safeParse({ max_episode_steps });
  const issues = [...(ownResult.error?.issues ?? []), ...(limitResult.error?.issues ?? [])];
  append(
    problems,
    issues.map((issue) => unusableValueProblem(issue, givenOptions)),
  );
  if (ownResult.data === undefined || limitResult.data === undefined || problems.length > 0) {
    throw new UserError(problems);
  }
  return { ownOptions: ownResult.data, maxEpisodeSteps: limitResult.data.max_episode_steps ?? undefined };
}

/** Turns `maxEpisodeSteps` into `max_episode_steps`. */
function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** Returns the options with names in snake_case. */
export const toSnakeCase = (options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(options).map(([name, value]) => [snakeCase(name), value]));

function unknownOptionProblem(id: string, key: string, names: readonly string[]): Problem {
  const near = closestMatch(snakeCase(key), names);
  return { field: key, message: `unknown option of ${id}`, near, alternatives: names };
}

function unusableValueProblem(issue: z.core.$ZodIssue, options: Readonly<Record<string, unknown>>): Problem {
  const [name] = issue.path;
  const field = issue.path.join('.');
  const value = typeof name === 'string' ? options[name] : undefined;
  if (name !== 'max_episode_steps') return { field, message: issue.message, value };
  const hint = 'set the number of steps, or -1 for no limit';
  return { field, message: 'must be a positive integer or -1', value, hint };
}

/** Information about an environment, available without loading it. */
export interface EnvironmentInfo {
  readonly id: string;
  /** Other ids, e.g. of older versions with identical behaviour. */
  readonly aliases: readonly string[];
  /** Option names, spelled as in Gymnasium. */
  readonly options: readonly string[];
  /** Default values of the options; options without a default are absent. */
  readonly defaults: Readonly<Record<string, unknown>>;
  /** Default step limit of an episode; undefined if there is none. */
  readonly maxSteps: number | undefined;
}

export interface CatalogueEntry extends EnvironmentInfo {
  make(options: Readonly<Record<string, unknown>>): Promise<Environment>;
}

/** Makes a catalogue entry. @param create creates the task from valid options */
export function makeEntry<S extends z.ZodObject>(
  id: string,
  { aliases = [], maxSteps }: Partial<Pick<EnvironmentInfo, 'aliases' | 'maxSteps'>>,
  schema: S,
  create: (options: z.output<S>) => Task | Promise<Task>,
): CatalogueEntry {
  return {
    id,
    aliases,
    options: optionNames(schema),
    defaults: { ...schema.parse({}), ...(maxSteps !== undefined && { max_episode_steps: maxSteps }) },
    maxSteps,
    async make(options) {
      const { ownOptions, maxEpisodeSteps = maxSteps } = parseOptions(id, schema, options);
      const limit = maxEpisodeSteps === -1 ? undefined : maxEpisodeSteps;
      return new LimitedEnvironment(id, await create(ownOptions), limit);
    },
  };
}
