/** Writes policies in prompts, and reads them from replies. */
import type { ParameterSpec, ParameterVector, PolicyFamily } from '../../policies/policy.js';
import { programsOf } from '../../policies/policy.js';
import type { ProgramLibrary } from '../../policies/program/library.js';
import type { ParseContext, ParseResult } from '../answer/failure.js';
import { parseParameters } from '../answer/parse.js';
import { readProgram } from '../answer/program.js';
import { type AnswerForm, formatParameters, writeAnswer } from './grammar.js';

export interface Encoding {
  readonly spec: ParameterSpec;
  /** Converts parameters to the values that prompts show; one-to-one up to rounding. */
  encode(parameters: ParameterVector): ParameterVector;
  /** The inverse of `encode`; the result is within the range and has the required number of decimals. */
  decode(encoded: ParameterVector): ParameterVector;
  /** Writes a policy, with this separator between its parameters. */
  text(parameters: ParameterVector, separator?: string): string;
  /** Writes an evaluation: a policy and its score. */
  line(parameters: ParameterVector, score: string): string;
  /** Writes only the score of an evaluation. */
  result(score: string): string;
  /** Writes an answer that proposes a policy. */
  answer(parameters: ParameterVector, form: AnswerForm, reason?: string): string;
  /** Reads the answer in a reply; the inverse of `answer`. `seen` receives the decoded parameters. */
  read(reply: string, context?: ParseContext): ParseResult;
}

/** The values that models trained on the `compact` set can read: −6.0 to 6.0, each a single token. */
const compactRange = { low: -6, high: 6, decimals: 1 } as const;

/** Selects the encoding of a family's policies. */
export function encodingFor(family: Pick<PolicyFamily, 'description' | 'parameters'>, set: string): Encoding {
  const programs = programsOf(family);
  return programs === undefined
    ? encodingForSpec(family.parameters, set)
    : programEncoding(family.parameters, programs);
}

/** For the `compact` set, maps values to the range that its models were trained on; integers stay unchanged. */
export function encodingForSpec(spec: ParameterSpec, set: string): Encoding {
  const { high, low } = compactRange;
  const hasCompactRange = spec.low === low && spec.high === high && spec.decimals === compactRange.decimals;
  if (set !== 'compact' || spec.kind === 'integer' || hasCompactRange) {
    const identity = (parameters: ParameterVector) => parameters;
    return numericEncoding(spec, identity, identity);
  }
  const factor = (high - low) / (spec.high - spec.low);
  const rounded = (value: number, decimals: number) => Number(value.toFixed(decimals)) + 0;
  return numericEncoding(
    { ...spec, ...compactRange },
    (parameters) =>
      parameters.map((value) => rounded(low + (value - spec.low) * factor, compactRange.decimals)),
    (encoded) => encoded.map((value) => rounded(spec.low + (value - low) / factor, spec.decimals)),
  );
}

/** Writes programs as code blocks. */
function programEncoding(spec: ParameterSpec, programs: ProgramLibrary): Encoding {
  const text = (parameters: ParameterVector) => codeBlock(programs.program(parameters).source);
  const identity = (parameters: ParameterVector) => parameters;
  return {
    spec,
    encode: identity,
    decode: identity,
    text,
    line: (parameters, score) => `Mean return ${score}:\n${text(parameters)}`,
    result: (score) => `Mean return: ${score}`,
    answer: (parameters, _form, reason = '') => `${text(parameters)}${reason === '' ? '' : `\n${reason}`}`,
    read: (reply, context) => readProgram(reply, programs, context),
  };
}

/** @param decode returns parameters within the range, with the required number of decimals */
function numericEncoding(
  spec: ParameterSpec,
  encode: Encoding['encode'],
  decode: Encoding['encode'],
): Encoding {
  const text: Encoding['text'] = (parameters, separator) =>
    formatParameters(encode(parameters), spec, separator);
  return {
    spec,
    encode,
    decode,
    text,
    line: (parameters, score) => `${text(parameters, '; ')}; f(params): ${score}`,
    result: (score) => `f(params): ${score}`,
    answer: (parameters, form, reason) => writeAnswer(encode(parameters), spec, form, reason),
    read(reply, context = {}) {
      const { seen } = context;
      const result = parseParameters(reply, spec, {
        ...context,
        ...(seen && { seen: (encoded: ParameterVector) => seen(decode(encoded)) }),
      });
      return result.ok ? { ...result, value: decode(result.value) } : result;
    },
  };
}

const codeBlock = (source: string) => `\`\`\`js\n${source.trimEnd()}\n\`\`\``;
