/**
 * Languages of bytes as expressions, and what may follow after each byte: their derivatives (Brzozowski 1964, with
 * references for recursion). Equal expressions have the same id, so an expression is also a state of an automaton
 * that is built only as far as it is used.
 */

/** A language that is easier to describe by a program. Equal keys mean equal rests. */
export interface Machine {
  readonly key: string;
  readonly ends: boolean;
  next(byte: number): Machine | undefined;
}

type Node =
  /** `bytes`: 256 flags. */
  | { readonly kind: 'set'; readonly bytes: Uint8Array }
  | { readonly kind: 'concat'; readonly head: number; readonly tail: number }
  | { readonly kind: 'either'; readonly options: readonly number[] }
  | { readonly kind: 'repeat'; readonly part: number; readonly min: number; readonly max: number }
  | { readonly kind: 'both'; readonly left: number; readonly right: number }
  | { readonly kind: 'not'; readonly part: number }
  | { readonly kind: 'machine'; readonly machine: Machine }
  | { readonly kind: 'reference'; target: number };

/** The form can't be enforced. */
export class FormError extends Error {
  override readonly name = 'FormError';
}

const mostNodes = 400_000;
/** Number of derivatives that a step may need, about a second's work. */
const mostWork = 400_000;

export class Expressions {
  /** No text at all, not even an empty one. */
  readonly nothing = 0;
  /** The empty text. */
  readonly epsilon = 1;
  readonly #nodes: Node[] = [
    { kind: 'either', options: [] },
    { kind: 'repeat', part: 0, min: 0, max: 0 },
  ];
  readonly #ids = new Map<string, number>();
  readonly #nullable: (boolean | undefined)[] = [false, true];
  readonly #derivatives = new Map<number, number>();
  readonly #isEmpty: (boolean | undefined)[] = [true, false];
  readonly #deriving = new Set<number>();
  readonly #references: number[] = [];
  readonly #anything: number;
  #work = 0;
  /** Class of each byte; bytes of a class occur in the same sets. */
  #classes: Uint8Array | undefined;
  /** One byte of each class. */
  #samples: readonly number[] = [];

  constructor() {
    this.#anything = this.repeat(this.set(new Uint8Array(256).fill(1)));
  }

  /** Any bytes. */
  get anything(): number {
    return this.#anything;
  }

  set(bytes: Uint8Array): number {
    return bytes.includes(1)
      ? this.#node({ kind: 'set', bytes }, `s${Buffer.from(bytes).toString('latin1')}`)
      : this.nothing;
  }

  range(low: number, high: number): number {
    return this.set(new Uint8Array(256).fill(1, low, high + 1));
  }

  literal(text: string): number {
    return this.#bytes(Buffer.from(text));
  }

  /** One of the texts; those with the same beginning share it. */
  literals(texts: readonly string[]): number {
    const join = (rests: readonly Buffer[]): number => {
      const [one] = rests;
      if (one === undefined) return this.nothing;
      let shared = 0;
      while (shared < one.length && rests.every((rest) => rest[shared] === one[shared])) shared++;
      const byNext = new Map<number | undefined, Buffer[]>();
      for (const rest of rests) byNext.set(rest[shared], [...(byNext.get(rest[shared]) ?? []), rest]);
      const longer = [...byNext].map(([byte, some]) =>
        byte === undefined
          ? this.epsilon
          : this.concat(this.range(byte, byte), join(some.map((rest) => rest.subarray(shared + 1)))),
      );
      return this.concat(this.#bytes(one.subarray(0, shared)), this.either(...longer));
    };
    return join([...new Set(texts)].map((text) => Buffer.from(text)));
  }

  #bytes(bytes: Buffer): number {
    return this.sequence(...[...bytes].map((byte) => this.range(byte, byte)));
  }

  sequence(...parts: readonly number[]): number {
    return parts.reduceRight((rest, part) => this.concat(part, rest), this.epsilon);
  }

  concat(head: number, tail: number): number {
    if (head === this.nothing || tail === this.nothing) return this.nothing;
    if (head === this.epsilon) return tail;
    if (tail === this.epsilon) return head;
    const heads: number[] = [];
    let last = head;
    for (let node = this.#nodes[last]!; node.kind === 'concat'; node = this.#nodes[last]!) {
      heads.push(node.head);
      last = node.tail;
    }
    heads.push(last);
    return heads.reduceRight(
      (rest, one) => this.#node({ kind: 'concat', head: one, tail: rest }, `c${one},${rest}`),
      tail,
    );
  }

  either(...given: readonly number[]): number {
    const options = new Set<number>();
    for (const option of given) {
      const node = this.#nodes[option]!;
      if (node.kind === 'either') for (const inner of node.options) options.add(inner);
      else options.add(option);
    }
    if (options.has(this.#anything)) return this.#anything;
    if (options.size < 2) return [...options][0] ?? this.nothing;
    const sorted = [...options].sort((a, b) => a - b);
    this.#count(sorted.length >> 3);
    return this.#node({ kind: 'either', options: sorted }, `e${sorted.join()}`);
  }

  optional(part: number): number {
    return this.repeat(part, 0, 1);
  }

  repeat(part: number, min = 0, max = Number.POSITIVE_INFINITY): number {
    if (max < min) return this.nothing;
    if (max === 0 || part === this.epsilon) return this.epsilon;
    if (part === this.nothing) return min === 0 ? this.epsilon : this.nothing;
    if (min === 1 && max === 1) return part;
    return this.#node({ kind: 'repeat', part, min, max }, `r${part},${min},${max}`);
  }

  both(left: number, right: number): number {
    if (left === right || right === this.#anything) return left;
    if (left === this.#anything) return right;
    if (left === this.nothing || right === this.nothing) return this.nothing;
    const [a, b] = left < right ? [left, right] : [right, left];
    return this.#node({ kind: 'both', left: a, right: b }, `b${a},${b}`);
  }

  not(part: number): number {
    if (part === this.nothing) return this.#anything;
    if (part === this.#anything) return this.nothing;
    const node = this.#nodes[part]!;
    return node.kind === 'not' ? node.part : this.#node({ kind: 'not', part }, `n${part}`);
  }

  machine(machine: Machine): number {
    return this.#node({ kind: 'machine', machine }, `m${machine.key}`);
  }

  /** An expression to be defined later, for recursion. */
  reference(): number {
    const id = this.#node({ kind: 'reference', target: this.nothing }, `f${this.#nodes.length}`);
    this.#references.push(id);
    return id;
  }

  define(reference: number, target: number): void {
    const node = this.#nodes[reference]!;
    if (node.kind === 'reference') node.target = target;
  }

  /**
   * Must be called once, after the last expression has been built.
   * @throws FormError if `root` is empty, or a rule begins with itself
   */
  seal(root: number): void {
    this.#classes = this.#byteClasses();
    this.#samples = [...new Set(this.#classes)].map((one) => this.#classes!.indexOf(one));
    this.#settle(this.#nullable, false, (target, known) => this.#computeNullable(target, known));
    this.#settle(this.#isEmpty, true, (target, known) => this.#computeEmpty(target, known));
    if (this.isEmpty(root)) throw new FormError('no text has this form');
    for (const id of this.#references)
      for (let byteClass = 0; byteClass < this.#samples.length; byteClass++) this.derive(id, byteClass);
  }

  /** Finds the least solution for the references, because they may depend on each other. */
  #settle(
    values: (boolean | undefined)[],
    first: boolean,
    compute: (target: number, known: Map<number, boolean>) => boolean,
  ): void {
    for (const id of this.#references) values[id] = first;
    for (let changed = true; changed; ) {
      changed = false;
      const known = new Map<number, boolean>();
      for (const id of this.#references) {
        const node = this.#nodes[id]!;
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

  /** Starts counting the work of a step. */
  begin(): void {
    this.#work = 0;
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

  /** What may follow after a byte of this class. */
  derive(id: number, byteClass: number): number {
    const key = id * 256 + byteClass;
    const known = this.#derivatives.get(key);
    if (known !== undefined) return known;
    this.#count(1);
    const found = this.#derive(id, byteClass);
    this.#derivatives.set(key, found);
    return found;
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
    const node = this.#nodes[id]!;
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

  /** Searches for the shortest text of a `both`. */
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
    return this.#nodes[id]!.kind === 'both';
  }

  /** The derivative, which for `both` may be empty without being `nothing`. */
  #raw(id: number, byteClass: number): number {
    const node = this.#nodes[id]!;
    if (node.kind !== 'both') return this.derive(id, byteClass);
    this.#count(1);
    return this.both(this.derive(node.left, byteClass), this.derive(node.right, byteClass));
  }

  #derive(id: number, byteClass: number): number {
    const node = this.#nodes[id]!;
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
    const node = this.#nodes[id]!;
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
    for (const node of this.#nodes) {
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

  #node(node: Node, key: string): number {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    if (this.#nodes.length >= mostNodes) throw tooComplex();
    const id = this.#nodes.length;
    this.#nodes.push(node);
    this.#ids.set(key, id);
    return id;
  }

  #count(work: number): void {
    this.#work += work;
    if (this.#work > mostWork) throw tooComplex();
  }
}

const tooComplex = () => new FormError('this form is too complex to enforce');
