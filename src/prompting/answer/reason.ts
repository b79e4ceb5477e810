import { findAnswer } from '../../models/answer-text.js';
import { findParameters } from './parse.js';
import { withoutProgram } from './program.js';

const opener = /\{\s*"params"\s*:\s*(?=\n)/;
const jsonReason = /"(?:reason|reasoning|explanation|rationale)"\s{0,8}:\s{0,8}"([^"\\]*(?:\\.[^"\\]*)*)/is;

/**
 * Extracts the reason from a reply, on one line of up to `limit` characters: the JSON field `reason`, or else the text
 * without the parameters or the program; '' if `function act` is outside code blocks. For reports and datasets only.
 */
export function statedReason(reply: string, limit = 600): string {
  const text = withoutProgram(findAnswer(reply).text);
  if (/\bfunction\s+act\b/.test(text)) return '';
  const reason = jsonReason.exec(text)?.[1];
  if (reason !== undefined) return oneLine(reason.replace(/\\n/g, ' ').replace(/\\(.)/gs, '$1'), limit);
  const { end, start } = findParameters(text) ?? { end: text.length, start: text.length };
  return oneLine(`${text.slice(0, start)}\n${text.slice(end, end + 4 * limit)}`.replace(opener, ''), limit);
}

/** Joins the text into one line, removes markup and a label such as `Reason:` at its start, and cuts it to `limit`. */
function oneLine(text: string, limit: number): string {
  const parts = text
    .slice(0, 8 * limit)
    .split('\n')
    .map((part) => part.trim());
  const line = parts
    .filter((part) => /[\p{L}\p{N}]/u.test(part))
    .join(' ')
    .replace(/^[\s*_`#>.,;|}-]+/, '')
    .replace(/^(?:reason|reasoning|explanation|rationale)\s{0,4}[*_]{0,3}\s{0,4}:[*_\s]*/i, '')
    .trim();
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`;
}
