import { findAnswer } from '../../models/answer-text.js';
import type { ParameterSpec } from '../../policies/policy.js';
import { failWith, type IndexedText, type ParseContext, type ParseResult, repeatFailure } from './failure.js';
import { grammarAnswer } from './grammar-answer.js';

/** A value as written, cut to 24 characters; `number` is set only if it is a plain number. */
type Value = { readonly text: string; readonly number?: number };

type Span = { readonly start: number; end: number };

/** A set of values found in a reply, possibly incomplete. */
interface NumberSet extends Span {
  readonly values: Map<number, Value>;
  /** Indices given twice with different values. */
  readonly conflicts: Set<number>;
  /** True if the values have names, or the list has a name such as `params` or `answer`. */
  readonly isNamed: boolean;
}

/**
 * Parses the parameters in a reply: named values such as `params[3]: -1.5`, or a list of as many numbers as there are
 * parameters, in JSON or not. A complete set that wasn't seen before is a proposal. Of several, prefers valid ones,
 * then one after a word such as `final` or `answer`, then one that opens the reply, then one on a line of its own, then
 * the last. Takes linear time, never throws, and never returns a number that isn't in the reply.
 */
export function parseParameters(reply: string, spec: ParameterSpec, context: ParseContext = {}): ParseResult {
  const answer = context.constrained ? grammarAnswer(reply, spec.count) : undefined;
  const { text, hasUnclosedThinking } = findAnswer(answer ?? reply.slice(0, 2_000_000));
  const plain = plainText(text);
  const sets = numberSets(plain, spec.count);
  const indices = Array.from({ length: spec.count }, (_, i) => i);
  const isComplete = ({ values }: NumberSet) =>
    values.size === spec.count && indices.every((i) => values.has(i));
  const writtenSets = sets.filter(({ values }) =>
    [...values.values()].some((one) => one.number !== undefined),
  );
  const readings = writtenSets.filter(isComplete).map((set) => {
    const result = validate(set, plain, spec, context);
    return { set, result, weight: weightOf(set, plain, sets) + (result.ok ? 10 : 0) };
  });
  const chosen = readings
    .filter(({ result }) => result.ok || result.failure.kind !== 'repeated')
    .toSorted((a, b) => a.weight - b.weight)
    .at(-1);
  const isCut = hasUnclosedThinking || (context.finishReason === 'length' && reply.endsWith(answer ?? ''));
  // The last number of a truncated reply may lack digits.
  const isTorn = isCut && chosen !== undefined && /^[\d.]*$/.test(plain.slice(chosen.set.end - 1));
  if (chosen && !isTorn) return chosen.result;
  const isUnfinished = isCut || /[[(][\s\d.,+-]{2,}$/.test(plain.slice(-4000));
  if (isTorn || (isUnfinished && readings.length === 0)) return failWith({ kind: 'truncated' });
  if (readings.length > 0) {
    const vectors = new Set(readings.map(({ set }) => indices.map((i) => set.values.get(i)!.number).join()));
    return vectors.size === 1 ? readings[0]!.result : failWith({ kind: 'echo' });
  }
  const partialSets = writtenSets.filter(({ isNamed, values }) => isNamed || values.size > spec.count / 2);
  const [attempt] = partialSets.sort((a, b) => +b.isNamed - +a.isNamed || b.values.size - a.values.size);
  if (attempt !== undefined) {
    const absent = indices.filter((i) => !attempt.values.has(i));
    const unknown = [...attempt.values.keys()].filter((i) => i >= spec.count).sort((a, b) => a - b);
    return failWith({ kind: 'count', expected: spec.count, found: attempt.values.size, absent, unknown });
  }
  if (sets.some(({ values }) => [...values.values()].every((one) => placeholder.test(one.text))))
    return failWith({ kind: 'echo' });
  const textSet = sets.find(isComplete);
  return textSet === undefined ? failWith({ kind: 'missing' }) : validate(textSet, plain, spec, context);
}

/** Finds the most likely set of parameters in a text; undefined if there is none. */
export function findParameters(text: string): Readonly<Span> | undefined {
  const plain = plainText(text);
  const sets = numberSets(plain, 3);
  return sets.toSorted((a, b) => weightOf(b, plain, sets) - weightOf(a, plain, sets))[0];
}

function validate(set: NumberSet, plain: string, spec: ParameterSpec, { seen }: ParseContext): ParseResult {
  const { low, high, decimals, choices } = spec;
  if (set.conflicts.size > 0)
    return failWith({ kind: 'duplicate-index', indices: [...set.conflicts].sort((a, b) => a - b) });
  const entries = [...set.values]
    .map(([index, one]) => ({ index, ...one }))
    .sort((a, b) => a.index - b.index);
  const select = (test: (number: number) => boolean): readonly IndexedText[] =>
    entries.flatMap(({ index, number = Number.NaN, text }) => (test(number) ? [{ index, text }] : []));
  const notFinite = select(Number.isNaN);
  if (notFinite.length > 0) return failWith({ kind: 'not-finite', values: notFinite });
  const outside = select((number) => (choices ? !choices.includes(number) : number < low || number > high));
  if (outside.length > 0)
    return failWith({ kind: 'range', values: outside, low, high, ...(choices && { choices }) });
  const tooFine = select((number) => Number(number.toFixed(decimals)) !== number);
  if (tooFine.length > 0) return failWith({ kind: 'decimals', values: tooFine, decimals });
  const value = entries.map(({ number }) => number!);
  const earlierUse = seen?.(value);
  if (earlierUse !== undefined) return failWith(repeatFailure(earlierUse));
  const predicted = predictedScore(plain, set);
  return { ok: true, value, ...(predicted !== undefined && { predicted }) };
}

const predictionWords = '(?:predicted|expected|estimated)[ _]';
const scoreName = String.raw`(?:f ?\( ?param\w* ?\)|(?:${predictionWords}|mean )*(?:scored?|return|reward|fitness)|\bf(?= ?[:=]))["']?`;
const amount = String.raw`(?:[\s:=\u2248~]|is|of){0,8}([+-]?(?:\d+(?:\.\d+)?|\.\d+))`;
const scoreAfter = new RegExp(
  String.raw`^["'\s\]}),;|.(\u2014\u2192>-]{0,16}(?:with |an? |the ){0,2}["']?${scoreName}(?:${amount})?`,
  'i',
);
const prediction = new RegExp(String.raw`(?:["']${scoreName}\s{0,4}:|${predictionWords}\w+)${amount}`, 'i');

/** Finds the score predicted after a set or, as in histories of the `compact` prompt set, before it. */
function predictedScore(plain: string, { start, end }: NumberSet): number | undefined {
  const lead = plain.slice(Math.max(0, start - 40), start);
  const line = lead.slice(lead.lastIndexOf('\n') + 1);
  const tail = plain.slice(end, end + 400);
  const found = /^[\s>|]*(-?\d+(?:\.\d+)?)\s+$/.exec(line) ?? scoreAfter.exec(tail) ?? prediction.exec(tail);
  return found?.[1] === undefined ? undefined : Number(found[1]) + 0;
}

const mark = String.raw`[\s>"'_([{$#|+*\u2022-]*(?:(?:\d{1,3}|[a-z])[.)]\s+)?["'_([{$]*`;
const lineOpening = new RegExp(String.raw`(?:^|\n)${mark}(?:[^\n]*[:=]\s*["'_([{$]*)?$`, 'i');
const replyOpening = new RegExp(String.raw`^${mark}(?:-?[\d.]+\s+|param\w*["']?\s*[:=]\s*)?$`, 'i');
const announcement =
  /\b(?:final|new param\w*|new propos\w*)\b[^.!?]*$|\banswer(?: is)?\s*(?:[:=]\s*)?["'_([{$]*$/i;
const lineEnd = /^["'\s)\]}.,;|$]*(?:$|#|\/\/|\(|-{1,2} |\u2014|["'][\w ]+["']\s*:)/m;

/** Ranks a set from 0 to 3: highest after a word like `final`, then at the start of the reply, then on its own line. */
function weightOf(set: NumberSet, plain: string, sets: readonly NumberSet[]): number {
  const lead = plain.slice(Math.max(0, set.start - 160), set.start);
  const tail = plain.slice(set.end, set.end + 160);
  const isFirst = set === sets[0] && set.start < 160 && replyOpening.test(lead);
  if (announcement.test(lead)) return 3;
  if (scoreAfter.test(tail)) return isFirst ? 1 : 0;
  if (!lineEnd.test(tail)) return 0;
  return isFirst ? 2 : lineOpening.test(lead) ? 1 : 0;
}

const signs = '*`\u201c\u201d\uff0c\u3001\uff1b\u3002\uff1a\uff1d\uff08\uff09\u2028\u2029';
const plainSigns = '\t\t"",,;;:=()\n\n';
const blank = (text: string) => text.replace(/[^\n]/g, ' ');

/** Replaces typographic signs, and blanks out markup, comments in code, and texts in JSON; positions stay the same. */
function plainText(text: string): string {
  return text
    .replace(new RegExp(`[${signs}]`, 'g'), (sign) => plainSigns[signs.indexOf(sign)]!)
    .replace(/[\r\v\f\ufeff\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/g, ' ')
    .replace(/[\u2010-\u2013\u2212\ufe63\uff0d]/g, '-')
    .replace(/^[ \t]*(?:#|\/\/)(?![^\n]*param\w{0,40}\[)[^\n]*$/gim, blank)
    .replace(/\\\[(\d{1,9})\\\]/g, ' [$1 ]')
    .replace(/(?<![\d$])\$\$?(?=[^\s$])[^$\n]{0,4000}[^\s$]\$\$?(?!\d)/g, (all) => all.replaceAll('$', ' '))
    .replace(/\\boxed\{/g, '\nfinal:')
    .replace(/\\(?:text|math\w{0,6})\{([^{}\n]{0,400})\}/g, (all, own: string) => own.padStart(all.length))
    .replace(/\\(?:q?quad\b|[[\]()_\\])|&(?= ?=)/g, blank)
    .replace(/"(param[^"\n:]{0,40}\[[^"\n]{0,4000}|[\d.,;+ -]{3,4000})"(?!\s*:)/gi, ' $1 ')
    .replace(
      /("(?!param)[\w ]{1,40}"\s{0,8}:\s{0,8}")([^"\\]*(?:\\.[^"\\]*)*)/gis,
      (_, key, value) => key + blank(value),
    );
}

/** Finds all sets in plain text, in order. */
const numberSets = (plain: string, count: number): readonly NumberSet[] =>
  [...namedValues(plain, count), ...bracketedSets(plain), ...lineSets(plain, count)].sort(
    (a, b) => a.start - b.start || b.end - a.end,
  );

const digits = String.raw`(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?`;
const wholeNumber = new RegExp(String.raw`^[+-]? ?${digits}\.?$`);
const leadingNumber = new RegExp(String.raw`^(["'<([{]?)([+-]? ?${digits})(?:\.(?!\d))?`);
const placeholder = /^(?:<[^<>\d][^<>]{0,40}>|\?+|\.{3}|\u2026|_{2,})$/;
/** Remarks in parentheses, unless they change the number before them. */
const remarks =
  /^(?:\s*\((?!\s*(?:or|maybe|x|to|times|negat\w*|in)\b|\W{0,40}[\d.]{1,40}\W{0,40}\))[^()]*(?:\([^()]*\)[^()]*)*\))+/i;
/** Text that may follow a value without changing its meaning: the end, a separator, a comment, a clause. */
const harmlessTail =
  /^[\s)\]}]*(?:$|[,;|&](?!\s?[+-]?\.?\d)|#|\/\/|<[/|!]|\u2014|\.(?=\s*$|\s+[^\d\s])|(?:(?<=\s)-{1,2}|:)\s+[^\d\s.+-]|\s(?:and\s*$|because|since|as|so|next\b|[A-Z][a-z]{2,}\b))/;

function parseValue(written: string): Value {
  const text = written.trim().replace(/^(["'])(.*)\1$/s, '$2');
  const number = wholeNumber.test(text) ? Number(text.replace(' ', '')) : Number.NaN;
  return { text: text.slice(0, 24), ...(Number.isFinite(number) && { number: number + 0 }) };
}

/** Reads the value at the start of `chunk`, which ends before the next name or at the end of the line. */
function valueIn(chunk: string, isLast: boolean): { value: Value; end: number; next: number } {
  const [all = '', open = '', number = ''] = leadingNumber.exec(chunk) ?? [];
  const close = open === '' ? '' : `"'>)]}`[`"'<([{`.indexOf(open)]!;
  const rest = chunk.slice(all.length + close.length).replace(remarks, '');
  const isPlain =
    chunk.startsWith(close, all.length) && (harmlessTail.test(rest) || (isLast && scoreAfter.test(rest)));
  if (number !== '' && isPlain) return { value: parseValue(number), end: all.length, next: all.length };
  const text = /^(?:<[^<>]{0,40}>|(?:,\d|[^,;|\n(])*)/.exec(chunk)![0].trim();
  return { value: { text: text.slice(0, 24) }, end: all.length || text.length, next: text.length };
}

const separator = String.raw`["')\]]{0,2}[ \t]{0,8}(?:\([^()\n]{0,80}\)[ \t]{0,8})?(?::=|==|=>|->|[:=\u2192\u21d2]|\|(?=[ \t]*["']?[+-]?\.?\d)|is(?= [+-]?\.?\d))[ \t]{0,8}(?:action[ \t]{1,4}(?=\d))?`;
const keyIndex = String.raw`(?: ?\[ ?["']?(?<a>\d{1,9})["']? ?\]| ?\( ?(?<b>\d{1,9}) ?\)|[ _.]?\{?(?<c>\d{1,9})\}?)`;
const keyName = String.raw`(?<stem>[\p{L}_]{0,24}?param(?:eter)?s?|weights?|theta|\u03b8|states?|cells?|[wxpqs])`;
/** An index without a name counts only at the start of a line or after a comma, semicolon or brace. */
const bareIndex = String.raw`(?<=^[ \t>"'({]{0,8}|[,;{]\s{0,16}["']?)(?<d>\d{1,9})`;
const key = new RegExp(`(?:(?<![\\p{L}\\p{N}_])${keyName}${keyIndex}|${bareIndex})${separator}`, 'gimu');

/** Finds sets of named values such as `params[3]: -1.5`, listed on one line or one per line. */
function namedValues(plain: string, count: number): readonly NumberSet[] {
  const sets: NumberSet[] = [];
  const keys = [...plain.matchAll(key)];
  let [stem, next] = ['', 0];
  for (const [i, { 0: found, groups = {}, index: start }] of keys.entries()) {
    const at = start + found.length;
    const limit = keys[i + 1]?.index ?? Number.POSITIVE_INFINITY;
    const [line = ''] = plain.slice(at, Math.min(limit, at + 400)).split('\n', 1);
    const parsed = valueIn(line, at + line.length < limit);
    if (parsed.value.text === '') continue;
    const writtenName = (groups.stem ?? '').toLowerCase();
    const name = writtenName.includes('param') ? 'params' : writtenName;
    const ownIndex = Number(groups.a ?? groups.b ?? groups.c ?? groups.d);
    let set = sets.at(-1);
    if (set === undefined || stem !== name || !continues(set, ownIndex, plain, next, start, count)) {
      set = { values: new Map(), conflicts: new Set(), start, end: at, isNamed: name !== '' };
      sets.push(set);
    }
    const firstValue = set.values.get(ownIndex) ?? parsed.value;
    if (firstValue.number !== parsed.value.number) set.conflicts.add(ownIndex);
    set.values.set(ownIndex, firstValue);
    set.end = at + parsed.end;
    [stem, next] = [name, at + parsed.next];
  }
  return sets;
}

/** True if the value of index `own`, named at `start`, belongs to the set, given the text after the previous value. */
function continues(set: NumberSet, own: number, plain: string, next: number, start: number, count: number) {
  const isComplete = set.values.size >= count;
  const gap = plain.slice(set.values.has(own) ? set.end : next, start);
  const isNewLine = gap.includes('\n');
  if (set.values.has(own)) {
    if (!/^(?!.*\n\s*\n)[)\]}"',;\s-]*$/s.test(gap)) return false;
    const isListed = set.values.size === 1 || plain.lastIndexOf('\n', set.end - 1) > set.start;
    return !isNewLine || (isListed && !(isComplete && set.values.keys().next().value === own));
  }
  if (!isNewLine) return !/[.!?]\s+\p{L}|\d/u.test(gap.replace(/\([^()]*\)/g, ''));
  const opensLine = /\n[^\d.!?\n]{0,40}(?:\d{1,3} ?[.):|])?[^\d.!?\n]{0,40}$/.test(gap);
  return opensLine && !(isComplete && /\p{L}/u.test(gap));
}

const listName =
  /(?:param(?:eter)?s?|policy|weights?|theta|\u03b8|answer|final|solution|proposal|vector|table|\u53c2\u6570)["']?\s*(?:\[[\d:. ]*\]\s*)?(?:[:=]|is|are)?$/i;
/** A variable or JSON key, or a label that names something other than parameters. */
const otherName =
  /(?:[\p{L}\p{N}"')\]]\s*=|["']\s*:|(?:low|upper|high|min|max|bound|range|limit|step|prev|old|worst|gradient|delta|diff|change|score|return|reward|seed|iteration)\w*\s*:)$/iu;

/** Returns the list after `label` as a set; none if it is a range or has no values, or `label` names something else. */
function listSets(items: readonly Value[], label: string, isAlone: boolean, at: Span): readonly NumberSet[] {
  const unquoted = label.replace(/["']$/, '').trimEnd();
  const name = unquoted.replace(/[a-z.]{1,20}\($/i, '').trimEnd();
  const isNamed = listName.test(name);
  const isRange = items.length <= 2 && (!isAlone || /[:=]$/.test(name));
  if (!isNamed && (isRange || otherName.test(name))) return [];
  if (!items.some(({ number, text }) => number !== undefined || placeholder.test(text))) return [];
  return [{ ...at, values: new Map(items.entries()), conflicts: new Set(), isNamed }];
}

const listPattern = /\[[^[\]{}]*(?:\[[^[\]{}]*\][^[\]{}]*)*\]|\([^()[\]]*\)/g;
/** Text before or after a list that makes it an index or part of an expression. */
const expressionBefore =
  /[\p{L}\p{N}_\]]$(?<!\b(?:array|tensor|tuple|list))|(?<!\b(?:array|tensor|tuple|list))(?<=\w)\($|[*/^%+][ \t]*$|[-+!<>]=[ \t]*$|-[ \t]*$|\[\s?\d+\s?\]["')]*\s*[:=]\s*$/u;
const expressionAfter = /^[)\t ]*(?:[/^%+*[]|\d|-[ \t]*[\d[]|->|if\b)/;

function itemsOf(list: string): Value[] {
  const text = list.replace(/(?<![\s,;])[\s,;]+$/, '').trim();
  const delimiter = [';', '|', ','].find((one) => text.includes(one)) ?? /\s+/;
  return text.split(delimiter).map(parseValue);
}

/** Finds lists in brackets; nested lists are flattened. */
const bracketedSets = (plain: string): readonly NumberSet[] =>
  [...plain.matchAll(listPattern)].flatMap(({ 0: found, index: start }) => {
    const end = start + found.length;
    const lead = plain.slice(Math.max(0, start - 80), start);
    const tail = plain.slice(end, end + 80);
    if (expressionBefore.test(lead) || expressionAfter.test(tail)) return [];
    // Two spaces, so that the sign in `-)1` doesn't belong to the number.
    const items = itemsOf(found.replace(/(?:#|\/\/)[^\n]*|[[\]()]/g, '  '));
    const isAlone = /^[^\p{L}]*(?:\n|$)/u.test(tail) && lineOpening.test(lead);
    return listSets(items, lead.slice(lead.lastIndexOf('\n') + 1), isAlone, { start, end });
  });

const numberLines =
  /^([^\n\r\u2028\u2029]*[:=])?((?:[ \t"']*(?:[-*+\u2022>][ \t]+|\|[ \t]*|\d{1,3}[.)][ \t]+)?[+-]? ?\.?\d[-+.\deE,;|\t ]*(?:["'})\]]+[.,]?[ \t]*)?(?:\n|$))+)/gm;
/** A bullet at the start of a line and punctuation at its end. A dash is a bullet only if every line has one. */
const edges = /^[ \t]*(?:[+\u2022>|]\s*|\d{1,3}[.)]\s+)?["']?|(?<!["'.,;| \t})\]])["'.,;| \t})\]]+$/gm;
const dashedItem = /^[ \t]*-\s+(?=[+-]?[\d.]+\s*$)/;
/** A key such as `params[3]:` is followed by a single value, not by a list. */
const keyPattern = /(?:\[ ?\d+ ?\]|^\s*\w?\d+)["')]*\s*[:=]$|[-+/*]=$/;

/** Finds lines of numbers, perhaps after a label; adjacent ones form one list if it has `count` numbers or uses `|`. */
const lineSets = (plain: string, count: number): readonly NumberSet[] =>
  [...plain.replace(/\bf ?\( ?param\w* ?\)[^\n]*/gi, blank).matchAll(numberLines)].flatMap((found) => {
    const [all, label = '', body = ''] = found;
    const lines = body.trimEnd().split('\n');
    const bullet = lines.every((line) => dashedItem.test(line)) ? dashedItem : '';
    const rows = lines.map((line) => itemsOf(line.replace(bullet, '').replace(edges, '')));
    const allItems = rows.flat();
    if (keyPattern.test(label) || allItems.some(({ number }) => number === undefined)) return [];
    const isSplit = allItems.length !== count && !body.includes('|');
    const sets = isSplit ? rows.filter((row) => row.length > 1) : [allItems];
    const [start, end] = [found.index + label.length, found.index + all.trimEnd().length];
    return sets.flatMap((items) => listSets(items, label.slice(-80), true, { start, end }));
  });
