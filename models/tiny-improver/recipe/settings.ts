/** The settings of the recipe, and of a smaller version that shows in a minute that the recipe works. */
import { join } from 'node:path';
import { packageRoot } from '../../../src/base/package.js';

/** The embedded model, and the folder that its recipe is in. */
export const shippedModel = join(packageRoot(), 'models', 'tiny-improver');
const recipeFolder = join(shippedModel, 'recipe');

type Range = readonly [least: number, most: number];

/** How the candidates of a run are made. */
export type ProposerPlan = {
  /** How often a run draws this proposer, relative to the others. */
  readonly weight: number;
  /** The next prompts see the best of the first `seen` candidates. */
  readonly seen?: number;
  readonly iterations?: Range;
} & (
  | { readonly search: 'teacher' }
  | { readonly search: 'cma-es' | 'hill-climb'; readonly sigma: Range }
  /** The model that the previous round trained. */
  | { readonly search: 'model'; readonly temperature: number }
);

/** Runs on drawn tasks, whose winners become examples, and the training on them. */
export interface Round {
  readonly runs: number;
  readonly seed: number;
  readonly candidates: number;
  readonly warmup: number;
  readonly iterations: Range;
  readonly episodes: number;
  readonly maxSteps: number;
  readonly proposers: readonly ProposerPlan[];
  /** Candidates per iteration that become examples, if they beat the best before them. */
  readonly winners: number;
  /** Copies of each run with parameters in another order and with other signs. */
  readonly copies: number;
  /** Share of the runs that is held out for validation. */
  readonly validation: number;
  /** Number of the previous round's runs to learn from as well. */
  readonly earlier: number;
  /** Config of the training, without paths. */
  readonly train: string;
  /** Changes to that config. */
  readonly trainOverrides: readonly string[];
}

export interface Recipe {
  /** The initial model. */
  readonly initial: {
    readonly layers: number;
    readonly hidden: number;
    readonly heads: number;
    readonly intermediate: number;
    readonly context: number;
    readonly seed: number;
  };
  /** The first round starts from the initial model, each later one from the model of the round before. */
  readonly rounds: readonly Round[];
  /** A later round is kept if it wins more than half of these tasks; `evaluations` include the warm-up. */
  readonly heldOut: { readonly tasks: number; readonly evaluations: number };
  /** For the kept round: a language head that almost never picks a token of the wrong kind. */
  readonly head: { readonly examples: number; readonly steps: number };
  /** Prompts per task on which the validity of answers is measured. */
  readonly prompts: number;
  /** Maximum tokens of an answer. */
  readonly maxTokens: number;
}

const bothRounds = {
  warmup: 4,
  episodes: 6,
  maxSteps: 200,
  winners: 1,
  copies: 1,
  validation: 0.02,
} as const;

export const fullRecipe: Recipe = {
  initial: { layers: 4, hidden: 128, heads: 4, intermediate: 352, context: 2048, seed: 0 },
  rounds: [
    // Learns from the winners among the candidates of a search. Two cores take 14 minutes for the runs, 57 to train.
    {
      ...{ ...bothRounds, runs: 1800, seed: 0, candidates: 32, iterations: [8, 72] },
      proposers: [
        { weight: 5, search: 'teacher' },
        { weight: 2, search: 'teacher', seen: 2 },
        { weight: 2, search: 'teacher', seen: 4 },
        { weight: 1, search: 'teacher', seen: 8, iterations: [8, 40] },
        { weight: 1, search: 'teacher', seen: 32, iterations: [8, 30] },
        { weight: 1, search: 'cma-es', sigma: [2, 2] },
        { weight: 1, search: 'hill-climb', sigma: [0.5, 2.5] },
      ],
      ...{ earlier: 0, train: join(recipeFolder, 'train.yaml'), trainOverrides: [] },
    },
    // Continues with the winners among the model's own answers. Two cores take 18 minutes for the runs, 30 to train.
    {
      ...{ ...bothRounds, runs: 300, seed: 1, candidates: 16, iterations: [16, 72] },
      proposers: [
        { weight: 3, search: 'model', temperature: 1 },
        { weight: 1, search: 'model', temperature: 1.2 },
      ],
      ...{ earlier: 500, train: join(recipeFolder, 'train-on.yaml'), trainOverrides: [] },
    },
  ],
  heldOut: { tasks: 64, evaluations: 100 },
  head: { examples: 800, steps: 400 },
  prompts: 8,
  maxTokens: 512,
};

/** Fewer and shorter runs, a smaller model and fewer steps. */
export function smokeRecipe(): Recipe {
  const [first, second] = fullRecipe.rounds as [Round, Round];
  const small = {
    ...{ episodes: 2, maxSteps: 50, winners: 2, validation: 0.15 },
    trainOverrides: [
      'batchExamples=8',
      'warmupSteps=5',
      'evaluateEvery=4',
      'checkpointEvery=20',
      'threads=1',
    ],
  };
  return {
    initial: { layers: 2, hidden: 64, heads: 2, intermediate: 176, context: 2048, seed: 0 },
    rounds: [
      {
        ...{ ...first, ...small, runs: 24, candidates: 16, iterations: [6, 12], copies: 4 },
        proposers: [{ weight: 1, search: 'teacher' }],
      },
      {
        ...{ ...second, ...small, runs: 4, candidates: 8, iterations: [4, 4], earlier: 8 },
        proposers: [{ weight: 1, search: 'model', temperature: 1 }],
      },
    ],
    heldOut: { tasks: 2, evaluations: 12 },
    head: { examples: 40, steps: 20 },
    prompts: 2,
    // A model that has learned little doesn't end its answers.
    maxTokens: 256,
  };
}
