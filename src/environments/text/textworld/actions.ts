/** Which actions the rules of a game allow in a state. */
import { type Fact, type Facts, predicateOf, type Vocabulary } from './facts.js';
import type { Logic, Pattern, Rule } from './logic.js';

/** A rule with an object for each placeholder. */
export interface Action {
  readonly rule: string;
  /** The facts that it needs, in the rule's order. */
  readonly before: readonly Fact[];
  /** The facts that hold after it, with those that it keeps. */
  readonly after: readonly Fact[];
  /** What a player types. */
  readonly command: string;
  /** How the compiled game names it. */
  readonly event: string;
}

interface CompiledPattern {
  readonly name: string;
  readonly predicate: string;
  /** Slots of the rule's placeholders. */
  readonly slots: readonly number[];
}

/** A template in pieces: texts, and slots whose names are said. */
type Template = readonly (string | number)[];

interface CompiledRule {
  readonly name: string;
  /** For each slot, which objects may stand there. */
  readonly allowed: readonly (readonly boolean[])[];
  /** Objects of the constants, -1 for the other slots; constants are bound before anything is matched. */
  readonly constants: readonly number[];
  readonly before: readonly CompiledPattern[];
  readonly after: readonly CompiledPattern[];
  /** Slots that only the postconditions have: any unused object of the type. */
  readonly free: readonly number[];
  readonly command: Template;
  readonly event: Template;
  /** The predicates of the preconditions: without a change of these, its actions stay. */
  readonly reads: ReadonlySet<string>;
  /** Actions found before, by the objects bound. */
  readonly actions: Map<string, Action>;
}

/** Finds actions; rules that a step did not touch keep theirs. */
export class ActionFinder {
  readonly #rules: readonly CompiledRule[];
  readonly #vocabulary: Vocabulary;
  readonly #names: readonly string[];
  #found: Action[][] = [];

  /** @param names of the objects, as commands say them */
  constructor(logic: Logic, vocabulary: Vocabulary, names: readonly string[]) {
    this.#vocabulary = vocabulary;
    this.#names = names;
    this.#rules = logic.rules.flatMap((rule) => compiled(rule, logic, vocabulary));
  }

  /**
   * The actions of each rule, by name of the rule; within a rule by the order of its facts.
   * @param changed predicates whose facts are others than at the last call; undefined: all
   */
  find(facts: Facts, changed: ReadonlySet<string> | undefined): readonly (readonly Action[])[] {
    this.#found = this.#rules.map((rule, i) => {
      const stays = changed !== undefined && !readsAny(rule, changed);
      return stays ? this.#found[i]! : this.#actions(rule, facts);
    });
    return this.#found;
  }

  /** What the last `find` found. */
  found(): readonly Action[] {
    return this.#found.flat();
  }

  #actions(rule: CompiledRule, facts: Facts): Action[] {
    const actions: Action[] = [];
    this.#match(rule, 0, [...rule.constants], facts, actions);
    return actions.length < 2 ? actions : actions.sort(byFacts);
  }

  /** Adds the actions in which the preconditions from the one at `next` on hold. */
  #match(rule: CompiledRule, next: number, bound: number[], facts: Facts, actions: Action[]): void {
    const pattern = rule.before[next];
    if (pattern === undefined) {
      this.#bindFree(rule, 0, bound, actions);
      return;
    }
    for (const fact of candidates(pattern, bound, facts)) {
      const fresh = bind(rule, pattern, fact, bound);
      if (fresh === undefined) continue;
      this.#match(rule, next + 1, bound, facts, actions);
      for (const slot of fresh) bound[slot] = -1;
    }
  }

  #bindFree(rule: CompiledRule, next: number, bound: number[], actions: Action[]): void {
    if (next === rule.free.length) {
      actions.push(this.#action(rule, bound));
      return;
    }
    const slot = rule.free[next]!;
    for (const [object, fits] of rule.allowed[slot]!.entries()) {
      if (!fits || bound.includes(object)) continue;
      bound[slot] = object;
      this.#bindFree(rule, next + 1, bound, actions);
      bound[slot] = -1;
    }
  }

  #action(rule: CompiledRule, bound: readonly number[]): Action {
    const key = bound.join();
    const known = rule.actions.get(key);
    if (known !== undefined) return known;
    const facts = (patterns: readonly CompiledPattern[]) =>
      patterns.map(({ name, slots }) =>
        this.#vocabulary.fact(
          name,
          slots.map((slot) => bound[slot]!),
        ),
      );
    const filled = (template: Template) =>
      template.map((piece) => (typeof piece === 'string' ? piece : this.#names[bound[piece]!]!)).join('');
    const action = {
      rule: rule.name,
      before: facts(rule.before),
      after: facts(rule.after),
      command: filled(rule.command),
      event: filled(rule.event),
    };
    rule.actions.set(key, action);
    return action;
  }
}

function readsAny({ reads }: CompiledRule, predicates: ReadonlySet<string>): boolean {
  for (const predicate of predicates) if (reads.has(predicate)) return true;
  return false;
}

function byFacts(a: Action, b: Action): number {
  for (let i = 0; i < a.before.length; i++) {
    const { key } = a.before[i]!;
    const other = b.before[i]!.key;
    if (key !== other) return key < other ? -1 : 1;
  }
  return 0;
}

/** The facts that can match: those with a bound object where there is one. */
function candidates(
  { predicate, slots }: CompiledPattern,
  bound: readonly number[],
  facts: Facts,
): Iterable<Fact> {
  let fewest: ReadonlySet<Fact> | undefined;
  for (let place = 0; place < slots.length; place++) {
    const object = bound[slots[place]!]!;
    if (object < 0) continue;
    const found = facts.with(predicate, place, object);
    if (fewest === undefined || found.size < fewest.size) fewest = found;
  }
  return fewest ?? facts.of(predicate);
}

/** Binds the placeholders to the objects of the fact. @returns the slots newly bound; undefined where they don't fit */
function bind(
  rule: CompiledRule,
  { slots }: CompiledPattern,
  { objects }: Fact,
  bound: number[],
): readonly number[] | undefined {
  const fresh: number[] = [];
  for (let place = 0; place < slots.length; place++) {
    const slot = slots[place]!;
    const object = objects[place]!;
    if (bound[slot] === object) continue;
    // Two placeholders never stand for one object.
    const fits = bound[slot]! < 0 && rule.allowed[slot]![object]! && !bound.includes(object);
    if (!fits) {
      for (const one of fresh) bound[one] = -1;
      return undefined;
    }
    bound[slot] = object;
    fresh.push(slot);
  }
  return fresh;
}

const isConstant = (type: string) => /^[A-Z]/.test(type);

/** @returns no rule where nothing can ask for it, or a constant that it speaks of is not in the game */
function compiled(rule: Rule, { parents }: Logic, vocabulary: Vocabulary): CompiledRule[] {
  if (rule.said === undefined) return [];
  const { command, event } = rule.said;
  const placeholders = new Map(
    [...rule.preconditions, ...rule.postconditions].flatMap((pattern) =>
      pattern.placeholders.map(({ name, type }) => [name, type] as const),
    ),
  );
  const names = [...placeholders.keys()];
  const types = [...placeholders.values()];
  const constants = types.map((type) => (isConstant(type) ? (vocabulary.number(type) ?? -2) : -1));
  if (constants.includes(-2)) return [];
  const pattern = ({ predicate, placeholders: given }: Pattern): CompiledPattern => ({
    name: predicate,
    predicate: predicateOf(predicate, given.length),
    slots: given.map(({ name }) => names.indexOf(name)),
  });
  const before = rule.preconditions.map(pattern);
  const matched = new Set(before.flatMap(({ slots }) => slots));
  return [
    {
      name: rule.name,
      allowed: types.map((type) => {
        const fitting = withDescendants(type, parents);
        return vocabulary.objects.map((object) => fitting.has(object.type));
      }),
      constants,
      before,
      after: rule.postconditions.map(pattern),
      free: names.flatMap((_, slot) => (matched.has(slot) || constants[slot]! >= 0 ? [] : [slot])),
      command: template(command, names),
      event: template(event, names),
      reads: new Set(before.map(({ predicate }) => predicate)),
      actions: new Map(),
    },
  ];
}

const template = (text: string, placeholders: readonly string[]): Template =>
  text.split(/\{([^}]*)\}/).map((piece, i) => (i % 2 === 0 ? piece : placeholders.indexOf(piece)));

function withDescendants(type: string, parents: ReadonlyMap<string, readonly string[]>): ReadonlySet<string> {
  const found = new Set([type]);
  let grown = true;
  while (grown) {
    grown = false;
    for (const [child, its] of parents) {
      if (found.has(child) || !its.some((parent) => found.has(parent))) continue;
      found.add(child);
      grown = true;
    }
  }
  return found;
}
