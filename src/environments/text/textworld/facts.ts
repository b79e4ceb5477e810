/** The facts of a game, indexed by predicate and object. */

/** Facts are interned: equal facts are the same object. */
export interface WorldFact {
  /** Name and arity, such as `in/2`. */
  readonly predicate: string;
  readonly objects: readonly number[];
  /** Sort key: the name, then the ids and types of the arguments, as text. */
  readonly key: string;
}

export interface WorldObject {
  readonly id: string;
  readonly type: string;
}

/** The objects of a game, and all facts about them that have been used so far. */
export class Vocabulary {
  readonly objects: readonly WorldObject[];
  readonly #numbers: ReadonlyMap<string, number>;
  readonly #facts = new Map<string, WorldFact>();

  constructor(objects: readonly WorldObject[]) {
    this.objects = objects;
    this.#numbers = new Map(objects.map(({ id }, number) => [id, number]));
  }

  number(id: string): number | undefined {
    return this.#numbers.get(id);
  }

  fact(name: string, objects: readonly number[]): WorldFact {
    const id = `${name}(${objects.join()})`;
    const known = this.#facts.get(id);
    if (known !== undefined) return known;
    const objectKeys = objects.map(
      (number) => `${this.objects[number]!.id}\u0001${this.objects[number]!.type}`,
    );
    const fact = {
      predicate: predicateOf(name, objects.length),
      objects: [...objects],
      key: [name, ...objectKeys].join('\u0000'),
    };
    this.#facts.set(id, fact);
    return fact;
  }
}

export const predicateOf = (name: string, arity: number): string => `${name}/${arity}`;

interface FactIndex {
  readonly facts: Set<WorldFact>;
  /** For each argument position, the facts by their object at that position. */
  readonly byPosition: readonly Map<number, Set<WorldFact>>[];
}

const noFacts: ReadonlySet<WorldFact> = new Set();

export class FactSet {
  readonly #index = new Map<string, FactIndex>();

  constructor(facts: Iterable<WorldFact>) {
    for (const fact of facts) this.add(fact);
  }

  has(fact: WorldFact): boolean {
    return this.#index.get(fact.predicate)?.facts.has(fact) ?? false;
  }

  withPredicate(predicate: string): ReadonlySet<WorldFact> {
    return this.#index.get(predicate)?.facts ?? noFacts;
  }

  withObject(predicate: string, position: number, object: number): ReadonlySet<WorldFact> {
    return this.#index.get(predicate)?.byPosition[position]?.get(object) ?? noFacts;
  }

  /** @returns true if the fact was new */
  add(fact: WorldFact): boolean {
    let index = this.#index.get(fact.predicate);
    if (index === undefined) {
      index = { facts: new Set(), byPosition: fact.objects.map(() => new Map()) };
      this.#index.set(fact.predicate, index);
    }
    if (index.facts.has(fact)) return false;
    index.facts.add(fact);
    for (const [position, object] of fact.objects.entries()) {
      const facts = index.byPosition[position]!.get(object);
      if (facts === undefined) index.byPosition[position]!.set(object, new Set([fact]));
      else facts.add(fact);
    }
    return true;
  }

  /** @returns true if the fact was present */
  delete(fact: WorldFact): boolean {
    const index = this.#index.get(fact.predicate);
    if (index === undefined || !index.facts.delete(fact)) return false;
    for (const [i, object] of fact.objects.entries()) index.byPosition[i]!.get(object)!.delete(fact);
    return true;
  }

  *[Symbol.iterator](): Generator<WorldFact> {
    for (const { facts } of this.#index.values()) yield* facts;
  }
}
