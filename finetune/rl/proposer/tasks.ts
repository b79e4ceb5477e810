/** Tasks for training a proposer: each run draws one, whose settings are merged into the experiment's. */
import { z } from 'zod';
import { mapProblems, UserError } from '../../../src/base/errors.js';
import { createGenerator, deriveSeeds } from '../../../src/base/random/generator.js';
import { fieldName, type Path } from '../../../src/base/settings/issues.js';
import { isMapping, type SchemaNode, valueAt } from '../../../src/base/settings/schema.js';
import type { FieldLocator } from '../../../src/base/settings/settings.js';
import { type Config, experimentKind } from '../../../src/config/config.js';
import { parseConfig } from '../../../src/config/load.js';

/** A part of an experiment's config as written by the user. */
type ConfigLayer = Readonly<Record<string, unknown>>;

export const layerSchema = z.record(z.string(), z.unknown());

export const tasksSchema = z
  .array(
    z.looseObject({
      weight: z.number().positive().default(1).describe('Frequency of this task, relative to the others'),
    }),
  )
  .min(1);

export interface TaskPlan {
  readonly seed: number;
  readonly experiment: ConfigLayer;
  readonly tasks: z.output<typeof tasksSchema>;
  /** Path of the model that answers. */
  readonly model: string;
}

/** Independent random streams, derived from the plan's seed and a run's number. */
const streams = { choice: 0, seed: 2 } as const;

/** The config of the run with this number. @throws UserError if it is invalid */
export function configOf(plan: TaskPlan, number: number): Config {
  const { seed, tasks } = plan;
  const total = tasks.reduce((sum, { weight }) => sum + weight, 0);
  const shares = tasks.map(({ weight }) => weight / total);
  const taskIndex = createGenerator(seed, [number, streams.choice]).categorical(shares);
  return configOfTask(plan, taskIndex, deriveSeeds(seed, [number, streams.seed], 1)[0]!);
}

/** Keys of an experiment's config, or paths in it, that the training of a proposer sets itself or doesn't use. */
const reservedKeys = [
  'seed',
  'model',
  'candidates',
  'corrections',
  'target',
  'limits',
  'confirmation',
  'record',
  'evaluation.seeds',
  'memory.trajectories',
  'warmup.from',
];

/** @throws UserError if the merged config is invalid or sets a reserved key */
export function configOfTask({ experiment, model, tasks }: TaskPlan, task: number, seed = 0): Config {
  const { weight: _, ...taskSettings } = tasks[task]!;
  const content = merge(experiment, taskSettings);
  const field = reservedKeys.find((key) => valueAt(key.split('.'), content) !== undefined);
  if (field !== undefined)
    throw new UserError({ field, message: "can't be set here", hint: 'remove it; finetune rl sets it' });
  const config = parseConfig({ ...content, model: { provider: 'local', path: model }, seed });
  return { ...config, evaluation: { ...config.evaluation, workers: 1 } };
}

/** Merges mappings key by key, except those of different kinds. Other values in `changes` replace those in `base`. */
function merge(base: ConfigLayer, changes: ConfigLayer): ConfigLayer {
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(changes)) {
    const current = base[key];
    const canMerge = isMapping(value) && isMapping(current) && [current.kind, undefined].includes(value.kind);
    result[key] = canMerge ? merge(current, value) : value;
  }
  return result;
}

/** Long form of a shorthand at a path in `experiment` or in an item of a list of tasks. */
export const layerLongForm = (path: Path, value: unknown) =>
  experimentKind.longForm?.(path.slice(path[0] === 'experiment' ? 1 : 2), value);

const taskLists = ['tasks', 'heldOut'] as const;

/** Adds the keys of an experiment's config to a schema's `experiment` and to the items of its lists of tasks. */
export function withExperimentKeys(schema: SchemaNode): SchemaNode {
  const excludedKeys = new Set(['$schema', 'slurm', 'sweep', ...reservedKeys]);
  const keys = Object.entries(partialSchema(experimentKind.json).properties!);
  const properties = Object.fromEntries(keys.filter(([key]) => !excludedKeys.has(key)));
  const addKeys = (node: SchemaNode): SchemaNode => ({
    ...node,
    properties: { ...node.properties, ...properties },
    additionalProperties: false,
  });
  const { experiment, ...others } = schema.properties!;
  const lists = taskLists.map((list) => [list, { ...others[list], items: addKeys(others[list]!.items!) }]);
  return {
    ...schema,
    properties: { ...schema.properties, experiment: addKeys(experiment!), ...Object.fromEntries(lists) },
  };
}

/** A schema for partial settings, in which no field is required. */
const partialSchema = (schema: SchemaNode): SchemaNode =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === 'required' || key === 'default' ? undefined : value,
    ).replaceAll('"oneOf":', '"anyOf":'),
  ) as SchemaNode;

/** @throws UserError with the problems of the first invalid task, located in the layer that sets the field */
export function checkTasks(
  plans: Readonly<Record<(typeof taskLists)[number], TaskPlan>>,
  content: ConfigLayer,
  where: FieldLocator,
): void {
  for (const list of taskLists.filter((one) => content[one] !== undefined))
    for (const taskIndex of plans[list].tasks.keys())
      try {
        configOfTask(plans[list], taskIndex);
      } catch (error) {
        throw mapProblems(error, (problem) => {
          const fieldPath = problem.field?.split('.') ?? [];
          const taskPath = [list, taskIndex, ...fieldPath];
          const path = valueAt(taskPath, content) === undefined ? ['experiment', ...fieldPath] : taskPath;
          return { ...where(path, 'value'), ...problem, field: fieldName(path) };
        });
      }
}
