/** Encodes parameters for prompts and decodes answers: unchanged, or on the scale of the `compact` prompt set. */
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { type ParseContext, type ParseResult, parseParameters } from '../answer/parse.js';

/** An encoding of parameters that is one-to-one up to rounding. */
export interface Telling {
  readonly spec: ParameterSpec;
  tell(parameters: ParameterVector): ParameterVector;
  /** Decodes the parameters of an answer; the result is within range and has the right number of decimals. */
  meant(told: ParameterVector): ParameterVector;
}

/** What models trained on the `compact` set can read: values from −6.0 to 6.0, each a single token. */
const compactRange = { low: -6, high: 6, decimals: 1 } as const;

/** The `compact` set maps ranges to the one its models were trained on; integers and other sets are unchanged. */
export function tellingOf(spec: ParameterSpec, set: string): Telling {
  const { high, low } = compactRange;
  const isOwn = spec.low === low && spec.high === high && spec.decimals === compactRange.decimals;
  if (set !== 'compact' || spec.kind === 'integer' || isOwn) {
    const same = (parameters: ParameterVector) => parameters;
    return { spec, tell: same, meant: same };
  }
  const factor = (high - low) / (spec.high - spec.low);
  const rounded = (value: number, decimals: number) => Number(value.toFixed(decimals)) + 0;
  return {
    spec: { ...spec, ...compactRange },
    tell: (parameters) =>
      parameters.map((value) => rounded(low + (value - spec.low) * factor, compactRange.decimals)),
    meant: (told) => told.map((value) => rounded(spec.low + (value - low) / factor, spec.decimals)),
  };
}

/** Parses an answer like `parseParameters` and decodes it. `seen` is checked for the decoded parameters. */
export function parseTold(reply: string, { meant, spec }: Telling, context: ParseContext = {}): ParseResult {
  const { seen } = context;
  const read = parseParameters(reply, spec, {
    ...context,
    ...(seen && { seen: (told: ParameterVector) => seen(meant(told)) }),
  });
  return read.ok ? { ...read, value: meant(read.value) } : read;
}
