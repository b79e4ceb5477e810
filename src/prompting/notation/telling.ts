/** How the parameters of a policy are told and answered: as they are, or on the scale of the set `compact`. */
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { type ParseContext, type ParseResult, parseParameters } from '../answer/parse.js';

/** A one-to-one view of parameters, but for rounding. */
export interface Telling {
  /** What prompts say that the parameters may be. */
  readonly spec: ParameterSpec;
  tell(parameters: ParameterVector): ParameterVector;
  /** The parameters that an answer means: within their range, with their decimals. */
  meant(told: ParameterVector): ParameterVector;
}

/** What models of the set `compact` have learnt to read: values from −6.0 to 6.0, each a token. */
const compactRange = { low: -6, high: 6, decimals: 1 } as const;

/**
 * The set `compact` tells every range of numbers as the one that its models were trained on, so that they search any box.
 * Integers, and the parameters of all other sets, are told as they are.
 * @param set as `prompts.set` has it
 */
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

/** Reads an answer as `parseParameters` does; parameters were seen before if what the answer means was. */
export function parseTold(reply: string, { meant, spec }: Telling, context: ParseContext = {}): ParseResult {
  const { seen } = context;
  const read = parseParameters(reply, spec, {
    ...context,
    ...(seen && { seen: (told: ParameterVector) => seen(meant(told)) }),
  });
  return read.ok ? { ...read, value: meant(read.value) } : read;
}
