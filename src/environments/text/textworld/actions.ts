/** Finds the actions that a game's rules allow in a state. */
import { type FactSet, predicateOf, type Vocabulary, type WorldFact } from './facts.js';
import type { Logic, LogicRule, Pattern } from './logic.js';

/** A rule with an object bound to each placeholder. */
export interface WorldAction {
  readonly rule: string;
  /** The required facts, in the rule's order. */
  readonly before: readonly WorldFact[];
  /** The facts that hold afterwards, including the required ones that are kept. */
  readonly after: readonly WorldFact[];
  readonly command: string;
  /** The compiled game's name for the action. */
  readonly event: string;
}

interface CompiledPattern {
  readonly name: string;
  readonly predicate: string;
  /** Slots of the pattern's placeholders in its rule. */
  readonly slots: readonly number[];
}

/** The pieces of a template: strings, and slots to replace with names. */
type CommandTemplate = readonly (string | number)[];

interface CompiledRule {
  readonly name: string;
  /** For each slot and object, true if the object may fill the slot. */
  readonly mayFill: readonly (readonly boolean[])[];
  /** For each slot, its object if it is a constant, otherwise -1. Constants are bound before matching. */
  readonly constants: readonly number[];
  readonly before: readonly CompiledPattern[];
  readonly after: readonly CompiledPattern[];
  /** Slots of variables that occur only in postconditions; any object of their type that isn't bound may fill them. */
  readonly freeSlots: readonly number[];
  readonly command: CommandTemplate;
  readonly event: CommandTemplate;
  /** Predicates of the preconditions. The rule's actions change only if facts with these predicates change. */
  readonly requiredPredicates: ReadonlySet<string>;
  /** Actions found so far, by their bound objects. */
  readonly actions: Map<string, WorldAction>;
}

/** Finds the possible actions; after a step, searches again only for the rules that it affects. */
export class ActionFinder {
  readonly #rules: readonly CompiledRule[];
  readonly #vocabulary: Vocabulary;
  readonly #names: readonly string[];
  #actionsByRule: WorldAction[][] = [];

  /** @param names names of the objects, as used in commands */
  constructor(logic: Logic, vocabulary: Vocabulary, names: readonly string[]) {
    this.#vocabulary = vocabulary;
    this.#names = names;
    this.#rules = logic.rules.flatMap((rule) => compileRule(rule, logic, vocabulary));
  }

  /** Finds the actions of each rule, sorted. @param changed predicates whose facts have changed; undefined for all */
  find(facts: FactSet, changed: ReadonlySet<string> | undefined): readonly (readonly WorldAction[])[] {
    this.#actionsByRule = this.#rules.map((rule, i) => {
      const isUnchanged = changed !== undefined && !readsAny(rule, changed);
      return isUnchanged ? this.#actionsByRule[i]! : this.#actions(rule, facts);
    });
    return this.#actionsByRule;
  }

  currentActions(): readonly WorldAction[] {
    return this.#actionsByRule.flat();
  }

  #actions(rule: CompiledRule, facts: FactSet): WorldAction[] {
    const actions: WorldAction[] = [];
    this.#match(rule, 0, [...rule.constants], facts, actions);
    return actions.length < 2 ? actions : actions.sort(compareByFacts);
  }

  /** Adds the actions in which all preconditions starting at `next` hold. */
  #match(rule: CompiledRule, next: number, bound: number[], facts: FactSet, actions: WorldAction[]): void {
    const pattern = rule.before[next];
    if (pattern === undefined) {
      this.#bindFree(rule, 0, bound, actions);
      return;
    }
    for (const fact of matchingFacts(pattern, bound, facts)) {
      const newSlots = bind(rule, pattern, fact, bound);
      if (newSlots === undefined) continue;
      this.#match(rule, next + 1, bound, facts, actions);
      for (const slot of newSlots) bound[slot] = -1;
    }
  }

  #bindFree(rule: CompiledRule, next: number, bound: number[], actions: WorldAction[]): void {
    if (next === rule.freeSlots.length) {
      actions.push(this.#action(rule, bound));
      return;
    }
    const slot = rule.freeSlots[next]!;
    for (const [object, fits] of rule.mayFill[slot]!.entries()) {
      if (!fits || bound.includes(object)) continue;
      bound[slot] = object;
      this.#bindFree(rule, next + 1, bound, actions);
      bound[slot] = -1;
    }
  }

  #action(rule: CompiledRule, bound: readonly number[]): WorldAction {
    const key = bound.join();
    const known = rule.actions.get(key);
    if (known !== undefined) return known;
    const factsOf = (patterns: readonly CompiledPattern[]) =>
      patterns.map(({ name, slots }) =>
        this.#vocabulary.fact(
          name,
          slots.map((slot) => bound[slot]!),
        ),
      );
    const fillTemplate = (template: CommandTemplate) =>
      template.map((piece) => (typeof piece === 'string' ? piece : this.#names[bound[piece]!]!)).join('');
    const action = {
      rule: rule.name,
      before: factsOf(rule.before),
      after: factsOf(rule.after),
      command: fillTemplate(rule.command),
      event: fillTemplate(rule.event),
    };
    rule.actions.set(key, action);
    return action;
  }
}

function readsAny({ requiredPredicates }: CompiledRule, predicates: ReadonlySet<string>): boolean {
  for (const predicate of predicates) if (requiredPredicates.has(predicate)) return true;
  return false;
}

function compareByFacts(a: WorldAction, b: WorldAction): number {
  for (let i = 0; i < a.before.length; i++) {
    const { key } = a.before[i]!;
    const otherKey = b.before[i]!.key;
    if (key !== otherKey) return key < otherKey ? -1 : 1;
  }
  return 0;
}

/** Returns the facts that can match the pattern: those with its rarest bound object, or all if no object is bound. */
function matchingFacts(
  { predicate, slots }: CompiledPattern,
  bound: readonly number[],
  facts: FactSet,
): Iterable<WorldFact> {
  let fewest: ReadonlySet<WorldFact> | undefined;
  for (let position = 0; position < slots.length; position++) {
    const object = bound[slots[position]!]!;
    if (object < 0) continue;
    const found = facts.withObject(predicate, position, object);
    if (fewest === undefined || found.size < fewest.size) fewest = found;
  }
  return fewest ?? facts.withPredicate(predicate);
}

/** Binds the placeholders to the fact's objects. @returns the newly bound slots; undefined if the objects don't fit */
function bind(
  rule: CompiledRule,
  { slots }: CompiledPattern,
  { objects }: WorldFact,
  bound: number[],
): readonly number[] | undefined {
  const newSlots: number[] = [];
  for (let position = 0; position < slots.length; position++) {
    const slot = slots[position]!;
    const object = objects[position]!;
    if (bound[slot] === object) continue;
    // Different placeholders are never bound to the same object.
    const fits = bound[slot]! < 0 && rule.mayFill[slot]![object]! && !bound.includes(object);
    if (!fits) {
      for (const newSlot of newSlots) bound[newSlot] = -1;
      return undefined;
    }
    bound[slot] = object;
    newSlots.push(slot);
  }
  return newSlots;
}

/** Compiles a rule. @returns an empty list if no command triggers it, or if one of its constants isn't in the game */
function compileRule(rule: LogicRule, { parents }: Logic, vocabulary: Vocabulary): CompiledRule[] {
  if (rule.texts === undefined) return [];
  const { command, event } = rule.texts;
  const placeholders = new Map(
    [...rule.preconditions, ...rule.postconditions].flatMap((pattern) =>
      pattern.placeholders.map(({ name, type }) => [name, type] as const),
    ),
  );
  const names = [...placeholders.keys()];
  const types = [...placeholders.values()];
  const constants = types.map((type) => (/^[A-Z]/.test(type) ? (vocabulary.number(type) ?? -2) : -1));
  if (constants.includes(-2)) return [];
  const compilePattern = ({ predicate, placeholders: variables }: Pattern): CompiledPattern => ({
    name: predicate,
    predicate: predicateOf(predicate, variables.length),
    slots: variables.map(({ name }) => names.indexOf(name)),
  });
  const before = rule.preconditions.map(compilePattern);
  const matchedSlots = new Set(before.flatMap(({ slots }) => slots));
  return [
    {
      name: rule.name,
      mayFill: types.map((type) => {
        const fittingTypes = withDescendants(type, parents);
        return vocabulary.objects.map((object) => fittingTypes.has(object.type));
      }),
      constants,
      before,
      after: rule.postconditions.map(compilePattern),
      freeSlots: names.flatMap((_, slot) => (matchedSlots.has(slot) || constants[slot]! >= 0 ? [] : [slot])),
      command: parseTemplate(command, names),
      event: parseTemplate(event, names),
      requiredPredicates: new Set(before.map(({ predicate }) => predicate)),
      actions: new Map(),
    },
  ];
}

const parseTemplate = (text: string, placeholders: readonly string[]): CommandTemplate =>
  text.split(/\{([^{}]*)\}/).map((piece, i) => (i % 2 === 0 ? piece : placeholders.indexOf(piece)));

function withDescendants(type: string, parents: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set([type]);
  let hasGrown = true;
  while (hasGrown) {
    hasGrown = false;
    for (const [child, parentTypes] of parents) {
      if (found.has(child) || !parentTypes.some((parent) => found.has(parent))) continue;
      found.add(child);
      hasGrown = true;
    }
  }
  return found;
}
