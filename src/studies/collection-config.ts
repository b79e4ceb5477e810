/** The only definition of a collection's config: runs of many tasks by many proposers. */
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { type Problem, UserError } from '../errors.js';
import { fieldOf, type Place, readSettings, schemaProblems } from '../settings/file.js';
import { oneScreen, type Path } from '../settings/issues.js';
import { isMapping, valueAt } from '../settings/schema.js';

/** A part of an experiment's config, as a user may write it; a number may be a range. */
export type Layer = Readonly<Record<string, unknown>>;

const count = (minimum: number) => z.int().min(minimum);
const layer = z.record(z.string(), z.unknown());
const weight = z.number().positive().default(1).describe('How often it is drawn, beside the others');

const settings = z.strictObject({
  $schema: z.string().optional().describe('For editors'),
  output: z.string().min(1).describe('Directory of the runs'),
  runs: count(1).max(1_000_000).describe('How many; more can be asked for later'),
  seed: count(0).default(0).describe('Fixes what each run draws, and its own seed'),
  experiment: layer.default({}).describe("What all runs have in common: a part of an experiment's config"),
  tasks: z
    .array(
      z.looseObject({
        weight,
        vary: z
          .enum(['seed', 'nothing'])
          .optional()
          .describe(
            '`seed`: `environment.options.seed` is another in each run (default: for `synthetic:` without a seed)',
          ),
      }),
    )
    .min(1)
    .describe('One is drawn for each run, and laid over `experiment`'),
  proposers: z
    .array(z.looseObject({ weight }))
    .min(1)
    .describe('The same way: a model, and what goes with it'),
});

export interface Task {
  readonly weight: number;
  readonly vary: 'seed' | 'nothing' | undefined;
  readonly layer: Layer;
}

interface Proposer {
  readonly weight: number;
  readonly layer: Layer;
}

export interface Collection {
  readonly file: string;
  /** Absolute. */
  readonly output: string;
  readonly runs: number;
  readonly seed: number;
  readonly experiment: Layer;
  readonly tasks: readonly Task[];
  readonly proposers: readonly Proposer[];
  /** Problems that name a field of the config of a run, with the place in this file that it comes from. */
  locate(error: UserError, task: number, proposer: number): UserError;
}

/** A number to be drawn: whole where both ends are, else a fraction. */
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
 * Reads a collection's config; `output` is relative to its file.
 * @param overrides `key=value`, such as `runs=10`, `experiment.iterations=5` or `tasks.0.weight=2`
 * @throws UserError with the place, value, alternatives and remedy of everything that is wrong with what is its own;
 *   what is wrong with the config of a run is found when that is made
 */
export function loadCollection(file: string, overrides: readonly string[] = []): Collection {
  const { content, place } = readSettings(file, overrides, 'runs=100 or experiment.iterations=5');
  const parsed = settings.safeParse(content);
  const problems = parsed.success
    ? layerProblems(content as Record<string, unknown>, place)
    : parsed.error.issues.flatMap((issue) => schemaProblems(issue, content, place, unknownKeys));
  if (!parsed.success || problems.length > 0) throw new UserError(oneScreen(problems));
  const { output, runs, seed, experiment, tasks, proposers } = parsed.data;
  return {
    file,
    output: resolve(dirname(file), output),
    runs,
    seed,
    experiment,
    tasks: tasks.map(({ weight, vary, ...own }) => ({ weight, vary, layer: own })),
    proposers: proposers.map(({ weight, ...own }) => ({ weight, layer: own })),
    locate: (error, task, proposer) =>
      new UserError(error.problems.map((problem) => located(problem, [task, proposer], content, place))),
  };
}

/** What a run can't say of itself, and ranges that hold nothing. */
function layerProblems(content: Readonly<Record<string, unknown>>, place: Place): readonly Problem[] {
  const layers = [['experiment'], ...['tasks', 'proposers'].flatMap((list) => indices(content[list], list))];
  return layers.flatMap((path) => {
    const own = valueAt(path, content);
    return [
      ...Object.entries(reserved).flatMap(([key, remedy]): Problem[] =>
        valueAt([key], own) === undefined
          ? []
          : [
              {
                ...place([...path, key], 'key'),
                field: fieldOf([...path, key]),
                message: "is not a run's to say here",
                remedy,
              },
            ],
      ),
      ...emptyRanges(own, path).map((at) => ({
        ...place(at, 'value'),
        field: fieldOf(at),
        message: 'from must not be above to, and both finite',
        value: valueAt(at, content),
      })),
    ];
  });
}

const unknownKeys = {
  keys: Object.keys(settings.shape),
  remedy: "what belongs to a run's config stands in experiment, tasks or proposers",
};

const indices = (items: unknown, list: string) =>
  Array.isArray(items) ? items.map((_, i) => [list, i]) : [];

const reserved: Readonly<Record<string, string>> = {
  seed: 'each run has its own, which follows from the seed of the collection',
  repeats: 'raise runs',
};

function emptyRanges(value: unknown, path: Path): readonly Path[] {
  if (isRange(value)) return value.from <= value.to && Number.isFinite(value.to - value.from) ? [] : [path];
  if (!isMapping(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => emptyRanges(item, [...path, key]));
}

/** The topmost of the layers that go furthest towards the field is the one that it comes from. */
function located(
  problem: Problem,
  [task, proposer]: readonly [number, number],
  content: unknown,
  place: Place,
): Problem {
  if (problem.file !== undefined) return problem;
  const field = problem.field?.split('.') ?? [];
  const layers: readonly Path[] = [['experiment'], ['tasks', task], ['proposers', proposer]];
  const reach = (layer: Path) => depth([...layer, ...field], content) - layer.length;
  const furthest = Math.max(...layers.map(reach));
  const from = layers.findLast((layer) => reach(layer) === furthest)!;
  const path = [...from, ...field];
  return { ...problem, ...place(path, 'value'), field: fieldOf(path) };
}

/** How many keys of the path there are. */
function depth(path: Path, content: unknown): number {
  const missing = path.findIndex((_, i) => valueAt(path.slice(0, i + 1), content) === undefined);
  return missing < 0 ? path.length : missing;
}
