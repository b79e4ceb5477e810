/** Finds the number sets in a reply that could be its answer, and ranks them. */

import { answerText } from '../../models/answer-text.js';
import { readAssignments } from './assignments.js';
import { readLines, readLists, readTables } from './lists.js';
import { prepared } from './plain-text.js';
import { predictionIn, scoreAt, type WrittenSet } from './values.js';

export interface NumberSet extends WrittenSet {
  readonly isBlock: boolean;
  /** Likelihood of being the answer, judging by form and position; a set with a negative rank is never chosen. */
  readonly rank: number;
  readonly predicted: number | undefined;
}

/** Finds all sets, in text order, and whether the text ends inside a list. */
export function findSets(text: string, count: number): { sets: readonly NumberSet[]; isUnfinished: boolean } {
  const { plain, fences } = prepared(text);
  const { lists, isUnfinished } = readLists(plain);
  const isValue = ({ start }: WrittenSet) =>
    /\[ ?\d+ ?\]["')]*\s*[:=]\s*$/.test(plain.slice(Math.max(0, start - 24), start));
  const found = [
    ...readAssignments(plain, lists, count),
    ...[...lists, ...readTables(plain), ...readLines(plain)].filter((set) => !isValue(set)),
  ].toSorted((a, b) => a.start - b.start || b.end - a.end);
  const sets: NumberSet[] = [];
  const lineEnd = plain.indexOf('\n', plain.search(/\S/));
  let previous: NumberSet | undefined;
  let fence = 0;
  for (const set of found) {
    while (fences[fence]! < set.start) fence++;
    const opensReply = previous === undefined && (lineEnd < 0 || set.start <= lineEnd);
    const placed = inPlace(plain, set, previous, opensReply, fence % 2 === 1);
    // One or two numbers in a sentence or under another name are probably a range.
    const isRange = count <= 2 && set.naming !== 'params' && (!placed.isBlock || set.naming === 'other');
    if (isRange || set.values.size === 0) continue;
    sets.push(placed);
    if (set.values.size >= count) previous = placed;
  }
  return { sets, isUnfinished };
}

const bullets =
  /^[\s>"'_([{$#|\u2022\u2705\u2714+*-]{0,40}(?:(?:\d{1,3}|[a-z])[.)]\s{1,8})?[\s"'_([{$]{0,16}$/i;
const label = /[:=]\s*(?:[a-z.]{1,20}\()?\s*["'_([{$]*$/i;
/** Words that introduce an answer. */
const final = /\bfinal\b[^.!?]*$|\banswer(?: is)?\s*[:=]?\s*["'_([{$]*$/i;
const announced = /\b(?:new|propos\w*)\b[^.!?]*$/i;
const asked = /(?<!\w)(?:params|parameters)["']?\s*[:=]\s*(?:[a-z.]{1,20}\()?\s*$/i;
/** What may follow a set on its line: closing brackets, a comment, a remark or the next JSON key. */
const closing = /^["'\s)\]}.,;|$]*(?:$|#|\/\/|\(|-{1,2} |\u2014|["'][\w ]+["']\s*:)/;

function inPlace(
  text: string,
  set: WrittenSet,
  previous: NumberSet | undefined,
  opensReply: boolean,
  isFenced: boolean,
): NumberSet {
  const { start, end, naming } = set;
  const before = text.slice(Math.max(0, start - 160), start);
  const line = before.slice(before.lastIndexOf('\n') + 1);
  const lead = text.slice(Math.max(0, start - 160, previous?.end ?? 0), start);
  const tail = text.slice(end, end + 400);
  const rest = /^[^\n]*/.exec(tail)![0];
  // In histories of the `compact` prompt set, the scaled score comes first.
  const prefix = naming === 'params' ? /^[\s>|]*(-?\d+(?:\.\d+)?)\s+$/.exec(line)?.[1] : undefined;
  const score = scoreAt(rest) ?? scoreAt(/^\s*\n(f ?\(.*)/.exec(tail)?.[1] ?? '');
  const predicted = prefix === undefined ? (score ?? predictionIn(tail)) : Number(prefix);
  const isScored = prefix !== undefined || score !== undefined;
  const opens = prefix !== undefined || (line.length < 160 && (bullets.test(line) || label.test(line)));
  const isBlock = opens && (score !== undefined || closing.test(rest));
  const isFirst = opensReply && (bullets.test(line) || asked.test(line));
  // A set directly below another one is probably part of an enumeration.
  const gap = previous && start - previous.end < 400 ? text.slice(previous.end, start) : '';
  const isNext = /^[^\n]*\n[^\n\p{L}]*$/u.test(gap);
  // A scored set below a history heading, `… so far`, quotes the history.
  const isQuoted = isScored && (/\bso far\b/i.test(lead) || (isNext && previous!.rank < 0));
  const rank = () => {
    if (isQuoted) return -1;
    if (final.test(lead)) return 6;
    if (isBlock && !isScored) {
      if (isFirst) return 5;
      return isFenced || announced.test(lead) || asked.test(line) ? 4 : naming === 'params' ? 3 : 2.2;
    }
    return isFirst ? 2.5 : isBlock ? 2 : naming === 'params' ? 1 : 0;
  };
  return { ...set, isBlock, predicted, rank: rank() - (isNext ? 0.4 : 0) };
}

const opener = /\{\s*"params"\s*:\s*(?=\n)/;
const jsonReason = /"(?:reason|reasoning|explanation|rationale)"\s{0,8}:\s{0,8}"([^"\\]*(?:\\.[^"\\]*)*)/is;

/** A code block; the last one may be unclosed. */
const codeBlock = /^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|(?![\s\S]))/gms;

/**
 * The reason given in a reply, on one line: its text without the parameters or the program. Used only in reports and
 * datasets.
 */
export function statedReason(reply: string, limit = 600): string {
  const text = answerText(reply).text.replace(codeBlock, (block, _, code: string) =>
    /\bact\b\s*[(=]/.test(code) ? '' : block,
  );
  if (/\bfunction\s+act\b/.test(text)) return '';
  const inJson = jsonReason.exec(text)?.[1];
  if (inJson !== undefined) return oneLine(inJson.replace(/\\n/g, ' ').replace(/\\(.)/gs, '$1'), limit);
  const [set] = findSets(text, 3).sets.toSorted((a, b) => b.rank - a.rank);
  const { end, start } = set ?? { end: text.length, start: text.length };
  return oneLine(`${text.slice(0, start)}\n${text.slice(end, end + 4 * limit)}`.replace(opener, ''), limit);
}

/** Joins the text into one line, and removes markup and a label such as `Reason:` from its start. */
function oneLine(text: string, limit: number): string {
  const parts = text.slice(0, 8 * limit).split(/\s*\n\s*/);
  const line = parts
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .join(' ')
    .replace(/^[\s*_`#>.,;|}-]+/, '')
    .replace(/^(?:reason|reasoning|explanation|rationale)\s{0,4}[*_]{0,3}\s{0,4}:[*_\s]*/i, '')
    .trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}
