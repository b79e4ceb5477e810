/**
 * Seeded random numbers as in NumPy: `createGenerator(seed)` draws the same numbers as
 * `numpy.random.Generator(PCG64(SeedSequence(seed)))`, apart from rounding errors of normal deviates (checked against
 * NumPy 2.4.6).
 */
import { randomBytes } from 'node:crypto';
import { UserError } from '../errors.js';
import { Pcg64, seedWords, stripCores, stripHeights, stripWidths, tailStart } from './pcg64.js';

export interface RandomGenerator {
  /** A double in [0, 1) with 53 random bits. */
  random(): number;
  /** A double in [low, high); rounding may yield `high` itself. */
  uniform(low: number, high: number): number;
  /** An integer in [low, high). @throws UserError unless both are safe integers and low < high */
  integers(low: number, high: number): number;
  /**
   * An index drawn with the given probabilities: the first one at which their cumulative sum exceeds a random number
   * in [0, 1), or 0 if none does (as in Gymnasium).
   */
  categorical(probabilities: readonly number[]): number;
  /** One item, drawn uniformly. @throws UserError if there are none */
  choice<T>(items: readonly T[]): T;
  /** A normal deviate; by default, of mean 0 and standard deviation 1, and then within 1e-14 (relative) of NumPy's. */
  normal(mean?: number, standardDeviation?: number): number;
}

/**
 * @param seed a non-negative integer of any size; defaults to 128 random bits from the operating system
 * @param spawnKey NumPy's `spawn_key`: streams of the same seed with different keys are independent
 * @throws UserError for a negative, fractional or non-finite seed or key
 */
export function createGenerator(
  seed: number | bigint = BigInt(`0x${randomBytes(16).toString('hex')}`),
  spawnKey: readonly number[] = [],
): RandomGenerator {
  return new Generator(new Pcg64(seedWords(seed, spawnKey, 8)));
}

/** `count` distinct 32-bit seeds: words of `SeedSequence(seed, spawn_key=spawnKey).generate_state`. */
export function deriveSeeds(seed: number, spawnKey: readonly number[], count: number): number[] {
  let seeds = new Set<number>();
  for (let wordCount = 0; seeds.size < count; ) {
    wordCount += count - seeds.size;
    seeds = new Set(seedWords(seed, spawnKey, wordCount));
  }
  return [...seeds];
}

class Generator implements RandomGenerator {
  readonly #bits: Pcg64;
  /** Upper half of the last output that `#next32` split into two draws; still to be returned if `#hasHalf` is true. */
  #half = 0;
  #hasHalf = false;

  constructor(bits: Pcg64) {
    this.#bits = bits;
  }

  random(): number {
    const bits = this.#bits;
    bits.next();
    return ((bits.high >>> 0) * 2 ** 21 + (bits.low >>> 11)) * 2 ** -53;
  }

  uniform(low: number, high: number): number {
    return low + (high - low) * this.random();
  }

  integers(low: number, high: number): number {
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || low >= high) {
      const message = 'must be two safe integers with low < high';
      throw new UserError({ field: 'integers', message, value: [low, high] });
    }
    const range = high - low;
    if (range === 1) return low;
    if (range < 2 ** 32) return low + this.#bounded32(range);
    if (range === 2 ** 32) return low + this.#next32();
    return Number(BigInt(low) + this.#bounded64(BigInt(high) - BigInt(low)));
  }

  categorical(probabilities: readonly number[]): number {
    const draw = this.random();
    let sum = 0;
    for (let i = 0; i < probabilities.length; i++) {
      sum += probabilities[i]!;
      if (sum > draw) return i;
    }
    return 0;
  }

  choice<T>(items: readonly T[]): T {
    return items[this.integers(0, items.length)]!;
  }

  normal(mean = 0, standardDeviation = 1): number {
    return mean + standardDeviation * this.#standardNormal();
  }

  /** Returns the lower half of an output, then on the next call its upper half. */
  #next32(): number {
    if (this.#hasHalf) {
      this.#hasHalf = false;
      return this.#half;
    }
    this.#bits.next();
    this.#half = this.#bits.high >>> 0;
    this.#hasHalf = true;
    return this.#bits.low >>> 0;
  }

  /** Lemire's nearly divisionless method ("Fast Random Integer Generation in an Interval", 2019); 1 < range < 2^32. */
  #bounded32(range: number): number {
    for (;;) {
      const draw = this.#next32();
      const fraction = Math.imul(draw, range) >>> 0;
      // The threshold 2^32 mod range is below the range, so the division is rarely needed.
      if (fraction >= range || fraction >= 2 ** 32 % range) {
        return Math.floor((draw * range - fraction) * 2 ** -32 + 0.5);
      }
    }
  }

  /** Like `#bounded32`, but with full 64-bit outputs, for ranges above 2^32. */
  #bounded64(range: bigint): bigint {
    const threshold = 2n ** 64n % range;
    for (;;) {
      this.#bits.next();
      const draw = (BigInt(this.#bits.high >>> 0) << 32n) | BigInt(this.#bits.low >>> 0);
      const product = draw * range;
      if (BigInt.asUintN(64, product) >= threshold) return product >> 64n;
    }
  }

  #standardNormal(): number {
    const bits = this.#bits;
    for (;;) {
      bits.next();
      // From the lowest bit up: 8 bits select the strip, 1 bit is the sign, and 52 bits are the magnitude.
      const strip = bits.low & 0xff;
      const isNegative = (bits.low & 0x100) !== 0;
      const magnitude = (bits.high & 0x1fffffff) * 2 ** 23 + (bits.low >>> 9);
      const x = magnitude * stripWidths[strip]!;
      if (magnitude < stripCores[strip]!) return isNegative ? -x : x;
      if (strip === 0) return this.#tail(magnitude);
      const lower = stripHeights[strip]!;
      if ((stripHeights[strip - 1]! - lower) * this.random() + lower < Math.exp(-0.5 * x * x)) {
        return isNegative ? -x : x;
      }
    }
  }

  /** Draws from the tail by Marsaglia's method; one bit of the magnitude gives the sign. */
  #tail(magnitude: number): number {
    for (;;) {
      const x = -Math.log1p(-this.random()) / tailStart;
      const y = -Math.log1p(-this.random());
      if (y + y > x * x) {
        return Math.floor(magnitude / 2 ** 8) % 2 === 1 ? -(tailStart + x) : tailStart + x;
      }
    }
  }
}

/** The items in uniformly random order (Fisher and Yates 1938). */
export function shuffled<T>(items: Iterable<T>, random: RandomGenerator): T[] {
  const order = [...items];
  for (let i = order.length - 1; i > 0; i--) {
    const j = random.integers(0, i + 1);
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}
