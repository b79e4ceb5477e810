/** Expressions for sets of byte strings; equal expressions are stored only once. */

/** A set of texts that is easier to describe in code. Machines with equal keys accept the same texts. */
export interface Machine {
  readonly key: string;
  readonly ends: boolean;
  next(byte: number): Machine | undefined;
}

export type Node =
  /** One byte of a set; `bytes` has 256 flags. */
  | { readonly kind: 'set'; readonly bytes: Uint8Array }
  | { readonly kind: 'concat'; readonly head: number; readonly tail: number }
  | { readonly kind: 'either'; readonly options: readonly number[] }
  | { readonly kind: 'repeat'; readonly part: number; readonly min: number; readonly max: number }
  | { readonly kind: 'both'; readonly left: number; readonly right: number }
  | { readonly kind: 'not'; readonly part: number }
  | { readonly kind: 'machine'; readonly machine: Machine }
  | { readonly kind: 'reference'; target: number };

/** Thrown if a form can't be enforced. */
export class FormError extends Error {
  override readonly name = 'FormError';
}

/** Maximum number of expressions in a form, and in total with the ones that decoding adds. */
const mostBuilt = 100_000;
const mostNodes = 300_000;
/** Maximum length of a literal in bytes. */
const longestLiteral = 20_000;
/** Maximum work to build and seal a form, and per decoding step, roughly in derivatives: a few tenths of a second. */
const mostWork = 200_000;

export class ExpressionTable {
  /** Matches no text, not even the empty one. */
  readonly nothing = 0;
  /** Matches only the empty text. */
  readonly epsilon = 1;
  protected readonly nodes: Node[] = [
    { kind: 'either', options: [] },
    { kind: 'repeat', part: 0, min: 0, max: 0 },
  ];
  readonly #ids = new Map<string, number>();
  protected readonly references: number[] = [];
  protected isSealed = false;
  /** Matches any sequence of bytes, including the empty one. */
  readonly anything: number;
  #work = 0;

  constructor() {
    this.anything = this.repeat(this.set(new Uint8Array(256).fill(1)));
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

  /** Matches any of the texts; common prefixes are shared. */
  literals(texts: readonly string[]): number {
    const join = (rests: readonly Buffer[]): number => {
      const [one] = rests;
      if (one === undefined) return this.nothing;
      let shared = 0;
      while (shared < one.length && rests.every((rest) => rest[shared] === one[shared])) shared++;
      const byNext = new Map<number | undefined, Buffer[]>();
      for (const rest of rests) {
        const alike = byNext.get(rest[shared]);
        if (alike === undefined) byNext.set(rest[shared], [rest]);
        else alike.push(rest);
      }
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
    if (bytes.length > longestLiteral) throw tooComplex();
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
    for (let node = this.nodes[last]!; node.kind === 'concat'; node = this.nodes[last]!) {
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
      const node = this.nodes[option]!;
      if (node.kind === 'either') for (const inner of node.options) options.add(inner);
      else options.add(option);
    }
    if (options.has(this.anything)) return this.anything;
    if (options.size < 2) return [...options][0] ?? this.nothing;
    const sorted = [...options].sort((a, b) => a - b);
    this.count(sorted.length >> 1);
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
    if (left === right || right === this.anything) return left;
    if (left === this.anything) return right;
    if (left === this.nothing || right === this.nothing) return this.nothing;
    const [a, b] = left < right ? [left, right] : [right, left];
    return this.#node({ kind: 'both', left: a, right: b }, `b${a},${b}`);
  }

  not(part: number): number {
    if (part === this.nothing) return this.anything;
    if (part === this.anything) return this.nothing;
    const node = this.nodes[part]!;
    return node.kind === 'not' ? node.part : this.#node({ kind: 'not', part }, `n${part}`);
  }

  machine(machine: Machine): number {
    return this.#node({ kind: 'machine', machine }, `m${machine.key}`);
  }

  /** An expression to be defined later, for recursion. */
  reference(): number {
    const id = this.#node({ kind: 'reference', target: this.nothing }, `f${this.nodes.length}`);
    this.references.push(id);
    return id;
  }

  define(reference: number, target: number): void {
    const node = this.nodes[reference]!;
    if (node.kind === 'reference') node.target = target;
  }

  /** Starts a decoding step, whose work is counted from 0. */
  begin(): void {
    this.#work = 0;
  }

  #node(node: Node, key: string): number {
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    if (this.nodes.length >= (this.isSealed ? mostNodes : mostBuilt)) throw tooComplex();
    const id = this.nodes.length;
    this.nodes.push(node);
    this.#ids.set(key, id);
    return id;
  }

  /** @throws FormError if a step takes too much work */
  protected count(work: number): void {
    this.#work += work;
    if (this.#work > mostWork) throw tooComplex();
  }
}

const tooComplex = () => new FormError('this form is too complex to enforce');
