/** Expressions for JSON numbers, optionally within bounds. */
import { multiplesBetween, numberGrammar } from '../number-grammar.js';
import { FormError, type Machine } from './expression-table.js';
import type { Expressions } from './expressions.js';

export interface NumberBounds {
  readonly isInteger: boolean;
  readonly low?: number | undefined;
  readonly high?: number | undefined;
  /** Whether `low` (for `above`) and `high` (for `below`) are excluded. */
  readonly above?: boolean;
  readonly below?: boolean;
  readonly multipleOf?: number | undefined;
}

const mostDigits = 15;
/** Usual maximum number of digits after the point for numbers with bounds; a small range allows more. */
const usualDecimals = 6;

/** @throws FormError if there is no number in the range, or `multipleOf` is not supported */
export function numberExpression(e: Expressions, bounds: NumberBounds, field: string): number {
  const { high, isInteger, low, multipleOf } = bounds;
  const all = low === undefined && high === undefined ? unbounded(e, isInteger) : bounded(e, bounds, field);
  if (multipleOf === undefined) return all;
  const decimals = decimalsOf(multipleOf);
  const step = Math.round(multipleOf * 10 ** decimals);
  if (!(step > 0 && step < 1e6)) throw new FormError(`${field}.multipleOf: ${multipleOf} is not supported`);
  return e.both(all, e.machine(multiples(step, decimals, { remainder: 0, places: -1, started: false })));
}

function unbounded(e: Expressions, isInteger: boolean): number {
  const digit = e.range(0x30, 0x39);
  const whole = e.sequence(
    e.optional(e.literal('-')),
    e.either(e.literal('0'), e.concat(e.range(0x31, 0x39), e.repeat(digit, 0, mostDigits - 1))),
  );
  if (isInteger) return whole;
  const fraction = e.concat(e.literal('.'), e.repeat(digit, 1, mostDigits));
  const exponent = e.sequence(e.literals(['e', 'E', 'e-', 'E-', 'e+', 'E+']), e.repeat(digit, 1, 2));
  return e.sequence(whole, e.optional(fraction), e.optional(exponent));
}

/** With only one bound, large numbers must be whole. */
function bounded(
  e: Expressions,
  { above, below, high, isInteger, low }: NumberBounds,
  field: string,
): number {
  if (low === high && low !== undefined && !above && !below && (Number.isInteger(low) || !isInteger))
    return e.literal(JSON.stringify(low));
  const largest = 10 ** (mostDigits - usualDecimals) - 1;
  const inner = { low: low ?? Math.min(-largest, high!), high: high ?? Math.max(largest, low!) };
  const outer = { low: low ?? -(10 ** mostDigits) + 1, high: high ?? 10 ** mostDigits - 1 };
  const size = Math.max(Math.abs(inner.low), Math.abs(inner.high));
  const most = Math.max(0, mostDigits - String(Math.ceil(size)).length);
  let decimals = isInteger ? 0 : Math.min(usualDecimals, most);
  while (!isInteger && decimals < most && (inner.high - inner.low) * 10 ** decimals < 10) decimals++;
  const part = (range: typeof inner, places: number): number => {
    const { highest, lowest } = multiplesBetween(range.low, range.high, places);
    const unit = 10 ** places;
    const from = above && low !== undefined && lowest / unit <= low ? lowest + 1 : lowest;
    const to = below && high !== undefined && highest / unit >= high ? highest - 1 : highest;
    if (!(from <= to && Math.abs(from) <= Number.MAX_SAFE_INTEGER && Math.abs(to) <= Number.MAX_SAFE_INTEGER))
      return e.nothing;
    return e.machine(ranged({ low: from / unit, high: to / unit, decimals: places }));
  };
  const found = e.either(part(isInteger ? outer : inner, decimals), isInteger ? e.nothing : part(outer, 0));
  if (found !== e.nothing) return found;
  if (size >= 10 ** mostDigits)
    throw new FormError(`${field}: numbers as large as ${size} are not supported`);
  throw new FormError(`${field}: there is no allowed number between ${inner.low} and ${inner.high}`);
}

function ranged(kind: { readonly low: number; readonly high: number; readonly decimals: number }): Machine {
  const grammar = numberGrammar(kind);
  const after = (text: string): Machine => ({
    key: `${kind.low} ${kind.high} ${kind.decimals} ${text}`,
    ends: grammar.complete(text),
    next(byte) {
      const longer = text + String.fromCharCode(byte);
      return grammar.feasible(longer) ? after(longer) : undefined;
    },
  });
  return after('');
}

interface Written {
  /** Remainder after dividing the digits written so far, as an integer, by the step. */
  readonly remainder: number;
  /** Number of digits after the point; -1 before it. */
  readonly places: number;
  readonly started: boolean;
}

/** Decimal numbers that are multiples of `step` / 10^`decimals`. */
function multiples(step: number, decimals: number, written: Written): Machine {
  const { places, remainder, started } = written;
  const after = (change: Partial<Written>) => multiples(step, decimals, { ...written, ...change });
  return {
    key: `× ${step} ${decimals} ${remainder} ${places} ${started}`,
    ends: started && (remainder * 10 ** (decimals - Math.max(0, places))) % step === 0,
    next(byte) {
      const character = String.fromCharCode(byte);
      if (character === '-') return started ? undefined : after({});
      if (character === '.') return places < 0 && decimals > 0 ? after({ places: 0 }) : undefined;
      if (!/\d/.test(character) || places === decimals) return undefined;
      return after({
        remainder: (remainder * 10 + Number(character)) % step,
        places: places < 0 ? -1 : places + 1,
        started: true,
      });
    },
  };
}

function decimalsOf(value: number): number {
  for (let decimals = 0; decimals <= 9; decimals++)
    if (Number.isInteger(value * 10 ** decimals)) return decimals;
  return 0;
}
