/** How parameters are written in prompts and read from replies: the two are inverses. */
import type { FinishReason } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { mark, newline, skip, space } from './characters.js';
import { findRuns, listRun, type Run, sameValue } from './reply-runs.js';
import { scanBareLists, type Value } from './reply-scanner.js';
import { answerText, jsonAnswer } from './reply-text.js';

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
  /** The reply was cut at its token limit before the answer was complete. */
  | { readonly kind: 'truncated' }
  /** The reply only quotes the prompt: history lines or the format example. */
  | { readonly kind: 'echo' };

export interface IndexedText {
  readonly index: number;
  readonly text: string;
}

export type ParseFailureKind = ParseFailure['kind'];

type Result<T, E> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly failure: E };

/** What is known of parameters that were evaluated before. */
export interface SeenParameters {
  readonly iteration?: number;
  readonly score?: number;
}

interface ParseContext {
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
  const { text: whole, unclosedThinking } = answerText(reply, spec.count);
  const text = jsonAnswer(whole) ?? whole;
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

const failed = (failure: ParseFailure): Result<never, ParseFailure> => ({ ok: false, failure });

interface Choice {
  /** A run that gives every index. */
  readonly answer?: Run;
  /** The incomplete run with the most indices, the last on ties. */
  readonly largest?: Run;
  /** Whether the reply quotes history lines or the example of the format. */
  readonly echoes: boolean;
}

/**
 * Chooses the run that is the answer: the first of these that there is. History lines and the format's example that
 * the reply quotes never count.
 * 1. the run that the reply starts with, when it is complete;
 * 2. the last complete run that is new; one that starts its line or follows a colon goes before one within a sentence;
 * 3. the last complete run;
 * 4. all assignments of the reply together, where they don't contradict each other;
 * 5. in a reply with nothing else, a bare list of numbers;
 * 6. a complete run of words, which is no answer but shows what went wrong.
 * @param isNew whether a run gives numbers that were not evaluated before
 */
export function chooseAnswer(text: string, count: number, isNew: (run: Run) => boolean): Choice {
  let bare = true;
  let echoes = false;
  let first: Run | undefined;
  let lastHeadedNew: Run | undefined;
  let lastNew: Run | undefined;
  let last: Run | undefined;
  let largest: Run | undefined;
  let worded: Run | undefined;
  const incomplete: Run[] = [];
  const visit = (run: Run): void => {
    bare &&= run.worded;
    if (run.example || run.quoted) {
      echoes = true;
    } else if (run.worded) {
      if (run.complete) worded = run;
    } else if (!run.complete) {
      incomplete.push(run);
      if (largest === undefined || run.found >= largest.found) largest = run;
    } else {
      if (run.first) first = run;
      last = run;
      if (!isNew(run)) return;
      lastNew = run;
      if (run.headed) lastHeadedNew = run;
    }
  };
  findRuns(text, count, visit);
  if (bare) visitBareLists(text, count, visit);
  const answer = first ?? lastHeadedNew ?? lastNew ?? last ?? scattered(incomplete, count) ?? worded;
  return { echoes, ...(answer && { answer }), ...(largest && { largest }) };
}

function visitBareLists(text: string, count: number, visit: (run: Run) => void): void {
  const contentStart = skip(text, 0, space | newline | mark);
  scanBareLists(text, count, (list) => {
    // A few numbers in a row are no attempt at an answer.
    if (2 * list.length < count) return;
    visit(listRun(list, count, { first: list.start === contentStart, leading: true, introduced: false }));
  });
}

/** The assignments that stand apart in a reply, one a paragraph or under headings, as one run. */
function scattered(runs: readonly Run[], count: number): Run | undefined {
  const values = new Map<number, Value>();
  for (const run of runs) {
    if (run.conflicts.length > 0 || run.unknown.length > 0 || run.kind === 'list') return undefined;
    for (const [index, value] of run.values) {
      const earlier = values.get(index);
      if (value.kind !== 'number' || (earlier !== undefined && !sameValue(earlier, value))) return undefined;
      values.set(index, value);
    }
  }
  return runs.length > 0 && values.size === count ? { ...runs.at(-1)!, values, complete: true } : undefined;
}

const indicesBelow = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The vector of a complete run, where all its values are numbers. */
function numbersOf(run: Run, count: number): ParameterVector | undefined {
  if (run.conflicts.length > 0) return undefined;
  const values = indicesBelow(count).map((i) => run.values.get(i));
  return values.every((value) => value?.kind === 'number') ? values.map(({ value }) => value) : undefined;
}

function countFailure({ found, unknown, values }: Run, count: number): ParseFailure {
  const absent = indicesBelow(count).filter((i) => !values.has(i));
  return { kind: 'count', expected: count, found, absent, unknown };
}

function validate(
  run: Run,
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
function textsWhere(run: Run, test: (value: Value) => boolean): readonly IndexedText[] {
  return [...run.values]
    .filter(([, value]) => test(value))
    .map(([index, value]) => ({ index, text: value.kind === 'placeholder' ? '?' : value.text }))
    .toSorted((a, b) => a.index - b.index);
}
