/** Encodes parameters for prompts and decodes answers: unchanged, or on the scale of the `compact` prompt set. */
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { type ParseContext, type ParseResult, parseParameters } from '../answer/parse.js';

/** An encoding of parameters that is one-to-one up to rounding. */
export interface Encoding {
  readonly spec: ParameterSpec;
  encode(parameters: ParameterVector): ParameterVector;
  /** Decodes the parameters in an answer; rounds them to the number of decimals of the original range. */
  decode(encoded: ParameterVector): ParameterVector;
}

/** Range of the parameters that models for the `compact` set are trained on: −6.0 to 6.0, a single token each. */
const compactRange = { low: -6, high: 6, decimals: 1 } as const;

/** The encoding of a prompt set: `compact` maps ranges to its own; integers and other sets remain unchanged. */
export function encodingOf(spec: ParameterSpec, set: string): Encoding {
  const { high, low } = compactRange;
  const isOwn = spec.low === low && spec.high === high && spec.decimals === compactRange.decimals;
  if (set !== 'compact' || spec.kind === 'integer' || isOwn) {
    const same = (parameters: ParameterVector) => parameters;
    return { spec, encode: same, decode: same };
  }
  const factor = (high - low) / (spec.high - spec.low);
  const rounded = (value: number, decimals: number) => Number(value.toFixed(decimals)) + 0;
  return {
    spec: { ...spec, ...compactRange },
    encode: (parameters) =>
      parameters.map((value) => rounded(low + (value - spec.low) * factor, compactRange.decimals)),
    decode: (encoded) => encoded.map((value) => rounded(spec.low + (value - low) / factor, spec.decimals)),
  };
}

/** Parses an answer as `parseParameters` does, and decodes it. `seen` gets the decoded parameters. */
export function parseEncoded(
  reply: string,
  { decode, spec }: Encoding,
  context: ParseContext = {},
): ParseResult {
  const { seen } = context;
  const read = parseParameters(reply, spec, {
    ...context,
    ...(seen && { seen: (encoded: ParameterVector) => seen(decode(encoded)) }),
  });
  return read.ok ? { ...read, value: decode(read.value) } : read;
}
