/**
 * Expressions and their derivatives. The derivative with respect to a byte matches what may follow that byte
 * (Brzozowski 1964; references add recursion). Equal expressions have the same id, so ids serve as states of an
 * automaton that is built lazily.
 */
import { ExpressionTable, FormError } from './expression-table.js';

export class Expressions extends ExpressionTable {
  readonly #nullable: (boolean | undefined)[] = [false, true];
  /** Derivative of each expression for each class of bytes; -1 if not computed yet. */
  readonly #derivatives: Int32Array[] = [];
  readonly #isEmpty: (boolean | undefined)[] = [true, false];
  readonly #deriving = new Set<number>();
  /** Class of each byte; bytes of a class occur in the same sets. */
  #classes: Uint8Array | undefined;
  /** One byte of each class. */
  #samples: readonly number[] = [];

  /**
   * Must be called once, after the form has been built.
   * @throws FormError if no text matches `root`, a rule begins with itself, or the form is too complex
   */
  seal(root: number): void {
    this.isSealed = true;
    this.#classes = this.#byteClasses();
    this.#samples = [...new Set(this.#classes)].map((one) => this.#classes!.indexOf(one));
    this.#settle(this.#nullable, false, (target, known) => this.#computeNullable(target, known));
    this.#settle(this.#isEmpty, true, (target, known) => this.#computeEmpty(target, known));
    if (this.isEmpty(root)) throw new FormError('no text has this form');
    for (const id of this.references)
      for (let byteClass = 0; byteClass < this.#samples.length; byteClass++) this.derive(id, byteClass);
  }

  /** References may depend on each other, so iterate to their least fixed point. */
  #settle(
    values: (boolean | undefined)[],
    first: boolean,
    compute: (target: number, known: Map<number, boolean>) => boolean,
  ): void {
    for (const id of this.references) values[id] = first;
    for (let changed = true; changed; ) {
      changed = false;
      const known = new Map<number, boolean>();
      for (const id of this.references) {
        const node = this.nodes[id]!;
        if (values[id] !== first || node.kind !== 'reference' || compute(node.target, known) === first)
          continue;
        values[id] = !first;
        changed = true;
      }
    }
  }

  get classes(): Uint8Array {
    if (this.#classes === undefined) throw new Error('the expressions are not sealed');
    return this.#classes;
  }

  get classCount(): number {
    return this.#samples.length;
  }

  /** The only byte that can follow; undefined if there are several or none. */
  onlyByte(id: number): number | undefined {
    const following = this.#samples.flatMap((_, byteClass) =>
      this.derive(id, byteClass) === this.nothing ? [] : [byteClass],
    );
    const [only] = following;
    if (only === undefined || following.length > 1) return undefined;
    const byte = this.#samples[only]!;
    return this.classes.indexOf(only, byte + 1) < 0 ? byte : undefined;
  }

  nullable(id: number): boolean {
    const known = this.#nullable[id] ?? this.#computeNullable(id);
    this.#nullable[id] = known;
    return known;
  }

  /** The expression for what may follow a byte of this class. */
  derive(id: number, byteClass: number): number {
    const known = this.derivatives(id)[byteClass]!;
    if (known >= 0) return known;
    this.count(1);
    const found = this.#derive(id, byteClass);
    this.derivatives(id)[byteClass] = found;
    return found;
  }

  /** The known derivatives of an expression, for loops in which calling `derive` would be too slow; -1 if unknown. */
  derivatives(id: number): Int32Array {
    const known = this.#derivatives[id];
    if (known !== undefined) return known;
    const none = new Int32Array(this.#samples.length).fill(-1);
    this.#derivatives[id] = none;
    return none;
  }

  isEmpty(id: number): boolean {
    const known = this.#isEmpty[id] ?? this.#computeEmpty(id);
    this.#isEmpty[id] = known;
    return known;
  }

  #computeEmpty(id: number, known?: Map<number, boolean>): boolean {
    const found = this.#isEmpty[id] ?? known?.get(id);
    if (found !== undefined) return found;
    const of = (part: number) => (known === undefined ? this.isEmpty(part) : this.#computeEmpty(part, known));
    const node = this.nodes[id]!;
    const compute = (): boolean => {
      switch (node.kind) {
        case 'concat':
          return of(node.head) || of(node.tail);
        case 'either':
          return node.options.every(of);
        case 'repeat':
          return node.min > 0 && of(node.part);
        case 'both':
          return this.#isDisjoint(id, of);
        default:
          return false;
      }
    };
    const result = compute();
    known?.set(id, result);
    return result;
  }

  /** Whether no text matches a `both` expression; searches for the shortest match. */
  #isDisjoint(id: number, isEmpty: (id: number) => boolean): boolean {
    const seen = new Set([id]);
    const before = new Map<number, number>();
    for (const next of seen) {
      if (this.nullable(next) || this.#isEmpty[next] === false || (!this.#isBoth(next) && !isEmpty(next))) {
        for (let on: number | undefined = next; on !== undefined; on = before.get(on))
          this.#isEmpty[on] = false;
        return false;
      }
      if (!this.#isBoth(next) || this.#isEmpty[next]) continue;
      for (let byteClass = 0; byteClass < this.#samples.length; byteClass++) {
        const after = this.#raw(next, byteClass);
        if (after === this.nothing || seen.has(after)) continue;
        seen.add(after);
        before.set(after, next);
      }
    }
    for (const one of seen) this.#isEmpty[one] = true;
    return true;
  }

  #isBoth(id: number): boolean {
    return this.nodes[id]!.kind === 'both';
  }

  /** Like `#derive`, but the result for `both` may match no text without being `nothing`. */
  #raw(id: number, byteClass: number): number {
    const node = this.nodes[id]!;
    if (node.kind !== 'both') return this.derive(id, byteClass);
    this.count(1);
    return this.both(this.derive(node.left, byteClass), this.derive(node.right, byteClass));
  }

  #derive(id: number, byteClass: number): number {
    const node = this.nodes[id]!;
    switch (node.kind) {
      case 'set':
        return node.bytes[this.#samples[byteClass]!] ? this.epsilon : this.nothing;
      case 'concat': {
        const first = this.concat(this.derive(node.head, byteClass), node.tail);
        return this.nullable(node.head) ? this.either(first, this.derive(node.tail, byteClass)) : first;
      }
      case 'either':
        return this.either(...node.options.map((option) => this.derive(option, byteClass)));
      case 'repeat':
        return this.concat(
          this.derive(node.part, byteClass),
          this.repeat(node.part, Math.max(0, node.min - 1), node.max - 1),
        );
      case 'both': {
        const rest = this.#raw(id, byteClass);
        return rest !== this.nothing && this.isEmpty(rest) ? this.nothing : rest;
      }
      case 'not':
        return this.not(this.derive(node.part, byteClass));
      case 'machine': {
        const next = node.machine.next(this.#samples[byteClass]!);
        return next === undefined ? this.nothing : this.machine(next);
      }
      case 'reference': {
        if (this.#deriving.has(id)) throw new FormError('a rule begins with itself (left recursion)');
        this.#deriving.add(id);
        try {
          return this.derive(node.target, byteClass);
        } finally {
          this.#deriving.delete(id);
        }
      }
    }
  }

  #computeNullable(id: number, known?: Map<number, boolean>): boolean {
    const found = this.#nullable[id] ?? known?.get(id);
    if (found !== undefined) return found;
    const of = (part: number) =>
      known === undefined ? this.nullable(part) : this.#computeNullable(part, known);
    const node = this.nodes[id]!;
    const compute = (): boolean => {
      switch (node.kind) {
        case 'set':
        case 'reference':
          return false;
        case 'concat':
          return of(node.head) && of(node.tail);
        case 'either':
          return node.options.some(of);
        case 'repeat':
          return node.min === 0 || of(node.part);
        case 'both':
          return of(node.left) && of(node.right);
        case 'not':
          return !of(node.part);
        case 'machine':
          return node.machine.ends;
      }
    };
    const result = compute();
    known?.set(id, result);
    return result;
  }

  #byteClasses(): Uint8Array {
    const keys = Array.from({ length: 256 }, () => '');
    for (const node of this.nodes) {
      if (node.kind === 'set')
        node.bytes.forEach((is, byte) => {
          keys[byte] += String(is);
        });
      // A machine may treat each ASCII character of a number differently.
      if (node.kind === 'machine')
        for (const character of '+-.0123456789eE')
          keys[character.charCodeAt(0)] = `${keys[character.charCodeAt(0)]}${character}`;
    }
    const numbers = new Map<string, number>();
    return Uint8Array.from(keys, (key) => {
      const number = numbers.get(key) ?? numbers.size;
      numbers.set(key, number);
      return number;
    });
  }
}
