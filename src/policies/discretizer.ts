import type { QTableConfig } from '../config.js';
import type { EnvironmentSpec, Observation } from '../environments/environment.js';
import { UserError } from '../errors.js';
import type { BinEdges } from './policy.js';

/** Maps an observation to a state index in `0 … states - 1`. */
export interface Discretizer {
  readonly states: number;
  readonly index: (observation: Observation) => number;
  /** Present where bins were used. */
  readonly bins?: readonly BinEdges[];
}

/**
 * The states of a table. A discrete observation is its own state; the parts of a tuple and the bins of a vector are
 * combined with the last dimension varying fastest: `index = ((b0 · n1) + b1) · n2 + b2 …`.
 */
export function createDiscretizer(config: QTableConfig, environment: EnvironmentSpec): Discretizer {
  const space = environment.observationSpace;
  const bins = config.discretize?.map(binEdges);
  if (bins === undefined) {
    if (space.kind === 'discrete') {
      const start = space.start ?? 0;
      return { states: space.n, index: (observation) => (observation as number) - start };
    }
    if (space.kind === 'tuple') {
      const sizes = space.spaces.map((part) => part.n);
      const starts = space.spaces.map((part) => part.start ?? 0);
      return {
        states: sizes.reduce((product, n) => product * n, 1),
        index: (observation) => mixedRadix(sizes, (d) => (observation as readonly number[])[d]! - starts[d]!),
      };
    }
    throw new UserError({
      field: 'policy.discretize',
      message: `a Q-table needs bins for ${environment.id}, whose observation is a vector of ${space.low.length} real numbers`,
      remedy: `give ${space.low.length} items such as {low: -1, high: 1, bins: 4}, or use policy.kind: linear`,
    });
  }
  const dimensions =
    space.kind === 'discrete' ? 1 : space.kind === 'tuple' ? space.spaces.length : space.low.length;
  if (bins.length !== dimensions) {
    throw new UserError({
      field: 'policy.discretize',
      message: `${environment.id} has ${dimensions} observation ${dimensions === 1 ? 'dimension' : 'dimensions'}, but bins are given for ${bins.length}`,
      remedy: `give exactly ${dimensions} ${dimensions === 1 ? 'item' : 'items'}`,
    });
  }
  const sizes = bins.map((bin) => bin.edges.length + 1);
  return {
    states: sizes.reduce((product, n) => product * n, 1),
    index: (observation) =>
      mixedRadix(sizes, (d) =>
        binOf(typeof observation === 'number' ? observation : observation[d]!, bins[d]!.edges),
      ),
    bins,
  };
}

type BinsConfig = NonNullable<QTableConfig['discretize']>[number];

/** Inner edges of equal bins, or the edges that were given. */
export function binEdges(config: BinsConfig): BinEdges {
  if ('edges' in config) return { edges: config.edges };
  const { low, high, bins } = config;
  return { edges: Array.from({ length: bins - 1 }, (_, i) => low + ((high - low) * (i + 1)) / bins) };
}

/** The number of edges at or below x. */
function binOf(x: number, edges: readonly number[]): number {
  let bin = 0;
  while (bin < edges.length && x >= edges[bin]!) bin++;
  return bin;
}

function mixedRadix(sizes: readonly number[], digit: (dimension: number) => number): number {
  let index = 0;
  for (let d = 0; d < sizes.length; d++) index = index * sizes[d]! + digit(d);
  return index;
}
