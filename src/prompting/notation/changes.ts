/** Answers in the form of changes to a parent's parameters (`proposal.form: delta`). */
import type { AnswerGrammar } from '../../models/language-model.js';
import type { ParameterSpec, ParameterVector } from '../../policies/policy.js';
import { type ParseContext, type ParseResult, parseParameters } from '../answer/parse.js';
import { type AnswerForm, answerGrammar, exampleAnswer, formatValue } from './grammar.js';

/** Name of the values in answers that are changes. */
export const changeName = 'delta';

/** Example: `delta[0]: <number>, …`. */
export const exampleChanges = (spec: ParameterSpec): string => asChanges(exampleAnswer(spec));

/** Grammar of answers that are changes; no change exceeds the width of the range. */
export function changesGrammar(spec: ParameterSpec, form?: AnswerForm): AnswerGrammar {
  const { choices: _choices, ...range } = spec;
  const span = Number((range.high - range.low).toFixed(range.decimals));
  const { labels, ...grammar } = answerGrammar({ ...range, low: -span, high: span }, form);
  return { ...grammar, labels: labels.map(asChanges), mention: changeName, key: changeName };
}

const asChanges = (text: string) => text.replaceAll(/params(?=\[|": \[)/g, changeName);

/** Adds a reply's changes to the parent's parameters; the sums must be within the range. */
export function parseChanges(
  reply: string,
  parent: ParameterVector,
  spec: ParameterSpec,
  context: ParseContext = {},
): ParseResult {
  const { decimals, high, low } = spec;
  const { seen } = context;
  const sumsOf = (changes: ParameterVector) =>
    changes.map((change, i) => Number((parent[i]! + change).toFixed(decimals)) + 0);
  const read = parseParameters(
    renamed(reply),
    { ...spec, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY },
    { ...context, ...(seen && { seen: (changes: ParameterVector) => seen(sumsOf(changes)) }) },
  );
  if (!read.ok) return read;
  const value = sumsOf(read.value);
  const outside = value.flatMap((sum, index) =>
    sum >= low && sum <= high
      ? []
      : [{ index, text: `${read.value[index]}, which makes params[${index}] ${formatValue(sum, decimals)}` }],
  );
  return outside.length > 0
    ? { ok: false, failure: { kind: 'range', values: outside, low, high } }
    : { ...read, value };
}

/** Renames `delta` to `params`, which the parser looks for, and `params` to a name that it ignores. */
const renamed = (reply: string): string =>
  reply
    .replaceAll(/\b\w{0,24}params?(?=["']?\s{0,4}[[(:=])|\bparameters?(?=["']?\s{0,4}[[(:=])/gi, 'old')
    .replaceAll(/\b(?:deltas?|changes)(?=["']?\s{0,4}[[(:=])/gi, 'params');
