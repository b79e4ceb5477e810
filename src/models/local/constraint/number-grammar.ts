import { largest, smallest } from '../../../statistics/descriptive.js';
import type { NumberKind } from '../../language-model.js';

/** Determines whether a text is an allowed value, or can be completed to one. */
export interface NumberGrammar {
  isFeasible(text: string): boolean;
  isComplete(text: string): boolean;
  /** Minimum number of characters needed to complete a feasible text. */
  shortfall(text: string): number;
  /** Upper bound on the length of a value, in characters. */
  readonly maxLength: number;
}

export function createNumberGrammar(kind: NumberKind): NumberGrammar {
  const cache = new Map<string, number>();
  const computeShortfall =
    kind.choices === undefined ? rangeShortfall(kind) : choiceShortfall(kind.choices, kind.decimals);
  const shortfall = (text: string) => {
    const length = cache.get(text) ?? computeShortfall(text);
    if (Number.isFinite(length)) cache.set(text, length);
    return length;
  };
  return {
    isFeasible: (text) => Number.isFinite(shortfall(text)),
    isComplete: (text) => shortfall(text) === 0,
    shortfall(text) {
      const length = shortfall(text);
      if (!Number.isFinite(length)) throw new Error(`no allowed value starts with '${text}'`);
      return length;
    },
    maxLength: largest(
      (kind.choices ?? [kind.low, kind.high]).map((end) => end.toFixed(kind.decimals).length),
    ),
  };
}

/** Returns the smallest and largest integer n with low ≤ n / 10^decimals ≤ high; if none, `lowest > highest`. */
function multiplesBetween(
  low: number,
  high: number,
  decimals: number,
): { readonly lowest: number; readonly highest: number } {
  const unit = 10 ** decimals;
  // The tolerance allows for rounding in the product; below, n / unit is exactly the value that the text parses to.
  const lowest = Math.ceil(low * unit - 1e-6);
  const highest = Math.floor(high * unit + 1e-6);
  return {
    lowest: lowest / unit < low ? lowest + 1 : lowest,
    highest: highest / unit > high ? highest - 1 : highest,
  };
}

const format = /^(-?)(?:(0|[1-9]\d*)(?:(\.)(\d*))?)?$/;

/** Returns the fewest characters that complete a text to an allowed value; Infinity if none starts with it. */
type Shortfall = (text: string) => number;

/** Allows two spellings of each choice if they parse to exactly its value: with all decimals, and the shortest one. */
function choiceShortfall(choices: readonly number[], decimals: number): Shortfall {
  const texts = choices.flatMap((choice) =>
    [choice.toFixed(decimals), String(choice)].filter((text) => format.test(text) && Number(text) === choice),
  );
  return (text) =>
    smallest(texts.filter((choice) => choice.startsWith(text)).map((choice) => choice.length - text.length));
}

/** Computes with multiples of 10^-decimals, as integers. */
function rangeShortfall({ low, high, decimals }: NumberKind): Shortfall {
  const unit = 10 ** decimals;
  const { lowest, highest } = multiplesBetween(low, high, decimals);
  const maxDigits = String(Math.floor(Math.max(Math.abs(low), Math.abs(high)))).length;
  /** True if an allowed number of this sign, other than -0, has a multiple of `step` in [from, to] as its magnitude. */
  const hasMultiple = (negative: boolean, from: number, to: number, step: number) => {
    const [min, max] = negative ? [Math.max(from, 1, -highest), -lowest] : [Math.max(from, lowest), highest];
    return Math.ceil(min / step) * step <= Math.min(to, max);
  };
  /** Minimum number of decimals, at least `given`, with which some number in the range can be written. */
  const fewestDecimals = (negative: boolean, from: number, to: number, given: number) => {
    for (let used = given; used <= decimals; used++)
      if (hasMultiple(negative, from, to, 10 ** (decimals - used))) return used;
    return Number.POSITIVE_INFINITY;
  };
  return function shortfall(text): number {
    const match = format.exec(text);
    if (match === null) return Number.POSITIVE_INFINITY;
    const [, sign, whole, point, fraction = ''] = match;
    const negative = sign === '-';
    if (whole === undefined) {
      const nextCharacters = [...(negative ? '' : '-'), ...'0123456789'];
      return smallest(nextCharacters.map((character) => 1 + shortfall(text + character)));
    }
    if (point !== undefined) {
      const width = 10 ** (decimals - fraction.length);
      const from = Number(whole + fraction) * width;
      return fewestDecimals(negative, from, from + width - 1, Math.max(fraction.length, 1)) - fraction.length;
    }
    let shortest = Number.POSITIVE_INFINITY;
    const maxExtra = whole === '0' ? 0 : maxDigits - whole.length;
    for (let extra = 0; extra <= maxExtra; extra++) {
      const width = unit * 10 ** extra;
      const used = fewestDecimals(negative, Number(whole) * width, (Number(whole) + 1) * width - 1, 0);
      shortest = Math.min(shortest, extra + (used === 0 ? 0 : 1 + used));
    }
    return shortest;
  };
}
