import { answerText } from '../../models/answer-text.js';
import { findSets } from './sets.js';

const opener = /\{\s*"params"\s*:\s*(?=\n)/;
const jsonReason = /"(?:reason|reasoning|explanation|rationale)"\s{0,8}:\s{0,8}"([^"\\]*(?:\\.[^"\\]*)*)/is;

/** What the model wrote besides the parameters, on one line; for reports and datasets, never for results. */
export function statedReason(reply: string, limit = 600): string {
  const { text } = answerText(reply);
  const inJson = jsonReason.exec(text)?.[1];
  if (inJson !== undefined) return oneLine(inJson.replace(/\\n/g, ' ').replace(/\\(.)/gs, '$1'), limit);
  const [set] = findSets(text, 3).sets.toSorted((a, b) => b.rank - a.rank);
  const { end, start } = set ?? { end: text.length, start: text.length };
  return oneLine(`${text.slice(0, start)}\n${text.slice(end, end + 4 * limit)}`.replace(opener, ''), limit);
}

/** Joins the text into one line and removes markup around the answer and the label in front of the reason. */
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
