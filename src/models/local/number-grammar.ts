import type { ParameterSpec } from '../../policies/policy.js';

/** Which texts are, or can become, one allowed value. */
export interface NumberGrammar {
  /** Whether some allowed value starts with this text. */
  feasible(text: string): boolean;
  /** Whether this text is an allowed value. */
  complete(text: string): boolean;
  /** Fewest characters that make a feasible text complete. */
  shortfall(text: string): number;
}

const characters = [...'0123456789-.'];

/** The values of a spec in plain decimal notation, with up to `decimals` digits after the point. */
export function numberGrammar(spec: ParameterSpec): NumberGrammar {
  const { feasible, complete } =
    spec.choices === undefined ? rangeGrammar(spec) : choiceGrammar(spec.choices, spec.decimals);
  const known = new Map<string, number>();
  return {
    feasible,
    complete,
    shortfall(text) {
      const cached = known.get(text);
      if (cached !== undefined) return cached;
      let texts = [text];
      let length = 0;
      while (!texts.some(complete)) {
        texts = texts.flatMap((start) => characters.map((next) => start + next).filter(feasible));
        if (texts.length === 0) throw new Error(`no allowed value starts with '${text}'`);
        length++;
      }
      known.set(text, length);
      return length;
    },
  };
}

type Tests = Pick<NumberGrammar, 'feasible' | 'complete'>;

function choiceGrammar(choices: readonly number[], decimals: number): Tests {
  const texts = choices.flatMap((choice) => [choice.toFixed(decimals), String(choice)]);
  return {
    feasible: (text) => texts.some((choice) => choice.startsWith(text)),
    complete: (text) => texts.includes(text),
  };
}

const shape = /^(-?)(?:(0|[1-9]\d*)(?:(\.)(\d*))?)?$/;

/** Works on multiples of 10^-decimals, which are whole numbers. */
function rangeGrammar({ low, high, decimals, kind }: ParameterSpec): Tests {
  const digits = kind === 'integer' ? 0 : decimals;
  const unit = 10 ** digits;
  // The bounds may lie between two multiples; the tolerance undoes the rounding of the product.
  const lowest = Math.ceil(low * unit - 1e-6);
  const highest = Math.floor(high * unit + 1e-6);
  const longest = String(Math.floor(Math.max(Math.abs(low), Math.abs(high)))).length;
  const anyBetween = (negative: boolean, from: number, to: number) =>
    negative ? -Math.max(from, 1) >= lowest && -to <= highest && to >= 1 : to >= lowest && from <= highest;
  return {
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
