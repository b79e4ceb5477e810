/** Encodes parameters for prompts and decodes answers: unchanged, or on the scale of the `compact` prompt set. */
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { type ParseContext, type ParseResult, parseParameters } from '../answer/parse.js';

/** An encoding of parameters that is one-to-one up to rounding. */
export interface Encoding {
  readonly spec: ParameterSpec;
  encode(parameters: ParameterVector): ParameterVector;
  /** Decodes the parameters of an answer; the result is within range and has the right number of decimals. */
  decode(encoded: ParameterVector): ParameterVector;
}

/** The values that models trained on the `compact` set can read: −6.0 to 6.0, each a single token. */
const compactRange = { low: -6, high: 6, decimals: 1 } as const;

/** The `compact` set maps ranges to the one its models were trained on; integers and other sets are unchanged. */
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

/** Parses an answer like `parseParameters` and decodes it. `seen` is checked for the decoded parameters. */
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
