/**
 * Follows a stored plan as TextWorld does when it plays a `.json` file itself. The plan is a tree in which each action
 * is a child of the action that needs its effect. If the player irreversibly undoes something that a step needs,
 * the quest can no longer be won.
 */
import type { WorldAction } from './actions.js';
import type { FactSet, WorldFact } from './facts.js';
import type { FileAction, FileProposition } from './game-file.js';

type PlannedAction = Pick<WorldAction, 'rule' | 'before' | 'after'>;

/** @param reverseRules maps rules to the rules that undo them */
export function makePlan(
  storedActions: readonly FileAction[],
  factOf: (proposition: FileProposition) => WorldFact,
  reverseRules: ReadonlyMap<string, string>,
): Plan {
  const actions = storedActions.map(({ name, preconditions, postconditions }) => ({
    rule: name,
    before: preconditions.map(factOf),
    after: postconditions.map(factOf),
  }));
  return new Plan(treeOf(actions, reverseRules));
}

/** The state of a plan during one game. */
export class Plan {
  #tree: PlanTree;

  constructor(tree: PlanTree) {
    this.#tree = tree;
  }

  copy(): Plan {
    return new Plan(this.#tree.copy());
  }

  /**
   * @param action the action that led to the facts; undefined at the start
   * @returns false if the plan can no longer be completed
   */
  follow(facts: FactSet, action: PlannedAction | undefined): boolean {
    if (this.#shorten(facts, action)) return true;
    if (action === undefined || this.#tree.isEmpty) return true;
    const { changed, undo } = this.#tree.remove(action);
    return !changed || undo !== undefined;
  }

  /** Removes parts of the plan that the facts make unnecessary. @returns true if anything was removed */
  #shorten(facts: FactSet, action: PlannedAction | undefined): boolean {
    // Stop if neither the facts nor the plan has changed since the last check.
    if (action && !gainsOf(action).length && !lossesOf(action).length && this.#tree.isOrdered) return false;
    let plan = shorterPlan(this.#tree.inOrder(), facts);
    const hasShortened = plan !== undefined;
    while (plan !== undefined) {
      this.#tree = treeOf(plan, this.#tree.reverseRules);
      plan = shorterPlan(plan, facts);
    }
    return hasShortened;
  }
}

function shorterPlan(plan: readonly PlannedAction[], facts: FactSet): readonly PlannedAction[] | undefined {
  const changes: Changes = new Map();
  for (const [from, action] of plan.entries()) {
    for (let to = plan.length - 1; to > from; to--) {
      if (!isPossible(plan[to]!, facts, changes)) continue;
      const trialChanges = new Map(changes);
      if (plan.slice(to).every((later) => tryAction(later, facts, trialChanges)))
        return [...plan.slice(0, from), ...plan.slice(to)];
    }
    if (!tryAction(action, facts, changes)) return undefined;
  }
  return undefined;
}

/** Effects of hypothetical actions: true for facts that hold afterwards, false for facts that no longer do. */
type Changes = Map<WorldFact, boolean>;

const isPossible = ({ before }: PlannedAction, facts: FactSet, changes: Changes) =>
  before.every((fact) => changes.get(fact) ?? facts.has(fact));

/** Records the changes of an action if it is possible. @returns true if it was possible */
function tryAction(action: PlannedAction, facts: FactSet, changes: Changes): boolean {
  if (!isPossible(action, facts, changes)) return false;
  for (const fact of action.before) changes.set(fact, false);
  for (const fact of action.after) changes.set(fact, true);
  return true;
}

function treeOf(plan: readonly PlannedAction[], reverseRules: ReadonlyMap<string, string>): PlanTree {
  const tree = new PlanTree(reverseRules);
  for (const action of plan.toReversed()) tree.push(action);
  return tree;
}

/** An action in the tree. Copies of a node share its element, so they all have the parent that was set last. */
interface PlanElement {
  readonly action: PlannedAction;
  readonly id: string;
  parent: PlanElement | undefined;
}

interface PlanNode {
  readonly element: PlanElement;
  readonly children: PlanNode[];
}

class PlanTree {
  readonly reverseRules: ReadonlyMap<string, string>;
  #roots: PlanNode[] = [];
  /** The actions, leaves first; undefined after a change. */
  #order: readonly PlannedAction[] | undefined;

  constructor(reverseRules: ReadonlyMap<string, string>) {
    this.reverseRules = reverseRules;
  }

  get isEmpty(): boolean {
    return this.#roots.length === 0;
  }

  /** True if nothing has changed since the last call to `inOrder`. */
  get isOrdered(): boolean {
    return this.#order !== undefined;
  }

  copy(): PlanTree {
    const tree = new PlanTree(this.reverseRules);
    tree.#roots = this.#roots.map(copyOf);
    return tree;
  }

  /** Adds an action below each action that still needs it, or as an empty tree's root. @returns true if added */
  push(action: PlannedAction): boolean {
    const node: PlanNode = { element: { action, id: idOf(action), parent: undefined }, children: [] };
    if (this.isEmpty) this.#roots.push(node);
    else if (!this.#roots.map((root) => pushBelow(root, node)).includes(true)) return false;
    this.#order = undefined;
    return true;
  }

  /** Removes an executed action if it is a leaf; adds its inverse where another action needs it, as in TextWorld. */
  remove(action: PlannedAction): { readonly changed: boolean; readonly undo: PlannedAction | undefined } {
    const wasRemoved = this.#removeLeaf(action);
    const rule = this.reverseRules.get(action.rule);
    const inverse = { rule: rule ?? action.rule, before: action.after, after: action.before };
    const undo = rule === undefined ? undefined : inverse;
    if (this.isEmpty) return { changed: wasRemoved, undo };
    const wasPushed = this.push(inverse);
    return { changed: undo === undefined ? wasRemoved || wasPushed : wasPushed, undo };
  }

  inOrder(): readonly PlannedAction[] {
    this.#order ??= this.#computeOrder();
    return this.#order;
  }

  #computeOrder(): readonly PlannedAction[] {
    const tree = this.copy();
    const order: PlannedAction[] = [];
    let previous: { changed: boolean; undo: PlannedAction | undefined } = { changed: false, undo: undefined };
    while (!tree.isEmpty) {
      const leaves = insertionSorted(tree.#leaves());
      const avoidedId = previous.changed && previous.undo !== undefined ? idOf(previous.undo) : undefined;
      const leaf = leaves.find(({ id }) => id !== avoidedId) ?? leaves.at(-1)!;
      order.push(leaf.action);
      previous = tree.remove(leaf.action);
      for (const { element, children } of [...tree.#roots]) {
        if (children.length > 0) continue;
        order.push(element.action);
        tree.remove(element.action);
      }
    }
    return order;
  }

  #leaves(): PlanElement[] {
    const leaves = this.#nodes().filter(({ children }) => children.length === 0);
    return [...new Set(leaves.map(({ element }) => element))];
  }

  #nodes(): PlanNode[] {
    const subtree = (node: PlanNode): PlanNode[] => [...node.children.flatMap(subtree), node];
    return this.#roots.flatMap(subtree);
  }

  #removeLeaf(action: PlannedAction): boolean {
    const id = idOf(action);
    if (!this.#leaves().some((leaf) => leaf.id === id)) return false;
    this.#order = undefined;
    const removeFrom = (nodes: PlanNode[]): void => {
      for (const { children } of nodes) removeFrom(children);
      for (let i = nodes.length - 1; i >= 0; i--) if (nodes[i]!.element.id === id) nodes.splice(i, 1);
    };
    removeFrom(this.#roots);
    return true;
  }
}

function pushBelow(node: PlanNode, newNode: PlanNode): boolean {
  let isAdded = false;
  for (const child of node.children) if (pushBelow(child, newNode)) isAdded = true;
  const { before } = node.element.action;
  const isNeeded = gainsOf(newNode.element.action).some((fact) => before.includes(fact));
  if (!isNeeded || addsNothing(newNode.element.action, node.children)) return isAdded;
  node.children.push(copyOf(newNode));
  newNode.element.parent = node.element;
  return true;
}

/** True if the children already provide everything that the action would add. */
function addsNothing(action: PlannedAction, children: readonly PlanNode[]): boolean {
  const providedFacts = new Set(children.flatMap(({ element }) => gainsOf(element.action)));
  return gainsOf(action).every((fact) => providedFacts.has(fact));
}

const copyOf = ({ element, children }: PlanNode): PlanNode => ({ element, children: children.map(copyOf) });
const gainsOf = ({ before, after }: PlannedAction) => after.filter((fact) => !before.includes(fact));
const lossesOf = ({ before, after }: PlannedAction) => before.filter((fact) => !after.includes(fact));

const idCache = new WeakMap<PlannedAction, string>();

/** Returns an action's id; actions with the same rule and facts have the same id. */
function idOf(action: PlannedAction): string {
  const known = idCache.get(action);
  if (known !== undefined) return known;
  const factsText = (facts: readonly WorldFact[]) =>
    [...new Set(facts.map(({ key }) => key))].toSorted().join('\u0002');
  const id = [action.rule, factsText(action.before), factsText(action.after)].join('\u0003');
  idCache.set(action, id);
  return id;
}

/** Returns the facts that must hold for the action and all later ones up to the root. */
function requiredFacts(element: PlanElement): ReadonlySet<WorldFact> {
  const required = new Set(element.action.before);
  for (let node = element; node.parent !== undefined; node = node.parent) {
    for (const fact of node.parent.action.before) required.add(fact);
    for (const fact of gainsOf(node.action)) required.delete(fact);
  }
  return required;
}

/** True if `b` removes more facts that `a` requires than vice versa. This isn't an order relation. */
function comesBefore(a: PlanElement, b: PlanElement): boolean {
  const takenCount = (from: PlanElement, by: PlanElement) => {
    const required = requiredFacts(from);
    return lossesOf(by.action).filter((fact) => required.has(fact)).length;
  };
  return takenCount(a, b) > takenCount(b, a);
}

/** Sorts as Python sorts up to 63 items. The algorithm matters, because `comesBefore` isn't an order relation. */
function insertionSorted(elements: readonly PlanElement[]): PlanElement[] {
  if (elements.length < 2) return [...elements];
  const isDescending = comesBefore(elements[1]!, elements[0]!);
  let end = 2;
  while (end < elements.length && comesBefore(elements[end]!, elements[end - 1]!) === isDescending) end++;
  const sorted = elements.slice(0, end);
  if (isDescending) sorted.reverse();
  for (const pivot of elements.slice(end)) {
    let left = 0;
    let right = sorted.length;
    while (left < right) {
      const middle = (left + right) >> 1;
      if (comesBefore(pivot, sorted[middle]!)) right = middle;
      else left = middle + 1;
    }
    sorted.splice(left, 0, pivot);
  }
  return sorted;
}
