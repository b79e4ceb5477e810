import type { Action, Observation } from '../environments/environment.js';
import type { RandomGenerator } from '../random.js';
import type { Projection } from './projection.js';

/**
 * What a parameter vector may be: the one definition that warm-up, prompt wording, parser, validation,
 * constrained decoding and the dataset builder read.
 */
export interface ParameterSpec {
  /** Length of the vector. */
  readonly count: number;
  readonly kind: 'float' | 'integer';
  /** Smallest allowed value, inclusive. */
  readonly low: number;
  /** Largest allowed value, inclusive. */
  readonly high: number;
  /** Digits after the decimal point (0 for integers). */
  readonly decimals: number;
  /** The allowed values, where they are not all the numbers of the range. */
  readonly choices?: readonly number[];
  /** What each parameter is, e.g. `weight of cart position for action 0`. */
  readonly names?: readonly string[];
}

export type ParameterVector = readonly number[];

/** A fixed policy. New parameters make a new policy. */
export type Policy = (observation: Observation) => Action;

/** How parameters become actions, as plain data for prompts and reports. */
export type PolicyDescription =
  | {
      readonly kind: 'linear';
      readonly bias: boolean;
      /** Length of the observation vector. */
      readonly observations: number;
      /** Number of outputs: discrete actions, or dimensions of a continuous action. */
      readonly outputs: number;
      /** argmax over the outputs (discrete action), or the output vector itself (continuous action). */
      readonly discrete: boolean;
      /** First action number (argmax 0 means this action). */
      readonly firstAction: number;
      /** Present where the parameters are not the weights themselves. */
      readonly projection?: Projection;
    }
  | {
      readonly kind: 'q-table';
      /** One action a state, or a value for every state and action with greedy choice. */
      readonly form: 'actions' | 'values';
      readonly states: number;
      /** What an action index stands for, as text: `0`, `1`, … or a vector such as `[-1]`. */
      readonly actions: readonly string[];
      /** Bins per observation dimension, where a continuous observation was discretised. */
      readonly bins?: readonly BinEdges[];
    };

/** Inner edges of the bins of one observation dimension: `edges.length + 1` bins, bin i holds edges[i-1] ≤ x < edges[i]. */
export interface BinEdges {
  readonly edges: readonly number[];
}

/** A parametrised family of policies for one pair of spaces. */
export interface PolicyFamily {
  readonly parameters: ParameterSpec;
  readonly description: PolicyDescription;
  /** Turns a vector of `parameters.count` numbers into a policy. */
  build(vector: ParameterVector): Policy;
  /** A random start, as the reference draws it. */
  initial(random: RandomGenerator): ParameterVector;
}
