/** Defines the config of a collection: runs on many tasks by many proposers. */

import { join, resolve } from 'node:path';
import { z } from 'zod';
import { type Problem, UserError } from '../../base/errors.js';
import { experimentKind } from '../../config/config.js';
import { openConfig } from '../../config/file.js';
import { type SlurmConfig, slurmSchema } from '../../config/many-runs.js';
import { fieldName, oneScreen, type Path } from '../../settings/issues.js';
import {
  depthAt,
  isMapping,
  jsonSchemaOf,
  type SchemaNode,
  type SettingsKind,
  valueAt,
} from '../../settings/schema.js';
import { overlaid, parseSettings, type Where } from '../../settings/settings.js';
import { largest } from '../../statistics/descriptive.js';
import { type Acceptance, acceptanceSchema } from './acceptance.js';

/** A part of an experiment's config as written by the user; any number can be a range. */
export type Layer = Readonly<Record<string, unknown>>;

const count = (minimum: number) => z.int().min(minimum);
export const layerSchema = z.record(z.string(), z.unknown());
const weight = z
  .number()
  .positive()
  .default(1)
  .describe('How often this item is drawn, relative to the others');

export const tasksSchema = z
  .array(
    z.looseObject({
      weight,
      vary: z
        .enum(['seed', 'nothing'])
        .optional()
        .describe(
          '`seed` gives each run a different `environment.options.seed` (default for `synthetic:` without a seed); `nothing` leaves it unchanged (default otherwise)',
        ),
      accept: acceptanceSchema
        .optional()
        .describe('Draw synthetic tasks until search pays off on one; `{}` uses the defaults'),
    }),
  )
  .min(1);

const settings = z.strictObject({
  $schema: z.string().optional().describe('Schema for editors'),
  output: z
    .string()
    .min(1)
    .optional()
    .describe("Directory of the runs (default: named after this file, in the working directory's `buffers`)")
    .meta({ format: 'path' }),
  runs: count(1).max(1_000_000).describe('Number of runs; can be raised later'),
  seed: count(0)
    .default(0)
    .describe(
      'Seed from which the task, the proposer, the numbers in ranges and the seed of each run are drawn',
    ),
  slurm: slurmSchema.optional().describe('Resources to request from Slurm with `--slurm`'),
  experiment: layerSchema.default({}).describe("Settings of all runs: a part of an experiment's config"),
  tasks: tasksSchema.describe('Tasks; each run draws one, whose settings override `experiment`'),
  proposers: z
    .array(z.looseObject({ weight }))
    .min(1)
    .describe('Proposers (models and their settings); each run draws one'),
});

let layered: SchemaNode | undefined;

/**
 * Describes a collection's config. Its layers are parts of an experiment's config, in which any number can be a range.
 */
export const collectionKind: SettingsKind<z.output<typeof settings>> = {
  schema: settings,
  get json() {
    layered ??= withLayers(jsonSchemaOf(settings), reserved);
    return layered;
  },
  example: 'runs=100 or experiment.iterations=5',
  longForm: (path, value) => experimentKind.longForm?.(path.slice(path[0] === 'experiment' ? 1 : 2), value),
};

const range: SchemaNode = {
  type: 'object',
  properties: { from: { type: 'number' }, to: { type: 'number' } },
  required: ['from', 'to'],
  additionalProperties: false,
};

/**
 * Adds the keys of an experiment's config to a schema's layers: `experiment` and the items of `layerLists`.
 * @param reserved keys that a layer can't set, with the remedy
 */
export function withLayers(own: SchemaNode, reserved: Reserved): SchemaNode {
  const { $schema: _, slurm: __, sweep: ___, ...keys } = partOf(experimentKind.json).properties ?? {};
  const elsewhere = Object.entries(reserved).map(([key, description]) => [key, { description, not: {} }]);
  const said: SchemaNode['properties'] = { ...keys, ...Object.fromEntries(elsewhere) };
  const over = (node: SchemaNode = {}): SchemaNode => ({
    ...node,
    properties: { ...node.properties, ...said },
    additionalProperties: false,
  });
  const { experiment, ...others } = own.properties ?? {};
  const lists = layerLists.flatMap((list) => {
    const node = others[list];
    return node === undefined ? [] : [[list, { ...node, items: over(node.items) }] as const];
  });
  return {
    ...own,
    properties: { ...own.properties, experiment: over(experiment), ...Object.fromEntries(lists) },
  };
}

/** Lists whose items are layers. */
const layerLists = ['tasks', 'heldOut', 'proposers'] as const;

/** Keys that a layer can't set, with the remedy. */
export type Reserved = Readonly<Record<string, string>>;

/** `node` as a schema for partial settings: no field is required, and any number can be a range. */
function partOf({
  required: _,
  default: __,
  oneOf,
  anyOf = oneOf,
  properties,
  ...node
}: SchemaNode): SchemaNode {
  if (anyOf !== undefined) {
    const parts = anyOf.map(partOf).flatMap((part) => part.anyOf ?? [part]);
    // Put the range last, so that a section with a key `from`, such as `warmup`, takes precedence.
    const [last, others] = [parts.filter((part) => part === range), parts.filter((part) => part !== range)];
    return { ...node, anyOf: [...others, ...last.slice(0, 1)] };
  }
  if (node.type === 'number' || node.type === 'integer') {
    const { description, ...number } = node;
    return { ...(description !== undefined && { description }), anyOf: [number, range] };
  }
  if (properties === undefined) return node;
  const parts = Object.entries(properties).map(([key, inner]) => [key, partOf(inner)]);
  return { ...node, properties: Object.fromEntries(parts) };
}

export interface Task {
  readonly weight: number;
  readonly vary: 'seed' | 'nothing' | undefined;
  readonly accept: Acceptance | undefined;
  readonly layer: Layer;
}

interface Proposer {
  readonly weight: number;
  readonly layer: Layer;
}

export interface Collection {
  /** Absolute path of the directory. */
  readonly output: string;
  readonly runs: number;
  readonly seed: number;
  readonly slurm?: SlurmConfig | undefined;
  readonly experiment: Layer;
  readonly tasks: readonly Task[];
  readonly proposers: readonly Proposer[];
  /** Maps problems in a run's config to the places in the collection's file where the fields are set. */
  locate(error: UserError, task: number, proposer: number): UserError;
}

/** A range to draw a number from: an integer if both ends are integers, otherwise any number. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

export function isRange(value: unknown): value is Range {
  return (
    isMapping(value) &&
    Object.keys(value).length === 2 &&
    typeof value.from === 'number' &&
    typeof value.to === 'number'
  );
}

/**
 * Loads a collection's config by its path or by the name of a bundled one. Resolves relative paths: paths in the file
 * against its directory, paths in overrides against the working directory.
 * @param overrides `key=value`, such as `runs=10`, `experiment.iterations=5` or `tasks.0.weight=2`
 * @param cwd working directory (default: the working directory of the process)
 * @throws UserError listing the first problems in the collection's own settings; problems in the config of a run
 * surface when that config is created
 */
export function loadCollection(file: string, overrides: readonly string[] = [], cwd = ''): Collection {
  const source = openConfig('collection', file, { cwd });
  const read = overlaid(collectionKind, source, overrides);
  const { content, where } = read;
  const parsed = parseSettings(collectionKind, content, where);
  const problems = layerProblems(content, where, reserved);
  if (problems.length > 0) throw new UserError(oneScreen(problems));
  const { output, runs, seed, slurm, experiment, tasks, proposers } = read.absolute(
    parsed,
    source.folder,
    cwd,
  );
  return {
    output: output ?? resolve(cwd, join('buffers', source.stem)),
    runs,
    seed,
    slurm,
    experiment,
    tasks: layersOf(tasks),
    proposers: proposers.map(({ weight, ...own }) => ({ weight, layer: own })),
    locate: (error, task, proposer) =>
      locatedIn(error, [['experiment'], ['tasks', task], ['proposers', proposer]], content, where),
  };
}

export const layersOf = (tasks: z.output<typeof tasksSchema>): readonly Task[] =>
  tasks.map(({ accept, weight, vary, ...own }) => ({ weight, vary, accept, layer: own }));

/** Problems in layers: reserved keys and invalid ranges. */
export function layerProblems(
  content: Readonly<Record<string, unknown>>,
  where: Where,
  reserved: Reserved,
): readonly Problem[] {
  const layers = [['experiment'], ...layerLists.flatMap((list) => indices(content[list], list))];
  return layers.flatMap((path) => {
    const own = valueAt(path, content);
    return [
      ...Object.entries(reserved).flatMap(([key, remedy]): Problem[] =>
        valueAt([key], own) === undefined
          ? []
          : [
              {
                ...where([...path, key], 'key'),
                field: fieldName([...path, key]),
                message: "can't be set here",
                remedy,
              },
            ],
      ),
      ...emptyRanges(own, path).map((at) => ({
        ...where(at, 'value'),
        field: fieldName(at),
        message: '`from` must not exceed `to`, and both must be finite',
        value: valueAt(at, content),
      })),
    ];
  });
}

const indices = (items: unknown, list: string) =>
  Array.isArray(items) ? items.map((_, i) => [list, i]) : [];

const reserved: Reserved = {
  seed: "remove it: each run gets its own, derived from the collection's seed",
  repeats: 'increase runs instead',
};

function emptyRanges(value: unknown, path: Path): readonly Path[] {
  if (isRange(value)) return value.from <= value.to && Number.isFinite(value.to - value.from) ? [] : [path];
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => emptyRanges(item, [...path, key]));
}

/** Adds lines in the file to the problems of a config that was merged from layers. */
export const locatedIn = (error: UserError, layers: readonly Path[], content: unknown, where: Where) =>
  new UserError(error.problems.map((problem) => located(problem, layers, content, where)));

/** Locates a field in the topmost of the layers that define the longest part of its path. */
function located(problem: Problem, layers: readonly Path[], content: unknown, where: Where): Problem {
  if (problem.file !== undefined) return problem;
  const field = problem.field?.split('.') ?? [];
  const reach = (layer: Path) => depthAt([...layer, ...field], content) - layer.length;
  const furthest = largest(layers.map(reach));
  const from = layers.findLast((layer) => reach(layer) === furthest)!;
  const path = [...from, ...field];
  return { ...problem, ...where(path, 'value'), field: fieldName(path) };
}
