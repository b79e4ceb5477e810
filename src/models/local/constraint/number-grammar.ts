import type { NumberKind } from '../../answer-grammar.js';

/** Which texts are, or can become, one allowed value. */
export interface NumberGrammar {
  /** Whether some allowed value starts with this text. */
  feasible(text: string): boolean;
  /** Whether this text is an allowed value. */
  complete(text: string): boolean;
  /** Fewest characters that make a feasible text complete. */
  shortfall(text: string): number;
}

export function numberGrammar(kind: NumberKind): NumberGrammar {
  const grammar =
    kind.choices === undefined ? rangeGrammar(kind) : choiceGrammar(kind.choices, kind.decimals);
  const known = new Map<string, number>();
  return {
    ...grammar,
    shortfall(text) {
      const length = known.get(text) ?? grammar.shortfall(text);
      if (length === Number.POSITIVE_INFINITY) throw new Error(`no allowed value starts with '${text}'`);
      known.set(text, length);
      return length;
    },
  };
}

/**
 * Smallest and largest whole number n for which n / 10^decimals lies between low and high, both inclusive; there is
 * none where `lowest > highest`. Exact as long as n is a safe integer.
 */
export function multiplesBetween(
  low: number,
  high: number,
  decimals: number,
): { readonly lowest: number; readonly highest: number } {
  const unit = 10 ** decimals;
  // The tolerance undoes the rounding of the product; the quotient is what the text of a multiple is read as.
  const lowest = Math.ceil(low * unit - 1e-6);
  const highest = Math.floor(high * unit + 1e-6);
  return {
    lowest: lowest / unit < low ? lowest + 1 : lowest,
    highest: highest / unit > high ? highest - 1 : highest,
  };
}

const shape = /^(-?)(?:(0|[1-9]\d*)(?:(\.)(\d*))?)?$/;

/** A choice is offered in the texts that are read as exactly it: with all decimals, and as short as can be. */
function choiceGrammar(choices: readonly number[], decimals: number): NumberGrammar {
  const texts = choices.flatMap((choice) =>
    [choice.toFixed(decimals), String(choice)].filter((text) => shape.test(text) && Number(text) === choice),
  );
  return {
    feasible: (text) => texts.some((choice) => choice.startsWith(text)),
    complete: (text) => texts.includes(text),
    shortfall: (text) =>
      texts.reduce(
        (least, choice) => (choice.startsWith(text) ? Math.min(least, choice.length - text.length) : least),
        Number.POSITIVE_INFINITY,
      ),
  };
}

/** Works on multiples of 10^-decimals, which are whole numbers. */
function rangeGrammar({ low, high, decimals: digits }: NumberKind): NumberGrammar {
  const unit = 10 ** digits;
  const { lowest, highest } = multiplesBetween(low, high, digits);
  const longest = String(Math.floor(Math.max(Math.abs(low), Math.abs(high)))).length;
  const anyBetween = (negative: boolean, from: number, to: number) =>
    negative ? -Math.max(from, 1) >= lowest && -to <= highest && to >= 1 : to >= lowest && from <= highest;
  /** Whether a multiple of `step` lies between, -0 apart. */
  const anyMultiple = (negative: boolean, from: number, to: number, step: number) => {
    const [least, most] = negative
      ? [Math.max(from, 1, -highest), -lowest]
      : [Math.max(from, lowest), highest];
    return Math.ceil(least / step) * step <= Math.min(to, most);
  };
  /** Fewest digits behind the point with which some number between can be written. */
  const fewestDigits = (negative: boolean, from: number, to: number, given: number) => {
    for (let used = given; used <= digits; used++)
      if (anyMultiple(negative, from, to, 10 ** (digits - used))) return used;
    return Number.POSITIVE_INFINITY;
  };
  const shortfall = (text: string): number => {
    const match = shape.exec(text);
    if (match === null) return Number.POSITIVE_INFINITY;
    const [, sign, whole, point, fraction = ''] = match;
    const negative = sign === '-';
    if (whole === undefined) {
      const next = [...'0123456789'].map((digit) => 1 + shortfall(text + digit));
      return Math.min(...next, negative ? Number.POSITIVE_INFINITY : 1 + shortfall('-'));
    }
    if (point !== undefined) {
      const width = 10 ** (digits - fraction.length);
      const from = Number(whole + fraction) * width;
      const used = fewestDigits(negative, from, from + width - 1, Math.max(fraction.length, 1));
      return used - fraction.length;
    }
    let least = Number.POSITIVE_INFINITY;
    const more = whole === '0' ? 0 : longest - whole.length;
    for (let extra = 0; extra <= more; extra++) {
      const width = unit * 10 ** extra;
      const used = fewestDigits(negative, Number(whole) * width, (Number(whole) + 1) * width - 1, 0);
      least = Math.min(least, extra + (used === 0 ? 0 : 1 + used));
    }
    return least;
  };
  return {
    shortfall,
    feasible(text) {
      const match = shape.exec(text);
      if (match === null) return false;
      const [, sign, whole, point, fraction = ''] = match;
      const negative = sign === '-';
      if (whole === undefined) return negative ? lowest < 0 : lowest <= highest;
      if (point !== undefined) {
        if (digits === 0 || fraction.length > digits) return false;
        const width = 10 ** (digits - fraction.length);
        const from = Number(whole + fraction) * width;
        return anyBetween(negative, from, from + width - 1);
      }
      const more = whole === '0' ? 0 : longest - whole.length;
      for (let extra = 0; extra <= more; extra++) {
        const width = unit * 10 ** extra;
        if (anyBetween(negative, Number(whole) * width, (Number(whole) + 1) * width - 1)) return true;
      }
      return false;
    },
    complete(text) {
      const match = shape.exec(text);
      const whole = match?.[2];
      if (match == null || whole === undefined || (match[3] !== undefined && match[4] === '')) return false;
      const fraction = match[4] ?? '';
      if (fraction.length > digits) return false;
      const magnitude = Number(whole + fraction) * 10 ** (digits - fraction.length);
      return anyBetween(match[1] === '-', magnitude, magnitude);
    },
  };
}
