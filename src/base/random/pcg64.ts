/** NumPy's SeedSequence, its PCG64 bit generator, and its ziggurat tables for normal deviates. */
import { append } from '../append.js';
import { UserError } from '../errors.js';

// SeedSequence hashes a seed of any size and its spawn keys into independent streams. Algorithm and constants:
// Melissa O'Neill's seed_seq_fe, with a pool of four words.

const poolSize = 4;
const initialHashA = 0x43b0d7e5;
const multiplierA = 0x931e8875;
const initialHashB = 0x8b51f9dd;
const multiplierB = 0x58f38ded;
const mixLeft = 0xca01f9dd;
const mixRight = 0x4973f715;
const twoTo32 = 2 ** 32;

/**
 * The 32-bit words of `SeedSequence(entropy, spawn_key=spawnKey).generate_state(count)`. A larger `count`
 * extends the same sequence.
 * @param entropy a non-negative integer of any size
 * @param spawnKey non-negative integers
 * @throws UserError for a negative, fractional or non-finite number
 */
export function seedWords(entropy: number | bigint, spawnKey: readonly number[], count: number): number[] {
  return generateState(mixEntropy(assembleEntropy(entropy, spawnKey)), count);
}

/** The 32-bit words of the seed, least significant first, followed by the words of the spawn keys. */
function assembleEntropy(entropy: number | bigint, spawnKey: readonly number[]): readonly number[] {
  const words = toWords(entropy, 'seed');
  if (spawnKey.length === 0) return words;
  // The padding distinguishes a short seed with spawn keys from a longer seed with the same words.
  while (words.length < poolSize) words.push(0);
  for (const key of spawnKey) append(words, toWords(key, 'spawnKey'));
  return words;
}

function toWords(value: number | bigint, field: string): number[] {
  const isValid = typeof value === 'bigint' ? value >= 0n : Number.isInteger(value) && value >= 0;
  if (!isValid) {
    throw new UserError({
      field,
      message: 'must be a non-negative integer',
      value: Number.isFinite(value) ? value : String(value),
      hint: 'use 0, 1, 2, … or a bigint such as 12345678901234567890n',
    });
  }
  const words: number[] = [];
  if (value <= Number.MAX_SAFE_INTEGER) {
    const low = Number(value);
    words.push(low % twoTo32);
    if (low >= twoTo32) words.push(Math.floor(low / twoTo32));
  } else {
    for (let rest = BigInt(value); rest > 0n; rest >>= 32n) words.push(Number(rest & 0xffffffffn));
  }
  return words;
}

function mixEntropy(entropy: readonly number[]): readonly number[] {
  const pool: number[] = [];
  let hashConstant = initialHashA;
  const hash = (value: number): number => {
    const salted = value ^ hashConstant;
    hashConstant = Math.imul(hashConstant, multiplierA);
    const hashed = Math.imul(salted, hashConstant);
    return hashed ^ (hashed >>> 16);
  };
  for (let i = 0; i < poolSize; i++) pool.push(hash(entropy[i] ?? 0));
  for (let source = 0; source < poolSize; source++) {
    for (let target = 0; target < poolSize; target++) {
      if (source !== target) pool[target] = mix(pool[target]!, hash(pool[source]!));
    }
  }
  for (let source = poolSize; source < entropy.length; source++) {
    for (let target = 0; target < poolSize; target++) {
      pool[target] = mix(pool[target]!, hash(entropy[source]!));
    }
  }
  return pool;
}

function mix(x: number, y: number): number {
  const mixed = (Math.imul(mixLeft, x) - Math.imul(mixRight, y)) | 0;
  return mixed ^ (mixed >>> 16);
}

function generateState(pool: readonly number[], count: number): number[] {
  const state: number[] = [];
  let hashConstant = initialHashB;
  for (let i = 0; i < count; i++) {
    const salted = pool[i % poolSize]! ^ hashConstant;
    hashConstant = Math.imul(hashConstant, multiplierB);
    const hashed = Math.imul(salted, hashConstant);
    state.push((hashed ^ (hashed >>> 16)) >>> 0);
  }
  return state;
}

// PCG XSL-RR 128/64: a 128-bit linear congruential generator with a permuted 64-bit output. 128-bit numbers are stored
// as four 32-bit words, least significant first.

/** The multiplier 0x2360ed051fc65da44385df649fccf645 in four words, least significant first. */
const m0 = 0x9fccf645;
const m1 = 0x4385df64;
const m2 = 0x1fc65da4;
const m3 = 0x2360ed05;
const inverseWord = 2 ** -32;

/** The bit stream of one generator. `next` stores the next 64 bits in `high` and `low`. */
export class Pcg64 {
  /** The two halves of the last output, as signed 32-bit integers. */
  high = 0;
  low = 0;
  // Signed 32-bit integers, because V8 stores them unboxed in the object.
  #s0 = 0;
  #s1 = 0;
  #s2 = 0;
  #s3 = 0;
  #i0: number;
  #i1: number;
  #i2: number;
  #i3: number;

  /**
   * @param words eight words of a seed sequence. NumPy reads them as four 64-bit numbers, low word first: the
   * upper and lower half of the initial state, then of the stream number.
   */
  constructor(words: readonly number[]) {
    // The increment is 2 · stream + 1, because it must be odd.
    this.#i0 = (words[6]! << 1) | 1;
    this.#i1 = (words[7]! << 1) | (words[6]! >>> 31);
    this.#i2 = (words[4]! << 1) | (words[7]! >>> 31);
    this.#i3 = (words[5]! << 1) | (words[4]! >>> 31);
    this.next();
    let column = (this.#s0 >>> 0) + words[2]!;
    this.#s0 = column | 0;
    column = Math.floor(column * inverseWord) + (this.#s1 >>> 0) + words[3]!;
    this.#s1 = column | 0;
    column = Math.floor(column * inverseWord) + (this.#s2 >>> 0) + words[0]!;
    this.#s2 = column | 0;
    column = Math.floor(column * inverseWord) + (this.#s3 >>> 0) + words[1]!;
    this.#s3 = column | 0;
    this.next();
  }

  next(): void {
    const s0 = this.#s0 >>> 0;
    const s1 = this.#s1 >>> 0;
    const s2 = this.#s2 >>> 0;
    const s3 = this.#s3;
    // Schoolbook multiplication modulo 2^128. Each column sums fewer than 2^21 words, which is exact in a double.
    const low00 = Math.imul(s0, m0) >>> 0;
    const low01 = Math.imul(s0, m1) >>> 0;
    const low10 = Math.imul(s1, m0) >>> 0;
    const low02 = Math.imul(s0, m2) >>> 0;
    const low11 = Math.imul(s1, m1) >>> 0;
    const low20 = Math.imul(s2, m0) >>> 0;
    let column = low00 + (this.#i0 >>> 0);
    const r0 = column | 0;
    column = Math.floor(column * inverseWord) + highWord(s0, m0, low00) + low01 + low10 + (this.#i1 >>> 0);
    const r1 = column | 0;
    column =
      Math.floor(column * inverseWord) +
      highWord(s0, m1, low01) +
      highWord(s1, m0, low10) +
      low02 +
      low11 +
      low20 +
      (this.#i2 >>> 0);
    const r2 = column | 0;
    const r3 =
      (Math.floor(column * inverseWord) +
        highWord(s0, m2, low02) +
        highWord(s1, m1, low11) +
        highWord(s2, m0, low20) +
        (Math.imul(s0, m3) + Math.imul(s1, m2) + Math.imul(s2, m1) + Math.imul(s3, m0)) +
        this.#i3) |
      0;
    this.#s0 = r0;
    this.#s1 = r1;
    this.#s2 = r2;
    this.#s3 = r3;
    // The output is the XOR of the state's two halves, rotated right by the state's top six bits.
    const high = r3 ^ r1;
    const low = r2 ^ r0;
    const rotation = r3 >>> 26;
    const shift = rotation & 31;
    const back = 32 - shift;
    const isSwapped = rotation >= 32;
    const upper = isSwapped ? low : high;
    const lower = isSwapped ? high : low;
    // In JavaScript, a shift by 32 is a shift by 0, so `back` is applied in two steps.
    this.high = (upper >>> shift) | ((lower << 1) << (back - 1));
    this.low = (lower >>> shift) | ((upper << 1) << (back - 1));
  }
}

/** Upper word of a·b, given the lower word `low`. As a double, a·b is off by less than 2^11. */
function highWord(a: number, b: number, low: number): number {
  return Math.floor((a * b - low) * inverseWord + 0.5);
}

// Tables of the ziggurat method for the standard normal (J. A. Doornik, "An Improved Ziggurat Method to
// Generate Normal Random Samples", 2005) in NumPy's layout: 256 strips of equal area under f(x) = exp(-x²/2),
// 52-bit magnitudes. Strip 0 is the base with the tail; strip i ≥ 1 spans 0 … x_i. The tail starts at x_255.

export const tailStart = 3.6541528853610088;
const stripCount = 256;
const scale = 2 ** 52;

/** Width of each strip divided by 2^52, the number of magnitudes. */
export const stripWidths = new Float64Array(stripCount);
/** Magnitudes below this are under the curve at any height in the strip. */
export const stripCores = new Float64Array(stripCount);
/** f(x_i), the height of the curve at the right end of strip i; 1 for strip 0. */
export const stripHeights = new Float64Array(stripCount);

/** Area of each strip. For the base, this is its rectangle plus the tail, √(π/2)·erfc(tailStart/√2). */
const stripArea = 0.004928673233974653;

fillTables();

function fillTables(): void {
  const tailHeight = density(tailStart);
  stripWidths[0] = stripArea / tailHeight / scale;
  stripCores[0] = Math.floor(((tailStart * tailHeight) / stripArea) * scale);
  stripHeights[0] = 1;
  stripWidths[stripCount - 1] = tailStart / scale;
  stripHeights[stripCount - 1] = tailHeight;
  let x = tailStart;
  for (let i = stripCount - 2; i >= 1; i--) {
    const outer = x;
    x = Math.sqrt(-2 * Math.log(stripArea / outer + stripHeights[i + 1]!));
    stripCores[i + 1] = Math.floor((x / outer) * scale);
    stripWidths[i] = x / scale;
    stripHeights[i] = density(x);
  }
  stripCores[1] = 0;
}

function density(x: number): number {
  return Math.exp(-0.5 * x * x);
}
