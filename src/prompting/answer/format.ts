import type { FinishReason } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { chooseAnswer } from './answer-choice.js';
import type { Run } from './reply-runs.js';
import { answerText, scanReply, type Value } from './reply-scanner.js';

/**
 * Why a reply could not be taken as parameters. A model's bad reply is data, not an error: it is logged, counted,
 * and told back to the model by the format-correction prompt.
 */
export type ParseFailure =
  /** No parameters found at all. */
  | { readonly kind: 'missing' }
  /** Some indices are absent, or there are too many. */
  | {
      readonly kind: 'count';
      readonly expected: number;
      readonly found: number;
      readonly absent: readonly number[];
      readonly unknown: readonly number[];
    }
  /** A value outside the range, or not among the choices. */
  | {
      readonly kind: 'range';
      readonly values: readonly IndexedText[];
      readonly low: number;
      readonly high: number;
      readonly choices?: readonly number[];
    }
  /** More digits after the decimal point than allowed. */
  | { readonly kind: 'decimals'; readonly values: readonly IndexedText[]; readonly decimals: number }
  /** An index was given twice with different values. */
  | { readonly kind: 'duplicate-index'; readonly indices: readonly number[] }
  /** NaN, Infinity, or something that is no number. */
  | { readonly kind: 'not-finite'; readonly values: readonly IndexedText[] }
  /** These parameters were evaluated before. */
  | { readonly kind: 'repeated'; readonly iteration?: number; readonly score?: number }
  /** The reply was cut at its token limit before the answer was complete. */
  | { readonly kind: 'truncated' }
  /** The reply only quotes the prompt: history lines or the format example. */
  | { readonly kind: 'echo' };

export interface IndexedText {
  readonly index: number;
  readonly text: string;
}

export type ParseFailureKind = ParseFailure['kind'];

export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: E };

// How parameters are written in prompts and read from replies: inverses of each other.

/** What is known of parameters that were evaluated before. */
export interface SeenParameters {
  readonly iteration?: number;
  readonly score?: number;
}

export interface ParseContext {
  /** Tells whether these parameters were evaluated before, or proposed in the same group. */
  readonly seen?: (parameters: ParameterVector) => SeenParameters | undefined;
  /** Why the model stopped. */
  readonly finishReason?: FinishReason;
}

/** One value with exactly `decimals` digits after the point; never `-0`. */
export function formatValue(value: number, decimals: number): string {
  const text = value.toFixed(decimals);
  return text.startsWith('-') && Number(text) === 0 ? text.slice(1) : text;
}

/** `params[0]: 1.2, params[1]: -0.5`: the answer format. */
export function formatParameters(parameters: ParameterVector, spec: ParameterSpec, separator = ', '): string {
  return parameters.map((value, i) => `params[${i}]: ${formatValue(value, spec.decimals)}`).join(separator);
}

/** The answer format with placeholders, which the parser takes for no answer. */
export function exampleAnswer({ count, kind }: Pick<ParameterSpec, 'count' | 'kind'>): string {
  const shown = count <= 4 ? Array.from({ length: count }, (_, i) => i) : [0, 1, count - 1];
  const items = shown.map((i) => `params[${i}]: <${kind === 'integer' ? 'integer' : 'number'}>`);
  if (count > 4) items.splice(2, 0, '...');
  return items.join(', ');
}

/**
 * Reads the parameters from a reply, strictly by index; `chooseAnswer` tells which of several are meant. Mentions of
 * single parameters beside the answer don't matter. Linear in the length of the reply; never throws; never gives
 * a number that is not finite.
 */
export function parseParameters(
  reply: string,
  spec: ParameterSpec,
  context: ParseContext = {},
): Result<ParameterVector, ParseFailure> {
  const { text: spoken, unclosedThinking } = answerText(reply, spec.count);
  const text = jsonAnswer(spoken) ?? spoken;
  const cut = context.finishReason === 'length' || unclosedThinking;
  const { answer, largest, echoes } = chooseAnswer(text, spec.count, (run) => {
    const vector = numbersOf(run, spec.count);
    return vector !== undefined && context.seen?.(vector) === undefined;
  });
  // A number at the very end of a reply that was cut may lack digits.
  const lacksDigits =
    answer !== undefined && cut && ['', '.'].includes(text.slice(answer.end, answer.end + 2));
  if (answer !== undefined && !lacksDigits) return validate(answer, spec, context);
  if (cut) return failed({ kind: 'truncated' });
  if (largest !== undefined) return failed(countFailure(largest, spec.count));
  return failed({ kind: echoes ? 'echo' : 'missing' });
}

/**
 * Takes from a reply that is one JSON object its `params` (or `parameters`) alone: what its reason quotes is no answer.
 */
function jsonAnswer(text: string): string | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith('{') || !trimmed.endsWith('}')) return undefined;
  try {
    const object = JSON.parse(trimmed) as { readonly params?: unknown; readonly parameters?: unknown };
    const params = object.params ?? object.parameters;
    return typeof params === 'object' && params !== null ? JSON.stringify({ params }) : undefined;
  } catch {
    return undefined;
  }
}

const failed = (failure: ParseFailure): Result<never, ParseFailure> => ({ ok: false, failure });

/** The vector of a complete run, where all its values are numbers. */
function numbersOf(run: Run, count: number): ParameterVector | undefined {
  if (run.conflicts.length > 0) return undefined;
  const vector: number[] = [];
  for (let i = 0; i < count; i++) {
    const value = run.values.get(i);
    if (value?.kind !== 'number') return undefined;
    vector.push(value.value);
  }
  return vector;
}

function countFailure(run: Run, count: number): ParseFailure {
  const absent: number[] = [];
  for (let i = 0; i < count; i++) if (!run.values.has(i)) absent.push(i);
  return { kind: 'count', expected: count, found: run.found, absent, unknown: run.unknown };
}

function validate(
  run: Run,
  spec: ParameterSpec,
  context: ParseContext,
): Result<ParameterVector, ParseFailure> {
  const { low, high, decimals, choices } = spec;
  if (run.conflicts.length > 0) {
    const indices = run.conflicts.toSorted((a, b) => a - b);
    return failed({ kind: 'duplicate-index', indices });
  }
  const notFinite = textsWhere(run, (value) => value.kind !== 'number');
  if (notFinite.length > 0) return failed({ kind: 'not-finite', values: notFinite });
  const outside = textsWhere(run, (value) => value.kind === 'number' && !isAllowed(value.value, spec));
  if (outside.length > 0) {
    return failed({ kind: 'range', values: outside, low, high, ...(choices !== undefined && { choices }) });
  }
  const tooFine = textsWhere(
    run,
    (value) => value.kind === 'number' && Number(value.value.toFixed(decimals)) !== value.value,
  );
  if (tooFine.length > 0) return failed({ kind: 'decimals', values: tooFine, decimals });
  const vector = numbersOf(run, spec.count)!;
  const seen = context.seen?.(vector);
  if (seen !== undefined) return failed({ kind: 'repeated', ...seen });
  return { ok: true, value: vector };
}

function isAllowed(value: number, { low, high, choices }: ParameterSpec): boolean {
  return choices === undefined ? value >= low && value <= high : choices.includes(value);
}

/** The values, as the reply wrote them, for which `test` holds, by ascending index. */
function textsWhere(run: Run, test: (value: Value) => boolean): readonly IndexedText[] {
  const found: IndexedText[] = [];
  for (const [index, value] of run.values) {
    if (test(value)) found.push({ index, text: value.kind === 'placeholder' ? '?' : value.text });
  }
  return found.toSorted((a, b) => a.index - b.index);
}

/** Keys under which JSON answers give their reason. */
const reasonKey = /"(?:reason|reasoning|explanation|rationale)"\s{0,8}:\s{0,8}"/i;

/**
 * What the model said beside the parameters, as one line of at most `limit` characters; empty when it said
 * nothing. For reports: nothing depends on it.
 */
export function statedReason(reply: string, limit = 600): string {
  const { text } = answerText(reply, 0);
  const inJson = reasonKey.exec(text);
  if (inJson !== null) return tidy(jsonString(text, inJson.index + inJson[0].length), limit);
  let count = 0;
  scanReply(text, 1, (found) => {
    if (found.kind === 'assignment') count = Math.max(count, found.index + 1);
  });
  const { answer, largest } = chooseAnswer(text, count, () => true);
  const run = answer ?? largest;
  if (run === undefined) return tidy(text, limit);
  return tidy(`${text.slice(0, run.start)}\n${text.slice(run.end, run.end + 4 * limit)}`, limit);
}

/** The content of the JSON string that starts at `from`, even when the text ends within it. */
function jsonString(text: string, from: number): string {
  let end = from;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  try {
    return JSON.parse(`"${text.slice(from, end)}"`) as string;
  } catch {
    return text.slice(from, end);
  }
}

/** One line, without what decorated the answer and without the label before the reason. */
function tidy(text: string, limit: number): string {
  const line = text
    .slice(0, 8 * limit)
    .split('\n')
    .map((part) => part.trim())
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .join(' ')
    .replace(/^[\s*_`#>.,;|-]+/, '')
    .replace(/^(?:reason|reasoning|explanation|rationale)\s{0,4}[*_]{0,3}\s{0,4}:[*_\s]*/i, '')
    .trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}
