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
      const fittingDonors = donors.filter((donor) => donor.node.type === node.type);
      return fittingDonors.length === 0 ? tree : replaceAt(tree, path, drawNode(fittingDonors, random).node);
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
      const nodes = nodesOf(tree);
      const { node, path } = random.choice(nodes);
      const constants = nodes.filter((place) => place.node.op === 'constant');
      const matches = nodesOf(node).filter((place) => place.path.length > 0 && place.node.type === node.type);
      const kind = random.integers(0, 4);
      if (kind === 0 && constants.length > 0) {
        const constant = random.choice(constants);
        return replaceAt(tree, constant.path, shiftConstant(constant.node, growth));
      }
      if (kind === 1 && matches.length > 0) return replaceAt(tree, path, random.choice(matches).node);
      if (kind === 2) return replaceAt(tree, path, mutatePoint(node, growth));
      const depth = Math.max(2, Math.min(4, maxDepth - path.length));
      return replaceAt(tree, path, growTree(node.type, depth, growth));
    },
    spaces,
  );
}

/** Changes a random tree of a program; returns the program unchanged if no attempt succeeds. */
function vary(trees: Trees, random: RandomGenerator, change: (tree: Tree) => Tree, spaces: Spaces): string {
  const oldText = programText(trees, spaces);
  for (let tries = 0; tries < maxTries; tries++) {
    const index = random.integers(0, trees.length);
    const newTree = change(trees[index]!);
    const newText = programText(trees.with(index, newTree), spaces);
    if (depthOf(newTree) <= maxDepth && newText !== oldText) return newText;
  }
  return oldText;
}

const nodesOf = (node: Tree, path: readonly number[] = []): readonly LocatedNode[] => [
  { node, path },
  ...node.parts.flatMap((part, i) => nodesOf(part, [...path, i])),
];

function replaceAt(tree: Tree, [first, ...rest]: readonly number[], node: Tree): Tree {
  if (first === undefined) return node;
  return { ...tree, parts: tree.parts.map((part, i) => (i === first ? replaceAt(part, rest, node) : part)) };
}

function drawNode(nodes: readonly LocatedNode[], random: RandomGenerator): LocatedNode {
  const innerNodes = nodes.filter(({ node }) => node.parts.length > 0);
  return random.choice(innerNodes.length > 0 && random.random() < innerShare ? innerNodes : nodes);
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
