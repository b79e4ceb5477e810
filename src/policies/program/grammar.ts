/**
 * Random programs from a small grammar: decision trees for discrete and tuple actions, an expression per dimension for
 * vectors. None of them uses memory.
 */

import type { RandomGenerator } from '../../base/random/generator.js';
import type { DiscreteSpace, EnvironmentSpec } from '../../environments/environment.js';
import {
  binaryOps,
  comparisonOps,
  digitOps,
  integerTests,
  programText,
  type Spaces,
  spacesOf,
  type Tree,
  type TreeType,
  unaryOps,
} from './tree.js';

/** Maximum number of nodes on a path from the root of a tree to a leaf. */
export const maxDepth = 6;
/** Probability of drawing a leaf where the tree could grow deeper. */
const leafShare = 0.4;
/** Wider bounds are ignored, because they don't indicate the scale of an observation. */
const maxBound = 1e6;

/** The spaces that trees are drawn for, and the random generator. */
export interface GrowthContext extends Spaces {
  readonly random: RandomGenerator;
}

/**
 * Draws a program. It is valid for every observation and never throws; its constants have at most 3 significant digits.
 * @throws UserError for text observations or actions
 */
export function randomProgram(environment: EnvironmentSpec, random: RandomGenerator): string {
  const spaces = spacesOf(environment);
  const growth = { ...spaces, random };
  const depth = random.integers(3, maxDepth + 1);
  const trees = sortsOf(spaces).map((sort) =>
    sort === 'number' ? growNumber(depth, growth) : growChoice(sort, depth, growth),
  );
  return programText(trees, spaces);
}

function sortsOf({ acted }: Spaces): readonly TreeType[] {
  if (acted.kind === 'discrete') return [0];
  return acted.kind === 'box' ? acted.low.map(() => 'number') : acted.spaces.map((_, i) => i);
}

/** Draws a tree. @param depth its maximum depth: at least 1, or at least 2 for a test */
export function growTree(sort: TreeType, depth: number, growth: GrowthContext): Tree {
  const { random } = growth;
  if (sort === 'test') return growTest(depth, growth);
  if (depth < 2 || random.random() < leafShare) return growLeaf(sort, growth);
  if (sort === 'number') return growNumber(depth, growth);
  return depth < 3 ? growLeaf(sort, growth) : growChoice(sort, depth, growth);
}

/** @param depth at least 2 */
function growNumber(depth: number, growth: GrowthContext): Tree {
  const { random } = growth;
  if (depth > 2 && random.random() < 0.1) return growChoice('number', depth, growth);
  const op = random.choice([...binaryOps, ...unaryOps]);
  const count = unaryOps.some((one) => one === op) ? 1 : 2;
  return {
    sort: 'number',
    op,
    parts: Array.from({ length: count }, () => growTree('number', depth - 1, growth)),
  };
}

/** @param depth at least 3 */
function growChoice(sort: TreeType, depth: number, growth: GrowthContext): Tree {
  const test = growTest(depth - 1, growth);
  const then = growTree(sort, depth - 1, growth);
  let otherwise = growTree(sort, depth - 1, growth);
  // If both results are equal, the test is pointless.
  for (let tries = 0; tries < 10 && isSame(then, otherwise); tries++)
    otherwise = growTree(sort, depth - 1, growth);
  return isSame(then, otherwise) ? then : { sort, op: 'if', parts: [test, then, otherwise] };
}

const isSame = (a: Tree, b: Tree) => JSON.stringify(a) === JSON.stringify(b);

function growTest(depth: number, growth: GrowthContext): Tree {
  const { observed, random } = growth;
  const isExact = observed.kind === 'discrete' || (observed.kind === 'tuple' && random.random() < 0.5);
  if (isExact) {
    const term = observationTerm(growth);
    const { n, start = 0 } = valuesOf(term, growth);
    const op = n > 1 ? random.choice(integerTests) : 'equals';
    // Nothing is below the smallest value, so don't compare with it.
    const least = op === 'below' ? 1 : 0;
    return { sort: 'test', op, value: start + random.integers(least, n), parts: [term] };
  }
  const left = random.random() < 0.5 ? observationTerm(growth) : growTree('number', depth - 1, growth);
  let right = random.random() < 0.6 ? constant(left, growth) : growTree('number', depth - 1, growth);
  if (left.op === 'constant') right = observationTerm(growth);
  else if (isSame(left, right)) right = constant(left, growth);
  return { sort: 'test', op: random.choice(comparisonOps), parts: [left, right] };
}

export function growLeaf(sort: TreeType, growth: GrowthContext): Tree {
  const { acted, random } = growth;
  if (sort === 'number') return random.random() < 0.3 ? constant(undefined, growth) : observationTerm(growth);
  if (sort === 'test') return growTest(2, growth);
  const space = acted.kind === 'tuple' ? acted.spaces[sort]! : (acted as DiscreteSpace);
  return { sort, op: 'take', value: (space.start ?? 0) + random.integers(0, space.n), parts: [] };
}

/** Draws a component of the observation; a discrete observation may also be divided: its remainder or quotient. */
function observationTerm({ observed, random }: GrowthContext): Tree {
  const term = { sort: 'number', op: 'observation', value: 0, parts: [] } as const;
  if (observed.kind !== 'discrete') {
    const count = observed.kind === 'box' ? observed.low.length : observed.spaces.length;
    return { ...term, value: random.integers(0, count) };
  }
  const divisors = divisorsOf(observed.n);
  if (divisors.length === 0 || random.random() < 1 / 3) return term;
  return { ...term, op: random.choice(digitOps), value: random.choice(divisors) };
}

/**
 * Lists the divisors of n from 2 to 999, without n itself, because states often number the cells of a grid; if there
 * are none, all integers from 2 to n − 1 (at most 999).
 */
function divisorsOf(n: number): readonly number[] {
  const smaller = Array.from({ length: Math.max(0, Math.min(n, 1000) - 2) }, (_, i) => i + 2);
  const divisors = smaller.filter((k) => n % k === 0);
  return divisors.length > 0 ? divisors : smaller;
}

/** Returns the integers that a term can take. */
function valuesOf({ op, value }: Tree, { observed }: GrowthContext): DiscreteSpace {
  if (observed.kind === 'tuple') return observed.spaces[value!]!;
  const { n, start = 0 } = observed as DiscreteSpace;
  if (op === 'observation') return { kind: 'discrete', n, start };
  if (op === 'modulo') return { kind: 'discrete', n: Math.min(n, value!) };
  const first = Math.floor(start / value!);
  return { kind: 'discrete', n: Math.floor((start + n - 1) / value!) - first + 1, start: first };
}

/** Draws a constant to compare with a term: within its bounds or, if unknown or wide, log-uniform, ±0.01 to ±10. */
export function constant(term: Tree | undefined, { observed, random }: GrowthContext): Tree {
  const { low, high } = boundsOf(term, observed);
  const isBounded = Math.abs(low) < maxBound && Math.abs(high) < maxBound;
  const value = isBounded
    ? random.uniform(low, high)
    : 10 ** random.uniform(-2, 1) * (random.random() < 0.5 ? -1 : 1);
  return { sort: 'number', op: 'constant', value: roundConstant(value), parts: [] };
}

/** Rounds to 3 significant digits. */
export const roundConstant = (value: number): number => Number(value.toPrecision(3));

function boundsOf(
  term: Tree | undefined,
  observed: Spaces['observed'],
): { readonly low: number; readonly high: number } {
  const unknown = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  if (term?.op !== 'observation' || observed.kind === 'discrete') return unknown;
  if (observed.kind === 'box') return { low: observed.low[term.value!]!, high: observed.high[term.value!]! };
  const { n, start = 0 } = observed.spaces[term.value!]!;
  return { low: start, high: start + n - 1 };
}
