import { UserError } from '../base/errors.js';
import { plural } from '../base/text/numbers.js';
import {
  type Action,
  dimensionsOf,
  type EnvironmentSpec,
  type Observation,
} from '../environments/environment.js';
import { argmax } from '../statistics/descriptive.js';
import { uniformVector } from './linear.js';
import {
  type BinEdges,
  type ParameterSpec,
  type ParameterVector,
  type PolicyFamily,
  requireNumericSpace,
  tupleActionsError,
} from './policy.js';
import type { QTableConfig } from './settings.js';

/** Maps an observation to a state index in `0 … stateCount - 1`. */
interface Discretizer {
  readonly stateCount: number;
  readonly index: (observation: Observation) => number;
  /** Present if the observation is divided into bins. */
  readonly bins?: readonly BinEdges[];
}

/** Creates the map from observations to states. In tuples and binned vectors, the last dimension varies fastest. */
function createDiscretizer(config: QTableConfig, environment: EnvironmentSpec): Discretizer {
  const space = requireNumericSpace(environment.observationSpace, environment.id);
  const bins = config.discretize?.map(binEdges);
  if (bins === undefined) {
    if (space.kind === 'discrete') {
      const start = space.start ?? 0;
      return { stateCount: space.n, index: (observation) => (observation as number) - start };
    }
    if (space.kind === 'tuple') {
      const sizes = space.spaces.map((part) => part.n);
      const starts = space.spaces.map((part) => part.start ?? 0);
      return {
        stateCount: productOf(sizes),
        index: (observation) => mixedRadix(sizes, (d) => (observation as readonly number[])[d]! - starts[d]!),
      };
    }
  }
  const dimensions = dimensionsOf(space);
  if (bins?.length !== dimensions)
    throw new UserError({
      field: 'policy.discretize',
      message: `a Q-table for ${environment.id} needs bins for ${plural(dimensions, 'observation dimension')}`,
      hint: `list ${plural(dimensions, 'item')} such as {low: -1, high: 1, bins: 4}${linearHint(environment)}`,
    });
  const sizes = bins.map((bin) => bin.edges.length + 1);
  const binAt = (observation: Observation, d: number) =>
    binOf(typeof observation === 'object' ? observation[d]! : Number(observation), bins[d]!.edges);
  return {
    stateCount: productOf(sizes),
    index: (observation) => mixedRadix(sizes, (d) => binAt(observation, d)),
    bins,
  };
}

/** Suggests a linear policy, unless the observation is discrete. */
const linearHint = ({ observationSpace }: EnvironmentSpec) =>
  observationSpace.kind === 'discrete' ? '' : ', or use policy.kind: linear';

const productOf = (sizes: readonly number[]) => sizes.reduce((product, n) => product * n, 1);

/** Returns the inner edges of equal-width bins, or the edges given explicitly. */
function binEdges(config: NonNullable<QTableConfig['discretize']>[number]): BinEdges {
  if ('edges' in config) return { edges: config.edges };
  const { low, high, bins } = config;
  return { edges: Array.from({ length: bins - 1 }, (_, i) => low + ((high - low) * (i + 1)) / bins) };
}

/** Finds the bin of x, which is the number of edges at or below it; NaN falls into the first bin. */
function binOf(x: number, edges: readonly number[]): number {
  const firstAbove = edges.findIndex((edge) => !(x >= edge));
  return firstAbove < 0 ? edges.length : firstAbove;
}

function mixedRadix(sizes: readonly number[], digit: (dimension: number) => number): number {
  let index = 0;
  for (let d = 0; d < sizes.length; d++) index = index * sizes[d]! + digit(d);
  return index;
}

/** Maximum number of parameters; larger tables wouldn't fit in a prompt. */
const maxParameters = 20_000;

/**
 * Creates tables over discrete (or discretised) states. Form `actions`: parameter s is the action taken in state s, or
 * its index if actions are vectors. Form `values`: parameter `s * actions + a` is the value of action a in state s, and
 * the policy takes the action with the highest value (the first if tied).
 */
export function qTablePolicies(config: QTableConfig, environment: EnvironmentSpec): PolicyFamily {
  const discretizer = createDiscretizer(config, environment);
  const actions = actionsOf(config, environment);
  const stateCount = discretizer.stateCount;
  const count = config.form === 'actions' ? stateCount : stateCount * actions.length;
  if (count > maxParameters)
    throw new UserError({
      field: 'policy.discretize',
      message: `this table would have ${count} parameters; at most ${maxParameters} are supported`,
      hint: `${config.discretize ? 'use fewer bins' : 'group the states into bins with policy.discretize'}${linearHint(environment)}`,
    });
  const description = {
    kind: 'q-table',
    form: config.form,
    states: stateCount,
    actions: actions.map((action) => JSON.stringify(action)),
    ...(discretizer.bins && { bins: discretizer.bins }),
  } as const;
  const parameters = parametersOf(config, stateCount, actions);
  const actionIn = (vector: ParameterVector, state: number): Action => {
    if (config.form === 'actions') return actions[vector[state]! - parameters.low]!;
    const start = state * actions.length;
    return actions[argmax(vector.slice(start, start + actions.length))]!;
  };
  return {
    description,
    parameters,
    build(vector) {
      const table = Array.from({ length: stateCount }, (_, state) => actionIn(vector, state));
      return (observation) => table[discretizer.index(observation)]!;
    },
    initial: (random) => uniformVector(parameters, random),
  };
}

function parametersOf(config: QTableConfig, stateCount: number, actions: readonly Action[]): ParameterSpec {
  if (config.form === 'actions') {
    // A table entry is the action itself if actions are numbers; otherwise, its index in the list of actions.
    const choices = actions.map((action, index) => (typeof action === 'number' ? action : index));
    const names = Array.from({ length: stateCount }, (_, s) => `action in state ${s}`);
    const [low, high] = [choices[0]!, choices.at(-1)!];
    return { count: stateCount, kind: 'integer', low, high, decimals: 0, choices, names };
  }
  const { low, high, decimals } = config;
  const count = stateCount * actions.length;
  const names = Array.from(
    { length: count },
    (_, p) => `value of action ${p % actions.length} in state ${Math.floor(p / actions.length)}`,
  );
  return { count, kind: decimals === 0 ? 'integer' : 'float', low, high, decimals, names };
}

function actionsOf(config: QTableConfig, environment: EnvironmentSpec): readonly Action[] {
  const space = requireNumericSpace(environment.actionSpace, environment.id);
  switch (space.kind) {
    case 'discrete':
      if (config.actions === undefined)
        return Array.from({ length: space.n }, (_, a) => a + (space.start ?? 0));
      throw new UserError({
        field: 'policy.actions',
        message: `actions of ${environment.id} are already discrete`,
        hint: 'remove policy.actions',
      });
    case 'box': {
      const { length } = space.low;
      const { actions = [] } = config;
      if (actions.length > 1 && actions.every((action) => action.length === length)) return actions;
      throw new UserError({
        field: 'policy.actions',
        message: `a Q-table needs a list of at least two actions, because actions of ${environment.id} are continuous`,
        hint: `list vectors of ${plural(length, 'number')}, e.g. ${JSON.stringify([-1, 1].map((value) => Array(length).fill(value)))}${linearHint(environment)}`,
      });
    }
    case 'tuple':
      throw tupleActionsError(environment.id);
  }
}
