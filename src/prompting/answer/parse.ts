import { answerText } from '../../models/answer-text.js';
import type { FinishReason } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import type { ProgramFailure } from '../../programs/program.js';
import { findSets, type NumberSet } from './sets.js';
import { isPlaceholder, isWord } from './values.js';

/** Why a reply has no usable parameters. Failures are logged, counted and explained to the model, not thrown. */
export type ParseFailure =
  | { kind: 'missing' }
  | { kind: 'count'; expected: number; found: number; absent: readonly number[]; unknown: readonly number[] }
  /** Some values are outside the range or not among the choices. */
  | { kind: 'range'; values: readonly IndexedText[]; low: number; high: number; choices?: readonly number[] }
  | { kind: 'decimals'; values: readonly IndexedText[]; decimals: number }
  | { kind: 'duplicate-index'; indices: readonly number[] }
  | { kind: 'not-finite'; values: readonly IndexedText[] }
  | ({ kind: 'repeated' } & SeenParameters)
  /** The revision is further than `critic.distance` from the original parameters. */
  | { kind: 'too-far'; distance: number; most: number }
  /** The program has a syntax error, fails or exceeds a limit when it runs, or an edit to it doesn't apply. */
  | ({ kind: 'program' } & ProgramFailure)
  /** The reply ends before the answer is complete, usually because of the token limit. */
  | { kind: 'truncated' }
  /** The reply only repeats the prompt's parameters or format example. */
  | { kind: 'echo' };

export type IndexedText = { readonly index: number; readonly text: string };

export type ParseFailureKind = ParseFailure['kind'];

/** The parameters in a reply and, if stated, the score that the model predicts for them. */
export type ParseResult =
  | { readonly ok: true; readonly value: ParameterVector; readonly predicted?: number }
  | { readonly ok: false; readonly failure: ParseFailure };

export type SeenParameters = {
  readonly iteration?: number;
  readonly score?: number;
  /** What a program shares with the earlier one if the two aren't identical. */
  readonly same?: 'actions' | 'structure';
};

export interface ParseContext {
  /** Finds earlier uses of these parameters: in an evaluation, or in the same iteration. */
  readonly seen?: (parameters: ParameterVector) => SeenParameters | undefined;
  readonly finishReason?: FinishReason;
  /** True if `answerGrammar` was enforced: the list in that form is the answer, regardless of the text around it. */
  readonly constrained?: boolean | undefined;
}

type Candidate = Readonly<{ set: NumberSet; result: ParseResult }>;

/**
 * Parses the parameters in a reply. Among complete sets that are new, prefers one in the requested form and place, then
 * the last. Takes linear time, never throws, and never returns a number that isn't in the reply.
 */
export function parseParameters(reply: string, spec: ParameterSpec, context: ParseContext = {}): ParseResult {
  const held = context.constrained ? grammarAnswer(reply, spec.count) : undefined;
  const { text, unclosedThinking } = answerText(held ?? reply.slice(0, 2_000_000));
  const { isUnfinished, sets } = findSets(text, spec.count);
  const isCut = unclosedThinking || (context.finishReason === 'length' && reply.endsWith(held ?? ''));
  const indices = indicesBelow(spec.count);
  const isExample = ({ values }: NumberSet) => [...values.values()].every(isPlaceholder);
  const isLegend = ({ values }: NumberSet) => [...values.values()].some(isWord);
  const written = sets.filter((set) => !isExample(set) && !isLegend(set) && set.rank >= 0);
  const complete = written
    .filter(({ values }) => values.size === spec.count && indices.every((i) => values.has(i)))
    .map((set) => ({ set, result: validate(set, spec, context) }));
  const isKnown = ({ result }: Candidate) => !result.ok && result.failure.kind === 'repeated';
  // Sets on their own lines rank higher if they are valid; ties go to the last set.
  const weight = ({ result, set }: Candidate) => set.rank + (result.ok ? (set.rank > 2.7 ? 3 : 0.1) : 0);
  const chosen = complete
    .filter((one) => !isKnown(one))
    .toSorted((a, b) => weight(a) - weight(b))
    .at(-1);
  // The last number of a truncated reply may be missing digits.
  const isTorn = isCut && chosen && /^\d\.?$/.test(text.slice(chosen.set.end - 1, chosen.set.end + 2));
  if (chosen && !isTorn) return chosen.result;
  if (isTorn || ((isCut || isUnfinished) && complete.length === 0)) return failed({ kind: 'truncated' });
  if (complete.length > 0) {
    const vectors = new Set(complete.map(({ set }) => indices.map((i) => set.values.get(i)!.number).join()));
    return vectors.size === 1 ? complete[0]!.result : failed({ kind: 'echo' });
  }
  const isAttempt = ({ naming, rank }: NumberSet) => naming === 'params' || (naming === 'none' && rank >= 2);
  const attempts = written.filter(isAttempt);
  const [largest] = attempts.toSorted((a, b) => b.values.size - a.values.size);
  if (largest !== undefined) {
    const absent = indices.filter((i) => !largest.values.has(i));
    const unknown = [...largest.values.keys()].filter((i) => i >= spec.count).toSorted((a, b) => a - b);
    return failed({ kind: 'count', expected: spec.count, found: largest.values.size, absent, unknown });
  }
  if (sets.some((set) => isExample(set) || set.rank < 0)) return failed({ kind: 'echo' });
  const legend = sets.find(({ values }) => indices.every((i) => values.has(i)));
  return legend === undefined ? failed({ kind: 'missing' }) : validate(legend, spec, context);
}

/** Extracts the answer from a reply generated under `answerGrammar`, without the free text before or after it. */
function grammarAnswer(text: string, count: number): string | undefined {
  const json = /(?<!\\)"params"\s*:\s*(\[[^[\]]*\])/.exec(text)?.[1];
  if (json !== undefined) return json;
  const [first, last] = ['params[0]:', `params[${count - 1}]:`];
  const start = text.trimStart().startsWith(first) ? text.indexOf(first) : text.lastIndexOf(first);
  const at = start < 0 ? -1 : text.indexOf(last, start) + last.length;
  const value = at < last.length ? null : /^ ?-?\d+(?:\.\d+)?/.exec(text.slice(at, at + 64));
  return value === null ? undefined : text.slice(start, at + value[0].length);
}

const failed = (failure: ParseFailure): { ok: false; failure: ParseFailure } => ({ ok: false, failure });
const indicesBelow = (count: number) => Array.from({ length: count }, (_, i) => i);

function validate(set: NumberSet, spec: ParameterSpec, { seen }: ParseContext): ParseResult {
  const { low, high, decimals, choices } = spec;
  const { conflicts, predicted } = set;
  if (conflicts.length > 0)
    return failed({ kind: 'duplicate-index', indices: conflicts.toSorted((a, b) => a - b) });
  const written = indicesBelow(spec.count).map((index) => ({ index, ...set.values.get(index)! }));
  const textsWhere = (test: (number: number) => boolean): readonly IndexedText[] =>
    written.flatMap(({ index, number = Number.NaN, text }) => (test(number) ? [{ index, text }] : []));
  const [notFinite, outside, tooFine] = [
    textsWhere(Number.isNaN),
    textsWhere((number) => (choices ? !choices.includes(number) : number < low || number > high)),
    textsWhere((number) => Number(number.toFixed(decimals)) !== number),
  ];
  if (notFinite.length > 0) return failed({ kind: 'not-finite', values: notFinite });
  if (outside.length > 0)
    return failed({ kind: 'range', values: outside, low, high, ...(choices && { choices }) });
  if (tooFine.length > 0) return failed({ kind: 'decimals', values: tooFine, decimals });
  const value = written.map(({ number }) => number!);
  const before = seen?.(value);
  if (before !== undefined) {
    // `before` may be a buffer entry; a failure must not contain its other fields.
    const { iteration, score } = before;
    const known = { ...(iteration !== undefined && { iteration }), ...(score !== undefined && { score }) };
    return failed({ kind: 'repeated', ...known });
  }
  return { ok: true, value, ...(predicted !== undefined && { predicted }) };
}
