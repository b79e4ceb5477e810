import { readRuns } from './assignments.js';
import { readAnswer } from './reading.js';
import { answerText, undecorated } from './reply-text.js';

/** Keys under which JSON answers give their reason. */
const reasonKey = /"(?:reason|reasoning|explanation|rationale)"\s{0,8}:\s{0,8}"/i;

/**
 * What the model wrote beside the parameters, as one line of at most `limit` characters; empty where it wrote nothing.
 * Reports and datasets show it; no result depends on it.
 */
export function statedReason(reply: string, limit = 600): string {
  const { text } = answerText(reply);
  const inJson = reasonKey.exec(text);
  if (inJson !== null) return oneLine(jsonString(text, inJson.index + inJson[0].length), limit);
  const indices = undecorated(text)
    .split('\n')
    .flatMap((line) =>
      readRuns(line).flatMap(({ assignments }) => assignments.map(({ index }) => index ?? 0)),
    );
  const reading = readAnswer(
    text,
    indices.reduce((most, index) => Math.max(most, index + 1), 0),
  );
  const set = reading.kind === 'none' ? reading.largest : reading.set;
  if (set === undefined) return oneLine(text, limit);
  return oneLine(`${text.slice(0, set.start)}\n${text.slice(set.end, set.end + 4 * limit)}`, limit);
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
function oneLine(text: string, limit: number): string {
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
