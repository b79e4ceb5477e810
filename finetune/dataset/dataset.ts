/** Builds training examples from logged runs. */
import { resolve } from 'node:path';
import { UserError, unreachable } from '../../src/base/errors.js';
import { programsOf } from '../../src/policies/policy.js';
import type { Manifest } from '../../src/runs/manifest.js';
import { type Alarm, findAlarms } from './alarms.js';
import {
  type DemonstrationOptions,
  demonstrations,
  gameName,
  heldOutGames,
  readPlay,
} from './demonstrations.js';
import type { RowFormat } from './example.js';
import { type Example, programRecipes, type Recipe, withoutDuplicates } from './example.js';
import { bestOfGroup, improvement, preference, weighted } from './recipes.js';
import { repair } from './repairs.js';
import { readSourceRun, type SourceRun } from './source-run.js';
import { type SplitRun, type ValidationPlan, validationRuns } from './split.js';
import {
  countBy,
  type ExampleLength,
  measureLengths,
  type SplitStatistics,
  splitStatistics,
} from './token-statistics.js';

export interface DatasetOptions extends Omit<DemonstrationOptions, 'samples' | 'seed'> {
  readonly recipe: Recipe;
  /** Candidates per iteration to imitate, best first (`best-of-group`). Default: 1. */
  readonly winners?: number | undefined;
  readonly validation: ValidationPlan;
  /** Seed for drawing held-out runs and `samples`. */
  readonly seed: number;
  /** Steps per play (`demonstrations`; default: all). */
  readonly samples?: number | undefined;
  /** Context length of the model to train, in tokens. Default: lengths aren't checked. */
  readonly context?: number | undefined;
}

/** A run given as input, even if no examples were made from it. */
export interface Source {
  readonly run: string;
  readonly environment: string;
  readonly model: string;
  readonly seed: number;
  readonly status: Manifest['status'];
  readonly iterations: number;
  readonly evaluations: number;
  readonly hash: string;
  readonly prompts: string;
  readonly split: Split;
  readonly made: number;
  /** Number of examples left after removing duplicates. */
  readonly kept: number;
}

export type Split = 'train' | 'validation';

/** Contains no times, so the same runs and options give identical bytes. */
interface DatasetSummary extends Omit<DemonstrationOptions, 'samples' | 'seed'> {
  readonly recipe: Recipe;
  readonly seed: number;
  readonly winners?: number | undefined;
  readonly sources: readonly Source[];
  /** Number of duplicates removed. */
  readonly duplicates: number;
  readonly tokens: 'estimate';
  readonly statistics: Readonly<Record<Split, SplitStatistics>>;
  readonly alarms: readonly Alarm[];
}

export interface Dataset extends DatasetSummary {
  readonly train: readonly Example[];
  readonly validation: readonly Example[];
  readonly lengths: ReadonlyMap<Example, ExampleLength>;
}

/** Contents of `manifest.json`. */
export interface DatasetManifest extends DatasetSummary {
  readonly version: 1;
  readonly kind: 'dataset';
  readonly policyloop: string;
  readonly format: RowFormat;
  readonly files: Readonly<Record<string, WrittenFile>>;
}

export interface WrittenFile {
  readonly rows: number;
  readonly sha256: string;
}

export interface NamedRun {
  readonly path: string;
  readonly name: string;
}

/** @throws UserError for a damaged run, an unsuitable recipe, or a name in `validation` that matches nothing */
export async function buildDataset(runs: readonly NamedRun[], options: DatasetOptions): Promise<Dataset> {
  const gathered =
    options.recipe === 'demonstrations'
      ? await gatherGames(runs, options)
      : await gatherProposals(runs, { ...options, recipe: options.recipe });
  return assembled(gathered, options);
}

interface Gathered {
  readonly examples: readonly Example[];
  readonly sources: readonly Omit<Source, 'split' | 'made' | 'kept'>[];
  isHeldOut(example: Example): boolean;
  readonly changedTemplates: readonly string[];
}

async function gatherProposals(
  runs: readonly NamedRun[],
  options: DatasetOptions & { readonly recipe: Exclude<Recipe, 'demonstrations'> },
): Promise<Gathered> {
  const { seed, validation: plan } = options;
  const all: Example[] = [];
  const splitRuns: SplitRun[] = [];
  const sources: Omit<Source, 'split' | 'made' | 'kept'>[] = [];
  const changedTemplates: string[] = [];
  for (const { path, name } of runs) {
    const run = await readSourceRun(path, name);
    requireRecipe(options.recipe, run);
    const examples = examplesOf(run, options);
    for (const example of examples) all.push(example);
    splitRuns.push({ name, environment: run.manifest.environment, keys: dependencies(run, examples) });
    sources.push(sourceOf(run));
    if (run.prompts?.hash !== run.manifest.prompts) changedTemplates.push(name);
  }
  const heldOut = validationRuns(splitRuns, plan, seed);
  return { examples: all, sources, changedTemplates, isHeldOut: ({ lineage }) => heldOut.has(lineage.run) };
}

/** @throws UserError if the recipe doesn't suit the policies of the run */
function requireRecipe(recipe: Recipe, { family, name }: SourceRun): void {
  const isProgram = programsOf(family) !== undefined;
  const problem = { field: '--recipe', value: recipe };
  if (isProgram && !programRecipes.some((one) => one === recipe))
    throw new UserError({
      ...problem,
      message: `doesn't support programs, but the policies of ${name} are programs`,
      alternatives: programRecipes,
    });
  if (!isProgram && recipe === 'repair')
    throw new UserError({ ...problem, message: `needs programs, but the policies of ${name} are numbers` });
}

async function gatherGames(runs: readonly NamedRun[], options: DatasetOptions): Promise<Gathered> {
  const plays = await Promise.all(runs.map(({ path, name }) => readPlay(path, name, options)));
  const heldOut = heldOutGames(plays, options.validation, options.seed);
  return {
    examples: plays.flatMap((play) => demonstrations(play, options)),
    sources: plays.map(({ games, hash, manifest, name, played }) => ({
      ...describedRun(name, manifest, hash),
      iterations: played,
      evaluations: games.length,
    })),
    changedTemplates: plays
      .filter(({ agent, manifest }) => agent.hash !== manifest.prompts)
      .map(({ name }) => name),
    isHeldOut: ({ lineage }) => heldOut.has(gameName(lineage.run, lineage.candidate)),
  };
}

function assembled(
  { changedTemplates, examples, isHeldOut, sources }: Gathered,
  options: DatasetOptions,
): Dataset {
  const { recipe, validation: plan, seed, winners, context } = options;
  const { bestShare, history, minReturn } = options;
  const kept = withoutDuplicates(examples);
  const train = kept.filter((example) => !isHeldOut(example));
  const validation = kept.filter(isHeldOut);
  const lengths = measureLengths(kept);
  const madeOf = countBy(examples, ({ lineage }) => lineage.run);
  const keptOf = countBy(kept, ({ lineage }) => lineage.run);
  const inTraining = new Set(train.map(({ lineage }) => lineage.run));
  const onlyHeldOut = new Set(
    validation.map(({ lineage }) => lineage.run).filter((run) => !inTraining.has(run)),
  );
  return {
    recipe,
    seed,
    winners,
    minReturn,
    bestShare,
    history,
    train,
    validation,
    sources: sources.map((source) => ({
      ...source,
      split: onlyHeldOut.has(source.run) ? 'validation' : 'train',
      made: madeOf[source.run] ?? 0,
      kept: keptOf[source.run] ?? 0,
    })),
    duplicates: examples.length - kept.length,
    tokens: 'estimate',
    lengths,
    statistics: { train: splitStatistics(train, lengths), validation: splitStatistics(validation, lengths) },
    alarms: findAlarms({
      recipe,
      train,
      validation,
      heldOut: plan.kind !== 'none',
      made: examples.length,
      lengths,
      context,
      changedTemplates,
    }),
  };
}

function examplesOf(
  run: SourceRun,
  { recipe, winners }: DatasetOptions & { readonly recipe: Exclude<Recipe, 'demonstrations'> },
): readonly Example[] {
  switch (recipe) {
    case 'improvement':
      return improvement(run);
    case 'best-of-group':
      return bestOfGroup(run, winners);
    case 'weighted':
      return weighted(run);
    case 'preference':
      return preference(run);
    case 'repair':
      return repair(run);
    default:
      return unreachable(recipe);
  }
}

/** Keys of a run: its path, seed, `warmup.from` and prompts. Runs that share a key are dependent. */
function dependencies(
  { path, manifest, config }: SourceRun,
  examples: readonly Example[],
): readonly string[] {
  const { from } = config.warmup;
  return [
    `seed ${manifest.environment} ${manifest.seed}`,
    `run ${resolve(path)}`,
    ...(from === undefined ? [] : [`run ${resolve(from)}`]),
    ...new Set(examples.map(({ lineage }) => `prompt ${lineage.prompt}`)),
  ];
}

function sourceOf({ name, manifest, recorded, hash }: SourceRun): Gathered['sources'][number] {
  return {
    ...describedRun(name, manifest, hash),
    iterations: recorded.iteration,
    evaluations: recorded.entries.length,
  };
}

const describedRun = (run: string, manifest: Manifest, hash: string) => ({
  run,
  environment: manifest.environment,
  model: manifest.model,
  seed: manifest.seed,
  status: manifest.status,
  hash,
  prompts: manifest.prompts,
});
