/** Builds training examples from logged runs. */
import { resolve } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { programsOf } from '../../src/policies/policy.js';
import { type Alarm, findAlarms } from './alarms.js';
import {
  type DemonstrationOptions,
  gameExamples,
  gameName,
  heldOutGames,
  readPlay,
} from './demonstrations.js';
import { type Example, type Recipe, type RowFormat, type RunRecipe, withoutDuplicates } from './example.js';
import { exampleBuilders, weightByTask } from './recipes.js';
import { fitPrompts } from './shorten.js';
import { readSourceRun, type SourceRun } from './source-run.js';
import { type RunToSplit, type ValidationPlan, validationRuns } from './split.js';
import { countBy, measureLengths, type SplitStatistics, splitStatistics } from './token-statistics.js';
import { explainEmptyRun, moreRunsHint } from './yield.js';

interface RecipeOptions extends DemonstrationOptions {
  readonly recipe: Recipe;
  /** Maximum number of candidates per iteration to imitate, best first (`improvement`). Default: all improvements. */
  readonly winners?: number | undefined;
  /** Seed for drawing held-out runs or games. */
  readonly seed: number;
}

export interface DatasetOptions extends RecipeOptions {
  readonly validation: ValidationPlan;
  /** Context length of the model to train, in tokens. Default: lengths aren't checked. */
  readonly context?: number | undefined;
}

/** A run given as input, even if no examples were made from it. */
interface SourceSummary extends ReturnType<typeof describeRun> {
  readonly split: Split;
  readonly made: number;
  /** Number of examples left after removing duplicates. */
  readonly kept: number;
}

type Split = 'train' | 'validation';

/** Contains no timestamps, so the same runs and options give identical bytes. */
interface DatasetSummary extends RecipeOptions {
  readonly sources: readonly SourceSummary[];
  /** Number of duplicates removed. */
  readonly duplicates: number;
  readonly statistics: Readonly<Record<Split, SplitStatistics>>;
  readonly alarms: readonly Alarm[];
}

export interface Dataset extends DatasetSummary {
  readonly train: readonly Example[];
  readonly validation: readonly Example[];
}

/** Contents of `manifest.json`. */
export interface DatasetManifest extends DatasetSummary {
  readonly version: 1;
  readonly kind: 'dataset';
  readonly policyloop: string;
  readonly format: RowFormat;
  readonly files: Readonly<Record<string, { readonly rows: number; readonly sha256: string }>>;
}

interface NamedRun {
  readonly path: string;
  readonly name: string;
}

interface GatheredExamples {
  readonly examples: readonly Example[];
  readonly sources: readonly ReturnType<typeof describeRun>[];
  isHeldOut(example: Example): boolean;
  readonly changedTemplateRuns: readonly string[];
  /** Advice on getting more examples; undefined for games. */
  readonly advice?: string;
}

/** @throws UserError for a damaged run, an unsuitable recipe, or a name in `validation` that matches nothing */
export async function buildDataset(runs: readonly NamedRun[], options: DatasetOptions): Promise<Dataset> {
  const { recipe, validation: plan, seed, winners, context, bestShare, history, minReturn } = options;
  const { changedTemplateRuns, examples, isHeldOut, advice, sources } = await (recipe === 'demonstrations'
    ? gatherGames(runs, options)
    : gatherProposals(runs, recipe, options));
  const uniqueExamples = withoutDuplicates(examples);
  const train = uniqueExamples.filter((example) => !isHeldOut(example));
  const validation = uniqueExamples.filter(isHeldOut);
  const lengths = measureLengths(uniqueExamples);
  const runOf = ({ lineage }: Example) => lineage.run;
  const [madeCounts, keptCounts] = [countBy(examples, runOf), countBy(uniqueExamples, runOf)];
  const [trainingRuns, heldOutRuns] = [new Set(train.map(runOf)), new Set(validation.map(runOf))];
  return {
    ...{ recipe, seed, winners, minReturn, bestShare, history, train, validation },
    sources: sources.map((source) => ({
      ...source,
      split: heldOutRuns.has(source.run) && !trainingRuns.has(source.run) ? 'validation' : 'train',
      made: madeCounts[source.run] ?? 0,
      kept: keptCounts[source.run] ?? 0,
      none: source.run in keptCounts ? undefined : source.run in madeCounts ? 'only duplicates' : source.none,
    })),
    duplicates: examples.length - uniqueExamples.length,
    statistics: { train: splitStatistics(train, lengths), validation: splitStatistics(validation, lengths) },
    alarms: findAlarms({ recipe, train, validation, plan, lengths, context, changedTemplateRuns, advice }),
  };
}

async function gatherProposals(
  runs: readonly NamedRun[],
  recipe: RunRecipe,
  { context, seed, validation, winners }: DatasetOptions,
): Promise<GatheredExamples> {
  const allExamples: Example[] = [];
  const runsToSplit: RunToSplit[] = [];
  const sourceRuns: SourceRun[] = [];
  const sources: ReturnType<typeof describeRun>[] = [];
  const changedTemplateRuns: string[] = [];
  for (const { path, name } of runs) {
    const loggedRun = await readSourceRun(path, name);
    requireSuitableRecipe(recipe, loggedRun);
    const run = context === undefined ? loggedRun : fitPrompts(loggedRun, context);
    const { manifest, recorded } = run;
    sourceRuns.push(run);
    const examples = exampleBuilders[recipe](run, winners);
    for (const example of examples) allExamples.push(example);
    const [keys, size] = [dependencyKeys(run, examples), examples.length];
    runsToSplit.push({ name, environment: manifest.environment, keys, size });
    sources.push(describeRun(run, recorded.iteration, recorded.entries.length, explainEmptyRun(recipe, run)));
    if (run.prompts?.hash !== manifest.prompts) changedTemplateRuns.push(name);
  }
  const heldOut = validationRuns(runsToSplit, validation, seed);
  return {
    examples: recipe === 'weighted' ? weightByTask(allExamples, sourceRuns) : allExamples,
    sources,
    changedTemplateRuns,
    isHeldOut: ({ lineage }) => heldOut.has(lineage.run),
    advice: moreRunsHint(recipe, sourceRuns, allExamples.length),
  };
}

/** @throws UserError if the recipe doesn't suit the policies of the run */
function requireSuitableRecipe(recipe: RunRecipe, { family, name }: SourceRun): void {
  const isProgram = programsOf(family) !== undefined;
  const suitableRecipes = ['improvement', 'weighted', isProgram ? 'repair' : 'preference'];
  if (suitableRecipes.includes(recipe)) return;
  throw new UserError({
    field: '--recipe',
    value: recipe,
    message: `doesn't support the policies of ${name}, which are ${isProgram ? 'programs' : 'vectors of numbers'}`,
    alternatives: suitableRecipes,
  });
}

async function gatherGames(runs: readonly NamedRun[], options: DatasetOptions): Promise<GatheredExamples> {
  const plays = await Promise.all(runs.map(({ path, name }) => readPlay(path, name, options)));
  const heldOut = heldOutGames(plays, options.validation, options.seed);
  const changedPlays = plays.filter(({ agent, manifest }) => agent.hash !== manifest.prompts);
  return {
    examples: plays.flatMap((play) => gameExamples(play, options)),
    sources: plays.map((play) =>
      describeRun(play, play.gameCount, play.games.length, 'no game was selected, or no turn has an action'),
    ),
    changedTemplateRuns: changedPlays.map(({ name }) => name),
    isHeldOut: ({ lineage }) => heldOut.has(gameName(lineage.run, lineage.candidate)),
  };
}

/** A run's keys: its path, `warmup.from`, prompts, and seed with environment. Runs that share a key are dependent. */
function dependencyKeys({ path, manifest, config }: SourceRun, examples: readonly Example[]) {
  const { from } = config.warmup;
  return [
    `seed ${JSON.stringify(config.environment)} ${manifest.seed}`,
    `run ${resolve(path)}`,
    ...(from === undefined ? [] : [`run ${resolve(from)}`]),
    ...new Set(examples.map(({ lineage }) => `prompt ${lineage.prompt}`)),
  ];
}

const describeRun = (
  { hash, historyTokens, manifest, name }: Pick<SourceRun, 'hash' | 'historyTokens' | 'manifest' | 'name'>,
  iterations: number,
  evaluations: number,
  noneReason: string | undefined,
) => ({
  run: name,
  environment: manifest.environment,
  model: manifest.model,
  seed: manifest.seed,
  status: manifest.status,
  iterations,
  evaluations,
  hash,
  prompts: manifest.prompts,
  historyTokens,
  /** Reason why the dataset has no examples from the run. */
  none: noneReason,
});
