/** How parameters are written in prompts and read from replies: the two are inverses. */
import type { FinishReason } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import type { NumberSet } from './number-set.js';
import { readAnswer } from './reading.js';
import { answerText } from './reply-text.js';
import type { Value } from './values.js';

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
  | ({ readonly kind: 'repeated' } & SeenParameters)
  /** They are closer to parameters that were evaluated, or proposed in the same group, than `novelty.distance`. */
  | ({ readonly kind: 'too-close'; readonly distance: number; readonly least: number } & SeenParameters)
  /** They change more of what they revise than `critic.distance`. */
  | { readonly kind: 'too-far'; readonly distance: number; readonly most: number }
  /** Feedback was asked for, and the reply holds neither a rating nor a remark. */
  | { readonly kind: 'no-feedback' }
  /** The reply was cut at its token limit before the answer was complete. */
  | { readonly kind: 'truncated' }
  /** The reply only quotes: history lines, the format example, or what it calls earlier parameters. */
  | { readonly kind: 'echo' }
  /** The reply can be read in two ways. */
  | { readonly kind: 'ambiguous'; readonly readings: readonly [string, string] };

export interface IndexedText {
  readonly index: number;
  readonly text: string;
}

export type ParseFailureKind = ParseFailure['kind'];

type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: E };

/** What a reply says. */
export type ParseResult = Result<ParameterVector, ParseFailure>;

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
  /** Whether the reply was held to `answerGrammar`: its list is the answer, whatever words stand around it. */
  readonly constrained?: boolean | undefined;
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
 * Reads the parameters from a reply, strictly by index. It accepts a reply only where one reading is left: a set counts
 * that is a whole line, list, table or object and the answer by its place, and after each value only a delimiter may
 * come. Linear in the length of the reply; never throws; never gives a number that is not finite.
 */
export function parseParameters(reply: string, spec: ParameterSpec, context: ParseContext = {}): ParseResult {
  const list = context.constrained ? grammarList(reply, spec.count) : undefined;
  const { text, unclosedThinking } =
    list === undefined ? answerText(reply) : { text: list, unclosedThinking: false };
  const reading = readAnswer(text, spec.count);
  const cut =
    (context.finishReason === 'length' && (list === undefined || reply.endsWith(list))) || unclosedThinking;
  if (reading.kind === 'none') {
    if (cut) return failed({ kind: 'truncated' });
    if (reading.largest !== undefined) return failed(countFailure(reading.largest, spec.count));
    return failed({ kind: reading.echoes ? 'echo' : 'missing' });
  }
  // A number at the very end of a reply that was cut may lack digits.
  if (cut && ['', '.'].includes(text.slice(reading.set.end, reading.set.end + 2)))
    return failed({ kind: 'truncated' });
  if (reading.kind === 'ambiguous') return failed({ kind: 'ambiguous', readings: reading.readings });
  return validate(reading.set, spec, context);
}

/** The list that a model wrote under `answerGrammar`, alone. */
function grammarList(text: string, count: number): string | undefined {
  const start = text.lastIndexOf('params[0]:');
  const label = `params[${count - 1}]:`;
  const last = start < 0 ? -1 : text.indexOf(label, start);
  const value =
    last < 0 ? null : /^ ?-?\d+(?:\.\d+)?/.exec(text.slice(last + label.length, last + label.length + 64));
  return value === null ? undefined : text.slice(start, last + label.length + value[0].length);
}

const failed = (failure: ParseFailure): Result<never, ParseFailure> => ({ ok: false, failure });

const indicesBelow = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The vector of a complete run, where all its values are numbers. */
function numbersOf(run: NumberSet, count: number): ParameterVector | undefined {
  if (run.conflicts.length > 0) return undefined;
  const values = indicesBelow(count).map((i) => run.values.get(i));
  return values.every((value) => value?.kind === 'number') ? values.map(({ value }) => value) : undefined;
}

function countFailure({ found, unknown, values }: NumberSet, count: number): ParseFailure {
  const absent = indicesBelow(count).filter((i) => !values.has(i));
  return { kind: 'count', expected: count, found, absent, unknown };
}

function validate(
  run: NumberSet,
  spec: ParameterSpec,
  context: ParseContext,
): Result<ParameterVector, ParseFailure> {
  const { low, high, decimals, choices } = spec;
  if (run.conflicts.length > 0) {
    return failed({ kind: 'duplicate-index', indices: run.conflicts.toSorted((a, b) => a - b) });
  }
  const notFinite = textsWhere(run, ({ kind }) => kind !== 'number');
  if (notFinite.length > 0) return failed({ kind: 'not-finite', values: notFinite });
  const textsOf = (test: (value: number) => boolean) =>
    textsWhere(run, (value) => value.kind === 'number' && test(value.value));
  const outside = textsOf((value) => (choices ? !choices.includes(value) : value < low || value > high));
  if (outside.length > 0) {
    return failed({ kind: 'range', values: outside, low, high, ...(choices && { choices }) });
  }
  const tooFine = textsOf((value) => Number(value.toFixed(decimals)) !== value);
  if (tooFine.length > 0) return failed({ kind: 'decimals', values: tooFine, decimals });
  const vector = numbersOf(run, spec.count)!;
  const seen = context.seen?.(vector);
  return seen === undefined ? { ok: true, value: vector } : failed({ kind: 'repeated', ...seen });
}

/** The values, as the reply wrote them, for which `test` holds, by ascending index. */
function textsWhere(run: NumberSet, test: (value: Value) => boolean): readonly IndexedText[] {
  return [...run.values]
    .filter(([, value]) => test(value))
    .map(([index, value]) => ({ index, text: value.kind === 'placeholder' ? '?' : value.text }))
    .toSorted((a, b) => a.index - b.index);
}
