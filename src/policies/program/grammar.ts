/**
 * Random programs from a small grammar: decision trees for discrete and tuple actions, an expression per dimension for
 * vectors. None of them uses memory.
 */

import type { RandomGenerator } from '../../base/random/generator.js';
import type { DiscreteSpace, EnvironmentSpec } from '../../environments/environment.js';
import {
  binaryOps,
  comparisonOps,
  divisionOps,
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
  const trees = outputTypes(spaces).map((type) =>
    type === 'number' ? growNumber(depth, growth) : growConditional(type, depth, growth),
  );
  return programText(trees, spaces);
}

function outputTypes({ output }: Spaces): readonly TreeType[] {
  if (output.kind === 'discrete') return [0];
  return output.kind === 'box' ? output.low.map(() => 'number') : output.spaces.map((_, i) => i);
}

/** Draws a tree. @param depth its maximum depth: at least 1, or at least 2 for a test */
export function growTree(type: TreeType, depth: number, growth: GrowthContext): Tree {
  const { random } = growth;
  if (type === 'test') return growTest(depth, growth);
  if (depth < 2 || random.random() < leafShare) return growLeaf(type, growth);
  if (type === 'number') return growNumber(depth, growth);
  return depth < 3 ? growLeaf(type, growth) : growConditional(type, depth, growth);
}

/** @param depth at least 2 */
function growNumber(depth: number, growth: GrowthContext): Tree {
  const { random } = growth;
  if (depth > 2 && random.random() < 0.1) return growConditional('number', depth, growth);
  const op = random.choice([...binaryOps, ...unaryOps]);
  const count = unaryOps.some((unaryOp) => unaryOp === op) ? 1 : 2;
  return {
    type: 'number',
    op,
    parts: Array.from({ length: count }, () => growTree('number', depth - 1, growth)),
  };
}

/** @param depth at least 3 */
function growConditional(type: TreeType, depth: number, growth: GrowthContext): Tree {
  const test = growTest(depth - 1, growth);
  const then = growTree(type, depth - 1, growth);
  let otherwise = growTree(type, depth - 1, growth);
  // If both results are equal, the test is pointless.
  for (let tries = 0; tries < 10 && isSame(then, otherwise); tries++)
    otherwise = growTree(type, depth - 1, growth);
  return isSame(then, otherwise) ? then : { type, op: 'if', parts: [test, then, otherwise] };
}

const isSame = (a: Tree, b: Tree) => JSON.stringify(a) === JSON.stringify(b);

function growTest(depth: number, growth: GrowthContext): Tree {
  const { input, random } = growth;
  const isExact = input.kind === 'discrete' || (input.kind === 'tuple' && random.random() < 0.5);
  if (isExact) {
    const term = observationTerm(growth);
    const { n, start = 0 } = valuesOf(term, growth);
    const op = n > 1 ? random.choice(integerTests) : 'equals';
    // Nothing is below the smallest value, so don't compare with it.
    const least = op === 'below' ? 1 : 0;
    return { type: 'test', op, value: start + random.integers(least, n), parts: [term] };
  }
  const left = random.random() < 0.5 ? observationTerm(growth) : growTree('number', depth - 1, growth);
  let right = random.random() < 0.6 ? drawConstant(left, growth) : growTree('number', depth - 1, growth);
  if (left.op === 'constant') right = observationTerm(growth);
  else if (isSame(left, right)) right = drawConstant(left, growth);
  return { type: 'test', op: random.choice(comparisonOps), parts: [left, right] };
}

export function growLeaf(type: TreeType, growth: GrowthContext): Tree {
  const { output, random } = growth;
  if (type === 'number')
    return random.random() < 0.3 ? drawConstant(undefined, growth) : observationTerm(growth);
  if (type === 'test') return growTest(2, growth);
  const space = output.kind === 'tuple' ? output.spaces[type]! : (output as DiscreteSpace);
  return { type, op: 'take', value: (space.start ?? 0) + random.integers(0, space.n), parts: [] };
}

/** Draws a component of an observation or, if that is a single integer, the integer, its remainder or its quotient. */
function observationTerm({ input, random }: GrowthContext): Tree {
  const term = { type: 'number', op: 'observation', value: 0, parts: [] } as const;
  if (input.kind !== 'discrete') {
    const count = input.kind === 'box' ? input.low.length : input.spaces.length;
    return { ...term, value: random.integers(0, count) };
  }
  const divisors = divisorsOf(input.n);
  if (divisors.length === 0 || random.random() < 1 / 3) return term;
  return { ...term, op: random.choice(divisionOps), value: random.choice(divisors) };
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

/** Returns the integers with which a test may compare a term. */
function valuesOf({ op, value }: Tree, { input }: GrowthContext): DiscreteSpace {
  if (input.kind === 'tuple') return input.spaces[value!]!;
  const { n, start = 0 } = input as DiscreteSpace;
  if (op === 'observation') return { kind: 'discrete', n, start };
  if (op === 'modulo') return { kind: 'discrete', n: Math.min(n, value!) };
  const first = Math.floor(start / value!);
  return { kind: 'discrete', n: Math.floor((start + n - 1) / value!) - first + 1, start: first };
}

/** Draws a constant uniformly within the bounds of `term` or, without narrow bounds, log-uniformly from ±[0.01, 10]. */
export function drawConstant(term: Tree | undefined, { input, random }: GrowthContext): Tree {
  const { low, high } = boundsOf(term, input);
  const isBounded = Math.abs(low) < maxBound && Math.abs(high) < maxBound;
  const value = isBounded
    ? random.uniform(low, high)
    : 10 ** random.uniform(-2, 1) * (random.random() < 0.5 ? -1 : 1);
  return { type: 'number', op: 'constant', value: roundConstant(value), parts: [] };
}

/** Rounds to 3 significant digits. */
export const roundConstant = (value: number): number => Number(value.toPrecision(3));

function boundsOf(
  term: Tree | undefined,
  input: Spaces['input'],
): { readonly low: number; readonly high: number } {
  const unbounded = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  if (term?.op !== 'observation' || input.kind === 'discrete') return unbounded;
  if (input.kind === 'box') return { low: input.low[term.value!]!, high: input.high[term.value!]! };
  const { n, start = 0 } = input.spaces[term.value!]!;
  return { low: start, high: start + n - 1 };
}
