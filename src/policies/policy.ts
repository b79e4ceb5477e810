import { Matrix, QrDecomposition } from 'ml-matrix';
import { UserError } from '../base/errors.js';
import { createGenerator, type RandomGenerator } from '../base/random/generator.js';
import { plural } from '../base/text/numbers.js';
import {
  type Action,
  dimensionsOf,
  type EnvironmentSpec,
  type NumericSpace,
  type Observation,
  type Space,
} from '../environments/environment.js';
import type { ProgramLibrary } from './program/library.js';
import type { ProjectionConfig } from './settings.js';

/** The allowed values of a parameter vector, for drawing, prompting, parsing and constrained decoding. */
export interface ParameterSpec {
  /** Number of parameters in a vector; 1 for programs, although their vectors vary in length. */
  readonly count: number;
  readonly kind: 'float' | 'integer';
  /** Smallest allowed value, inclusive. */
  readonly low: number;
  /** Largest allowed value, inclusive. */
  readonly high: number;
  /** Maximum number of digits after the decimal point; 0 for integers. */
  readonly decimals: number;
  /** The allowed values, if not all numbers in the range are allowed. */
  readonly choices?: readonly number[];
  /** The meaning of each parameter, e.g. `weight of observation[0] for action 0`. */
  readonly names?: readonly string[];
}

export type ParameterVector = readonly number[];

/** A policy with fixed parameters. */
export interface Policy {
  (observation: Observation): Action;
  /** Starts an episode of a policy with memory; returns the policy to use for this episode only. */
  readonly forEpisode?: (seed: number) => Policy;
}

export const policyForEpisode = (policy: Policy, seed: number): Policy => policy.forEpisode?.(seed) ?? policy;

/** Input and output dimensions of a policy that maps a vector to outputs, and how outputs become actions. */
export interface PolicyShape {
  /** Length of the observation vector. */
  readonly observations: number;
  /** Number of outputs: one per discrete action, or per dimension of a continuous action. */
  readonly outputs: number;
  /** If true, the action is the argmax over the outputs; otherwise, it is the output vector itself. */
  readonly discrete: boolean;
  /** The discrete action of output 0; 0 if actions are continuous. */
  readonly firstAction: number;
}

/** Describes how parameters become actions, for prompts and reports. */
export type PolicyDescription =
  | ({
      readonly kind: 'linear';
      readonly bias: boolean;
      /** Present if the parameters are not the weights themselves. */
      readonly projection?: Projection;
    } & PolicyShape)
  | ({
      readonly kind: 'mlp';
      readonly hidden: readonly number[];
      readonly activation: 'tanh' | 'relu' | 'leaky-relu';
      /** Present if the parameters are not the weights themselves. */
      readonly projection?: Projection;
    } & PolicyShape)
  | {
      readonly kind: 'q-table';
      /** `actions`: one action per state. `values`: one value per state and action; the best action is taken. */
      readonly form: 'actions' | 'values';
      readonly states: number;
      /** Actions by index, as text: `0`, `1`, … or vectors such as `[-1]`. */
      readonly actions: readonly string[];
      /** The bins of each observation dimension, if observations are binned. */
      readonly bins?: readonly BinEdges[];
    }
  /** JavaScript functions; the parameters identify a program in the library. */
  | { readonly kind: 'program'; readonly programs: ProgramLibrary }
  /** A description provided by a user's module. */
  | { readonly kind: 'module'; readonly name: string; readonly text: string };

/** Returns the programs of a family; undefined if its policies are not programs. */
export const programsOf = ({ description }: Pick<PolicyFamily, 'description'>): ProgramLibrary | undefined =>
  description.kind === 'program' ? description.programs : undefined;

/** Inner bin edges of one dimension: x is in bin i if edges[i-1] ≤ x < edges[i]. */
export interface BinEdges {
  readonly edges: readonly number[];
}

/** A parametrised family of policies for an observation space and an action space. */
export interface PolicyFamily {
  readonly parameters: ParameterSpec;
  readonly description: PolicyDescription;
  /** Must be called before programs are built. */
  prepare?(): Promise<void>;
  /** Turns a parameter vector (`parameters.count` numbers, except for programs) into a policy. */
  build(vector: ParameterVector): Policy;
  /** Draws a random initial vector. */
  initial(random: RandomGenerator): ParameterVector;
}

/** Examples: `10 parameters`, `programs`. */
export const policiesText = ({
  description,
  parameters,
}: Pick<PolicyFamily, 'description' | 'parameters'>) =>
  description.kind === 'program' ? 'programs' : plural(parameters.count, 'parameter');

/** A linear map from a few parameters to many weights: weights = scale · B · parameters. */
export interface Projection {
  readonly seed: number;
  /** Number of parameters. */
  readonly rank: number;
  /** √(weights / rank), which gives the weights the same root mean square as the parameters. */
  readonly scale: number;
  /** B, with one row per weight and orthonormal columns. */
  readonly basis: readonly ParameterVector[];
}

/**
 * Draws a random subspace of weight space as in "Measuring the Intrinsic Dimension of Objective Landscapes" (Li et al.
 * 2018, arXiv:1804.08838), but through the origin. The same seed gives the same subspace.
 * @param weights number of weights
 * @throws UserError if the rank exceeds the number of weights
 */
export function createProjection({ rank, seed }: ProjectionConfig, weights: number): Projection {
  if (rank > weights) {
    throw new UserError({
      field: 'policy.projection.rank',
      message: `exceeds the number of weights of this policy (${weights})`,
      value: rank,
      hint: `set a rank of at most ${weights}, or omit policy.projection to make every weight a parameter`,
    });
  }
  return { seed, rank, scale: Math.sqrt(weights / rank), basis: orthonormalBasis(weights, rank, seed) };
}

/**
 * Returns Q of a Gaussian matrix's QR decomposition, with signs chosen so that R's diagonal is positive. This makes
 * the distribution uniform over all orthonormal bases (Mezzadri 2007, "How to generate random matrices from
 * the classical compact groups").
 */
function orthonormalBasis(rows: number, columns: number, seed: number): readonly ParameterVector[] {
  const random = createGenerator(seed);
  const gaussian = Array.from({ length: rows }, () => Array.from({ length: columns }, () => random.normal()));
  const decomposition = new QrDecomposition(new Matrix(gaussian));
  const signs = decomposition.upperTriangularMatrix.diagonal().map((value) => (value < 0 ? -1 : 1));
  return decomposition.orthogonalMatrix.to2DArray().map((row) => row.map((value, j) => value * signs[j]!));
}

/** @throws UserError for a text space, which numeric policies can't handle */
export function requireNumericSpace(space: Space, id: string): NumericSpace {
  if (space.kind !== 'text') return space;
  throw new UserError({
    field: 'environment',
    value: id,
    message: "has text observations or actions, which numeric policies can't handle",
    hint: 'use a language model as the agent (policyloop play, or policyloop finetune rl to train it), or a policy from your own module',
  });
}

export function tupleActionsError(id: string): UserError {
  return new UserError({
    field: 'environment',
    message: `linear policies, networks and Q-tables can't act in ${id}, because its action is a tuple`,
    hint: 'use policy.kind: program, or a policy from your own module',
  });
}

/** Returns the weights of a linear policy or a network: the parameters, or their projection. */
export const weightsFrom = (
  { projection }: { readonly projection?: Projection | undefined },
  parameters: ParameterVector,
): ParameterVector => {
  if (projection === undefined) return parameters;
  const { basis, scale } = projection;
  return basis.map((row) => scale * row.reduce((sum, value, j) => sum + value * parameters[j]!, 0));
};

/** @throws UserError if the observation is discrete or text, or if the action is a tuple or text */
export function policyShapeOf(
  { id, observationSpace, actionSpace }: EnvironmentSpec,
  kind: string,
): PolicyShape {
  const inputSpace = requireNumericSpace(observationSpace, id);
  if (inputSpace.kind === 'discrete') {
    throw new UserError({
      field: 'policy.kind',
      message: `${kind === 'mlp' ? 'a network' : `a ${kind} policy`} needs a vector observation, but ${id} has ${inputSpace.n} discrete states`,
      value: kind,
      alternatives: ['q-table'],
      hint: 'set policy.kind to q-table, or omit policy',
    });
  }
  const observations = dimensionsOf(inputSpace);
  const outputSpace = requireNumericSpace(actionSpace, id);
  switch (outputSpace.kind) {
    case 'discrete':
      return { observations, outputs: outputSpace.n, discrete: true, firstAction: outputSpace.start ?? 0 };
    case 'box':
      return { observations, outputs: outputSpace.low.length, discrete: false, firstAction: 0 };
    case 'tuple':
      throw tupleActionsError(id);
  }
}

/** Names each output: `action 1` (its score) or `action[1]` (a dimension of the action). */
export const outputNames = ({
  outputs,
  discrete,
  firstAction,
}: Omit<PolicyShape, 'observations'>): readonly string[] =>
  Array.from({ length: outputs }, (_, a) => (discrete ? `action ${a + firstAction}` : `action[${a}]`));

/** Specifies one parameter per named weight or, if `rank` is given, per coordinate of a random subspace. */
export const weightParameters = (
  { decimals, high, low }: Pick<ParameterSpec, 'decimals' | 'high' | 'low'>,
  names: readonly string[],
  rank: number | undefined,
): ParameterSpec => ({
  count: rank ?? names.length,
  kind: decimals === 0 ? 'integer' : 'float',
  low,
  high,
  decimals,
  names:
    rank === undefined ? names : Array.from({ length: rank }, (_, j) => `coordinate ${j} of the weights`),
});
