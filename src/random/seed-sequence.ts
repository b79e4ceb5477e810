/**
 * NumPy's SeedSequence: hashes a seed of any size, and a path of spawn keys below it, into independent
 * streams. The algorithm and constants are those of Melissa O'Neill's seed_seq_fe, with a pool of four words.
 */
import { append } from '../base/append.js';
import { UserError } from '../base/errors.js';

const poolSize = 4;
const initialHashA = 0x43b0d7e5;
const multiplierA = 0x931e8875;
const initialHashB = 0x8b51f9dd;
const multiplierB = 0x58f38ded;
const mixLeft = 0xca01f9dd;
const mixRight = 0x4973f715;
const word = 2 ** 32;

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

/** The 32-bit words of the seed, least significant first, then those of the spawn keys. */
function assembleEntropy(entropy: number | bigint, spawnKey: readonly number[]): readonly number[] {
  const words = toWords(entropy, 'seed');
  if (spawnKey.length === 0) return words;
  // Padding distinguishes the children of a short seed from a longer seed with the same words.
  while (words.length < poolSize) words.push(0);
  for (const key of spawnKey) append(words, toWords(key, 'spawnKey'));
  return words;
}

function toWords(value: number | bigint, field: string): number[] {
  const valid = typeof value === 'bigint' ? value >= 0n : Number.isInteger(value) && value >= 0;
  if (!valid) {
    throw new UserError({
      field,
      message: 'must be a non-negative integer',
      value: Number.isFinite(value) ? value : String(value),
      remedy: 'use 0, 1, 2, … or a bigint such as 12345678901234567890n',
    });
  }
  const words: number[] = [];
  if (value <= Number.MAX_SAFE_INTEGER) {
    const low = Number(value);
    words.push(low % word);
    if (low >= word) words.push(Math.floor(low / word));
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
