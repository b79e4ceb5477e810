/** Plans the runs of a collection. Each depends only on the collection's config and the run's index. */

import { type Problem, UserError } from '../../base/errors.js';
import { type Config, experimentKind } from '../../config/config.js';
import { parseConfig } from '../../config/load.js';
import { isSyntheticId } from '../../environments/catalogue/synthetic.js';
import { createGenerator, deriveSeeds } from '../../random/generator.js';
import { oneScreen } from '../../settings/issues.js';
import { discriminatorOf, isMapping } from '../../settings/schema.js';
import { sum } from '../../statistics/descriptive.js';
import { plainName } from '../../storage/files.js';
import type { Plan } from '../plan.js';
import { type Acceptance, paysToSearch } from './acceptance.js';
import { type Collection, isRange, type Layer, type Range, type Task } from './collection-config.js';

/** The task and the proposer drawn for a run. */
export interface Draw {
  /** Index of the run, from 0. */
  readonly index: number;
  /** Index of the task. */
  readonly task: number;
  /** Index of the proposer. */
  readonly proposer: number;
  /** Name of the run's directory, such as `00012-survival`. */
  readonly name: string;
}

/** Independent random streams, derived from the collection's seed and a run's index. */
const streams = { choice: 0, ranges: 1, seeds: 2, draws: 3 } as const;

/** Draws a run. Doesn't use the number of runs, so a larger collection starts with the runs of a smaller one. */
export function drawRun({ seed, tasks, proposers, experiment }: Collection, index: number): Draw {
  const random = createGenerator(seed, [index, streams.choice]);
  const [task, proposer] = [tasks, proposers].map((items) => random.categorical(shares(items))) as [
    number,
    number,
  ];
  const name = shortName({ ...experiment, ...tasks[task]!.layer });
  return { index, task, proposer, name: `${String(index).padStart(5, '0')}-${name}` };
}

/**
 * The resolved config of a run. If the task has `accept`, the first call for this run can take several seconds.
 * @throws UserError with locations in the collection's file
 */
export function configOfRun(collection: Collection, { index, task, proposer }: Draw): Config {
  const [seed, ownNumber] = deriveSeeds(collection.seed, [index, streams.seeds], 2) as [number, number];
  const configOf = (taskSeed: number) => {
    const random = createGenerator(collection.seed, [index, streams.ranges]);
    const number = ({ from, to }: Range) =>
      Number.isInteger(from) && Number.isInteger(to)
        ? random.integers(from, to + 1)
        : Number(random.uniform(from, to).toPrecision(6));
    return resolved(collection, { task, proposer, seed, number, taskSeed });
  };
  const { accept } = collection.tasks[task]!;
  if (accept === undefined) return configOf(ownNumber >>> 1);
  return configOf(acceptedDraw(collection, index, accept, configOf).seed);
}

interface AcceptedDraw {
  /** Seed of the task. */
  readonly seed: number;
  /** Number of draws rejected before this one. */
  readonly rejected: number;
}

/** Caches accepted draws, because configs are requested more than once. */
const acceptedDraws = new WeakMap<Collection, Map<number, AcceptedDraw>>();

/** How many draws were accepted and rejected for the configs requested so far. */
export function drawsOf(collection: Collection): { readonly accepted: number; readonly rejected: number } {
  const draws = [...(acceptedDraws.get(collection)?.values() ?? [])];
  return { accepted: draws.length, rejected: sum(draws.map(({ rejected }) => rejected)) };
}

/** Draws tasks until search pays off on one. @throws UserError if it doesn't on any of `mostDraws` tasks */
function acceptedDraw(
  collection: Collection,
  index: number,
  accept: Acceptance,
  configOf: (taskSeed: number) => Config,
): AcceptedDraw {
  const known = acceptedDraws.get(collection) ?? new Map<number, AcceptedDraw>();
  acceptedDraws.set(collection, known);
  const before = known.get(index);
  if (before !== undefined) return before;
  const wanted =
    createGenerator(collection.seed, [index, streams.draws]).random() < accept.larger
      ? accept.largerGain
      : accept.gain;
  for (let rejected = 0; rejected < mostDraws; rejected++) {
    const [own] = deriveSeeds(collection.seed, [index, streams.draws, rejected], 1) as [number];
    const seed = own >>> 1;
    if (!paysToSearch(configOf(seed), accept, wanted, seed)) continue;
    const found = { seed, rejected };
    known.set(index, found);
    return found;
  }
  throw new UserError({
    field: 'tasks.accept',
    message: `search didn't pay off on any of ${mostDraws} tasks drawn from ${configOf(0).environment.id}`,
    remedy: 'lower gain and largerGain, raise warmup, or remove accept',
  });
}

/** Maximum number of draws per run. If one draw in twenty is acceptable, only one run in 10²² needs more. */
const mostDraws = 1000;

/**
 * Creates two configs for each combination of task and proposer: one with all ranges at their lower ends, and one with
 * all ranges at their upper ends.
 * @throws UserError with the first problems in these configs, so that no run starts only to fail later
 */
export function checkCollection(collection: Collection): readonly (Draw & { config: Config })[] {
  const problems = new Map<string, Problem>();
  const checked = collection.tasks.flatMap((_, task) =>
    collection.proposers.flatMap((_, proposer) =>
      (['from', 'to'] as const).flatMap((end) => {
        try {
          const choice = { task, proposer, seed: 0, number: (range: Range) => range[end], taskSeed: 0 };
          return [{ index: 0, name: '', task, proposer, config: resolved(collection, choice) }];
        } catch (error) {
          if (!(error instanceof UserError)) throw error;
          for (const problem of error.problems) {
            problems.set(`${problem.line}:${problem.column} ${problem.field} ${problem.message}`, problem);
          }
          return [];
        }
      }),
    ),
  );
  if (problems.size > 0) throw new UserError(oneScreen([...problems.values()]));
  return checked;
}

/** The plan of a collection. Configs are created only when they are read, because there may be a million. */
export function collectionPlan(collection: Collection): Plan {
  const configs = checkCollection(collection).map(({ config }) => config);
  return {
    kind: 'collection',
    entries: Array.from({ length: collection.runs }, (_, index) => {
      const draw = drawRun(collection, index);
      return {
        path: draw.name,
        get config() {
          return configOfRun(collection, draw);
        },
      };
    }),
    sharesLimits: configs.some(({ limits }) => limits.total !== undefined),
  };
}

interface Choice {
  readonly task: number;
  readonly proposer: number;
  readonly seed: number;
  /** Chooses a number from a range. */
  readonly number: (range: Range) => number;
  /** Value of `environment.options.seed` if the task varies. */
  readonly taskSeed: number;
}

function resolved(collection: Collection, choice: Choice): Config {
  const { experiment, proposers, tasks } = collection;
  const task = tasks[choice.task]!;
  const layered = [experiment, task.layer, proposers[choice.proposer]!.layer].reduce(layOver, {});
  const written = withNumbers(layered, choice.number) as Record<string, unknown>;
  const drawn = varied(written, task, choice.taskSeed);
  const content = { ...drawn, seed: choice.seed };
  try {
    const config = parseConfig(content);
    requireOneThread(config);
    if (task.accept !== undefined) requireDrawn(config, drawn !== written, choice.task);
    return { ...config, evaluation: { ...config.evaluation, workers: 1 } };
  } catch (error) {
    throw error instanceof UserError ? collection.locate(error, choice.task, choice.proposer) : error;
  }
}

/**
 * Merges mappings key by key. Any other value in `over` replaces the one in `under`; so does a model or policy of a
 * different kind.
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
  if (isRange(over) || isRange(under)) return over;
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

/** Draws numbers for all ranges, in alphabetical order of the keys, so that their order in the file doesn't matter. */
function withNumbers(value: unknown, number: (range: Range) => number): unknown {
  if (isRange(value)) return number(value);
  if (!isMapping(value)) return value;
  const drawn = new Map(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, withNumbers(value[key], number)]),
  );
  return Object.fromEntries(Object.keys(value).map((key) => [key, drawn.get(key)]));
}

function varied(content: Record<string, unknown>, { vary }: Task, seed: number): Record<string, unknown> {
  const environment = writtenOut('environment', content.environment);
  if (!isMapping(environment)) return content;
  const options = isMapping(environment.options) ? environment.options : {};
  const id = String(environment.id);
  const isFixed = options.seed !== undefined || /[?&]seed=/.test(id);
  const varies = vary === undefined ? id.startsWith('synthetic:') && !isFixed : vary === 'seed';
  if (!varies) return content;
  return { ...content, environment: { ...environment, options: { ...options, seed } } };
}

/** @throws UserError unless the task is synthetic and varies with the seed, and the policy isn't from a module */
function requireDrawn({ environment, policy }: Config, varies: boolean, task: number): void {
  const seeded = /[?&]seed=/.test(environment.id);
  if (isSyntheticId(environment.id) && !seeded && varies && policy?.kind !== 'module') return;
  throw new UserError({
    field: `tasks.${task}.accept`,
    message: "only works for synthetic tasks that vary with the run's seed, and not for module policies",
    value: environment.id,
    remedy:
      policy?.kind === 'module'
        ? 'remove accept, or use a policy that is not a module'
        : 'remove accept, or choose a synthetic environment without a seed, e.g. synthetic:balance, and omit vary',
  });
}

/** Refuses several threads per run, because the runs are parallel, and their threads would only compete. */
function requireOneThread({ evaluation: { workers } }: Config): void {
  if (workers === 'auto' || workers === 1) return;
  throw new UserError({
    field: 'evaluation.workers',
    message: 'must be 1, because the runs of a collection are parallel',
    value: workers,
    remedy: 'remove it; use --jobs to set the number of concurrent runs',
  });
}

function shares(items: readonly { readonly weight: number }[]): readonly number[] {
  const total = items.reduce((sum, { weight }) => sum + weight, 0);
  return items.map(({ weight }) => weight / total);
}

/** A short `name`, by default derived from the environment: `synthetic:survival?noise=1` gives `survival`. */
function shortName({ name, environment }: Layer): string {
  const id = isMapping(environment) ? environment.id : environment;
  const text = typeof name === 'string' ? name : String(id).replace(/^\w+:/, '').replace(/\?.*$/, '');
  return plainName(text, 'run').slice(0, 40).toLowerCase();
}
