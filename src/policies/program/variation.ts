/** Mutation and crossover of programs from the grammar (J. R. Koza, “Genetic Programming”, 1992). */

import type { RandomGenerator } from '../../base/random/generator.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import { drawConstant, type GrowthContext, growLeaf, growTree, maxDepth, roundConstant } from './grammar.js';
import {
  depthOf,
  opGroups,
  parseTrees,
  programText,
  type Spaces,
  spacesOf,
  type Tree,
  type Trees,
  type TreeType,
} from './tree.js';

/** A node and its path: the indices of the parts that lead to it. */
interface LocatedNode {
  readonly node: Tree;
  readonly path: readonly number[];
}

/** Maximum number of attempts to find a change that has an effect and stays within the depth limit. */
const maxTries = 10;
/** Probability of drawing a crossover point among the nodes with parts, as in Koza. */
const innerShare = 0.9;

/**
 * Replaces a random subtree of `a` with one of `b` of the same type.
 * @returns undefined if a program isn't from the grammar; `a` if no exchange fits
 */
export function crossover(
  a: string,
  b: string,
  environment: EnvironmentSpec,
  random: RandomGenerator,
): string | undefined {
  const spaces = spacesOf(environment);
  const trees = parseTrees(a, spaces);
  const donors = parseTrees(b, spaces)?.flatMap((tree) => nodesOf(tree));
  if (trees === undefined || donors === undefined) return undefined;
  return vary(
    trees,
    random,
    (tree) => {
      const { node, path } = drawNode(nodesOf(tree), random);
      const fitting = donors.filter((donor) => donor.node.type === node.type);
      return fitting.length === 0 ? tree : replaceAt(tree, path, drawNode(fitting, random).node);
    },
    spaces,
  );
}

/**
 * Chooses one of four changes with equal probability: a new random subtree, a changed node (`mutatePoint`), a
 * changed constant, or a subtree replaced by one that it contains. If the change is impossible, draws a new subtree.
 * @returns undefined if the program isn't from the grammar
 */
export function mutate(
  source: string,
  environment: EnvironmentSpec,
  random: RandomGenerator,
): string | undefined {
  const spaces = spacesOf(environment);
  const trees = parseTrees(source, spaces);
  if (trees === undefined) return undefined;
  const growth = { ...spaces, random };
  return vary(
    trees,
    random,
    (tree) => {
      const places = nodesOf(tree);
      const { node, path } = random.choice(places);
      const constants = places.filter((place) => place.node.op === 'constant');
      const inside = nodesOf(node).filter((place) => place.path.length > 0 && place.node.type === node.type);
      const kind = random.integers(0, 4);
      if (kind === 0 && constants.length > 0) {
        const chosen = random.choice(constants);
        return replaceAt(tree, chosen.path, shiftConstant(chosen.node, growth));
      }
      if (kind === 1 && inside.length > 0) return replaceAt(tree, path, random.choice(inside).node);
      if (kind === 2) return replaceAt(tree, path, mutatePoint(node, growth));
      const depth = Math.max(2, Math.min(4, maxDepth - path.length));
      return replaceAt(tree, path, growTree(node.type, depth, growth));
    },
    spaces,
  );
}

/** Changes a random tree of a program; returns the program unchanged if no attempt succeeds. */
function vary(trees: Trees, random: RandomGenerator, change: (tree: Tree) => Tree, spaces: Spaces): string {
  const before = programText(trees, spaces);
  for (let tries = 0; tries < maxTries; tries++) {
    const chosen = random.integers(0, trees.length);
    const changed = change(trees[chosen]!);
    const after = programText(trees.with(chosen, changed), spaces);
    if (depthOf(changed) <= maxDepth && after !== before) return after;
  }
  return before;
}

const nodesOf = (node: Tree, path: readonly number[] = []): readonly LocatedNode[] => [
  { node, path },
  ...node.parts.flatMap((part, i) => nodesOf(part, [...path, i])),
];

function replaceAt(tree: Tree, [first, ...rest]: readonly number[], by: Tree): Tree {
  if (first === undefined) return by;
  return { ...tree, parts: tree.parts.map((part, i) => (i === first ? replaceAt(part, rest, by) : part)) };
}

function drawNode(places: readonly LocatedNode[], random: RandomGenerator): LocatedNode {
  const inner = places.filter(({ node }) => node.parts.length > 0);
  return random.choice(inner.length > 0 && random.random() < innerShare ? inner : places);
}

/** Scales a constant by 1 ± 0.3 (standard deviation), or draws a new one. */
function shiftConstant(node: Tree, growth: GrowthContext): Tree {
  const { random } = growth;
  if (random.random() < 0.2) return drawConstant(undefined, growth);
  return { ...node, value: roundConstant(node.value! * (1 + 0.3 * random.normal())) };
}

/** Gives a node another operation of the same kind, swaps the results of a condition, or draws a new leaf. */
function mutatePoint(node: Tree, growth: GrowthContext): Tree {
  const { random } = growth;
  const groups: readonly (readonly Tree['op'][])[] = opGroups;
  const group = groups.find((ops) => ops.includes(node.op));
  if (group) return { ...node, op: random.choice(group.filter((op) => op !== node.op)) };
  return node.parts.length > 0 ? swapSubtrees(node) : growLeaf(node.type as TreeType, growth);
}

const swapSubtrees = ({ parts: [test, then, otherwise], ...node }: Tree): Tree => ({
  ...node,
  parts: [test!, otherwise!, then!],
});
