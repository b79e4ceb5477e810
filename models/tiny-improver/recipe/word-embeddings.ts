/** Initial embeddings of a tiny model's words: those of nearby numbers, and of nearby keys, are similar. */
import type { FloatArray } from '../../../finetune/engine/training-session.js';
import type { RandomGenerator } from '../../../src/base/random/generator.js';

/** A token other than a byte. The spellings of a number or key differ in the characters around it. */
export type Word =
  | { readonly kind: 'number'; readonly text: string; readonly value: number; readonly spelling: string }
  | { readonly kind: 'key'; readonly text: string; readonly index: number; readonly spelling: string }
  | { readonly kind: 'name'; readonly text: string };

/** Shortest and longest wavelength: from a few steps of the grid to twice the widest distance of two numbers. */
const numberWaves: Waves = { shortest: 0.5, longest: 250 };
const keyWaves: Waves = { shortest: 4, longest: 250 };

interface Waves {
  readonly shortest: number;
  readonly longest: number;
}

/** Parts of a row's squared length; a key's row also has noise, which distinguishes it from its neighbours. */
const numberParts = { wave: 0.8, spelling: 0.2 };
const keyParts = { wave: 0.4, noise: 0.4, spelling: 0.2 };

/**
 * Sets the rows of numbers and keys. Each is a sinusoid of its value or index (sines and cosines of wavelengths in
 * geometric progression, as in Vaswani et al. 2017) plus an offset shared by all words of a spelling. The expected
 * squared length of a row is that of other rows: hidden · deviation².
 * @param embedding [rows, hidden], changed in place
 */
export function embedWords(
  embedding: FloatArray,
  hidden: number,
  deviation: number,
  words: readonly { readonly word: Word; readonly row: number }[],
  random: RandomGenerator,
): void {
  const noise = () => Float64Array.from({ length: hidden }, () => random.normal());
  const offsetOf = remembered(noise);
  const noiseOf = remembered(noise);
  for (const { word, row } of words) {
    const parts = partsOf(word, hidden, offsetOf, noiseOf);
    if (parts.length === 0) continue;
    for (let j = 0; j < hidden; j++)
      embedding[row * hidden + j] =
        deviation * parts.reduce((sum, { share, vector }) => sum + Math.sqrt(share) * vector[j]!, 0);
  }
}

interface Part {
  readonly share: number;
  /** Its expected squared length is `hidden`. */
  readonly vector: Float64Array;
}

function partsOf(
  word: Word,
  hidden: number,
  offsetOf: (spelling: string) => Float64Array,
  noiseOf: (key: string) => Float64Array,
): readonly Part[] {
  switch (word.kind) {
    case 'name':
      return [];
    case 'number':
      return [
        { share: numberParts.wave, vector: sinusoid(word.value, hidden, numberWaves) },
        { share: numberParts.spelling, vector: offsetOf(`number ${word.spelling}`) },
      ];
    case 'key':
      return [
        { share: keyParts.wave, vector: sinusoid(word.index, hidden, keyWaves) },
        { share: keyParts.noise, vector: noiseOf(String(word.index)) },
        { share: keyParts.spelling, vector: offsetOf(`key ${word.spelling}`) },
      ];
  }
}

/** Pairs of sines and cosines, from the shortest wavelength to the longest. */
function sinusoid(x: number, hidden: number, { shortest, longest }: Waves): Float64Array {
  const pairs = hidden / 2;
  return Float64Array.from({ length: hidden }, (_, j) => {
    const wavelength = shortest * (longest / shortest) ** (Math.floor(j / 2) / Math.max(1, pairs - 1));
    const angle = (2 * Math.PI * x) / wavelength;
    return Math.SQRT2 * (j % 2 === 0 ? Math.sin(angle) : Math.cos(angle));
  });
}

function remembered<T>(make: () => T): (key: string) => T {
  const known = new Map<string, T>();
  return (key) => {
    const value = known.get(key) ?? make();
    known.set(key, value);
    return value;
  };
}
