/** The tasks of the runs that a proposer answers: each run draws one, whose settings are merged into the experiment's. */
import { z } from 'zod';
import { type Problem, UserError } from '../../../src/base/errors.js';
import { createGenerator, deriveSeeds } from '../../../src/base/random/generator.js';
import { fieldName, type Path } from '../../../src/base/settings/issues.js';
import { discriminatorOf, isMapping, type SchemaNode, valueAt } from '../../../src/base/settings/schema.js';
import type { Where } from '../../../src/base/settings/settings.js';
import { type Config, experimentKind } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';
import { largest } from '../../../src/statistics/descriptive.js';

/** A part of an experiment's config as written by the user. */
type Layer = Readonly<Record<string, unknown>>;

export const layerSchema = z.record(z.string(), z.unknown());

export const tasksSchema = z
  .array(
    z.looseObject({
      weight: z
        .number()
        .positive()
        .default(1)
        .describe('How often this task is drawn, relative to the others'),
    }),
  )
  .min(1);

export interface TaskPlan {
  readonly seed: number;
  readonly experiment: Layer;
  readonly tasks: z.output<typeof tasksSchema>;
  /** Directory of the model that answers. */
  readonly model: string;
}

/** Independent random streams, derived from the plan's seed and a run's number. */
const streams = { choice: 0, seed: 2 } as const;

/** The config of the run with this number. @throws UserError if it is invalid */
export function configOf(plan: TaskPlan, number: number): Config {
  const { seed, tasks } = plan;
  const total = tasks.reduce((sum, { weight }) => sum + weight, 0);
  const shares = tasks.map(({ weight }) => weight / total);
  const task = createGenerator(seed, [number, streams.choice]).categorical(shares);
  return configOfTask(plan, task, deriveSeeds(seed, [number, streams.seed], 1)[0]!);
}

/** @throws UserError if the merged config is invalid */
export function configOfTask({ experiment, model, tasks }: TaskPlan, task: number, seed = 0): Config {
  const { weight: _, ...own } = tasks[task]!;
  const layered = layOver(experiment, own);
  const config = parseConfig({ ...layered, model: { provider: 'local', path: model }, seed });
  return { ...config, evaluation: { ...config.evaluation, workers: 1 } };
}

/**
 * Merges mappings key by key. Any other value in `over` replaces the one in `under`; so does a policy of a different
 * kind.
 */
function layOver(under: Layer, over: Layer): Layer {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = writtenOut(key, under[key]);
    const tag = discriminatorOf(experimentKind.json.properties?.[key] ?? {});
    merged[key] =
      isMapping(value) && isMapping(below) && sameKind(below, value, tag) ? merge(below, value) : value;
  }
  return merged;
}

function merge(under: Layer, over: Layer): Layer {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = under[key];
    merged[key] = isMapping(value) && isMapping(below) ? merge(below, value) : value;
  }
  return merged;
}

const sameKind = (under: Layer, over: Layer, tag: string | undefined) =>
  tag === undefined || over[tag] === undefined || over[tag] === under[tag];

/** Expands `warmup: 4` to `warmup: {policies: 4}`. */
const writtenOut = (section: string, value: unknown): unknown =>
  isMapping(value) || value === undefined ? value : (experimentKind.longForm?.([section], value) ?? value);

/** The shorthands of a path in `experiment` or in the item of a list of tasks. */
export const layerLongForm = (path: Path, value: unknown) =>
  experimentKind.longForm?.(path.slice(path[0] === 'experiment' ? 1 : 2), value);

/** Keys that a layer can't set, with the reason or the key to use instead; a key may be a path. */
const reserved: Readonly<Record<string, string>> = {
  seed: 'each run has its own, derived from the training seed',
  model: 'set model at the top level',
  candidates: 'set groupSize',
  corrections: 'a reply that can’t be parsed earns reward.invalid',
  target: 'a run ends after its iterations',
  limits: 'set limits at the top level',
  confirmation: 'nothing is confirmed, because evaluations use held-out runs',
  record: 'training records nothing',
  'evaluation.seeds': 'candidates and the best policy so far need the same episodes',
  'warmup.from': 'runs start with random policies',
};

const taskLists = ['tasks', 'heldOut'] as const;

/** Adds the keys of an experiment's config to a schema's `experiment` and to the items of its lists of tasks. */
export function withLayers(own: SchemaNode): SchemaNode {
  const { $schema: _, slurm: __, sweep: ___, ...keys } = optional(experimentKind.json).properties ?? {};
  const elsewhere = Object.entries(reserved).flatMap(([key, description]) =>
    key.includes('.') ? [] : [[key, { description, not: {} }]],
  );
  const said: SchemaNode['properties'] = { ...keys, ...Object.fromEntries(elsewhere) };
  const over = (node: SchemaNode = {}): SchemaNode => ({
    ...node,
    properties: { ...node.properties, ...said },
    additionalProperties: false,
  });
  const { experiment, ...others } = own.properties ?? {};
  const lists = taskLists.map((list) => [list, { ...others[list], items: over(others[list]?.items) }]);
  return {
    ...own,
    properties: { ...own.properties, experiment: over(experiment), ...Object.fromEntries(lists) },
  };
}

/** `node` as a schema for partial settings, in which no field is required. */
function optional({
  required: _,
  default: __,
  oneOf,
  anyOf = oneOf,
  properties,
  ...node
}: SchemaNode): SchemaNode {
  if (anyOf !== undefined) return { ...node, anyOf: anyOf.map(optional) };
  if (properties === undefined) return node;
  const parts = Object.entries(properties).map(([key, inner]) => [key, optional(inner)]);
  return { ...node, properties: Object.fromEntries(parts) };
}

/** Problems in the layers of a config: reserved keys, or else what is invalid in the merged configs. */
export function layerProblems(
  plans: Readonly<Record<(typeof taskLists)[number], TaskPlan>>,
  content: Layer,
  where: Where,
): readonly Problem[] {
  const items = taskLists.flatMap((list): Path[] =>
    content[list] === undefined ? [] : plans[list].tasks.map((_, task) => [list, task]),
  );
  const keys = [['experiment'], ...items].flatMap((layer) =>
    Object.entries(reserved).flatMap(([key, hint]): Problem[] => {
      const path = [...layer, ...key.split('.')];
      if (valueAt(path, content) === undefined) return [];
      return [{ ...where(path, 'key'), field: fieldName(path), message: "can't be set here", hint }];
    }),
  );
  if (keys.length > 0) return keys;
  const found = items.flatMap(([list, task]) => {
    try {
      configOfTask(plans[list as (typeof taskLists)[number]], task as number);
      return [];
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      const layers: Path[] = [['experiment'], [list!, task!]];
      return error.problems.map((problem) => located(problem, layers, content, where));
    }
  });
  // Tasks share the problems of `experiment`.
  return [...new Map(found.map((one) => [JSON.stringify([one.line, one.field, one.message]), one])).values()];
}

/** Locates a field in the topmost of the layers that define the longest part of its path. */
function located(problem: Problem, layers: readonly Path[], content: unknown, where: Where): Problem {
  if (problem.file !== undefined) return problem;
  const field = problem.field?.split('.') ?? [];
  const reach = (layer: Path) => {
    const path = [...layer, ...field];
    const missing = path.findIndex((_, i) => valueAt(path.slice(0, i + 1), content) === undefined);
    return (missing < 0 ? path.length : missing) - layer.length;
  };
  const furthest = largest(layers.map(reach));
  const from = layers.findLast((layer) => reach(layer) === furthest)!;
  const path = [...from, ...field];
  return { ...problem, ...where(path, 'value'), field: fieldName(path) };
}
