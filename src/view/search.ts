/** Searches the prompts and replies of runs. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LocatedItem } from '../runs/listing/scan.js';
import { readCalls } from '../runs/log-lines.js';
import { logFilesIn } from '../runs/reader.js';
import type { SearchHit, SearchResult } from '../web/messages.js';

const maxHits = 200;
const contextLength = 80; // characters

/** Maximum number of lines to remember per run, in order to report repeated lines only once. */
const maxRememberedLines = 10_000;

/** Number of calls searched between pauses for other requests. */
const callsAtOnce = 50;

/**
 * Searches case-insensitively. Reports a reply's first match, and each matching line of the prompts once per run.
 * @param until stops the search at this time of `clock`, in milliseconds
 */
export async function searchItems(
  text: string,
  places: readonly LocatedItem[],
  { clock, until }: { readonly clock: () => number; readonly until: number },
): Promise<SearchResult> {
  const pattern = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu');
  const hits: SearchHit[] = [];
  let searched = 0;
  for (const { item, path } of places) {
    const seenLines = new Set<string>();
    let callCount = 0;
    for (const call of readCalls(logFilesIn(path), Number.POSITIVE_INFINITY, () => undefined)) {
      if (++callCount % callsAtOnce === 0) await nextTurn();
      if (hits.length >= maxHits || clock() > until) return { hits, searched, of: places.length };
      const { attempt, candidate, completion, iteration, messages } = call;
      const addHit = (where: string, content: string, match: RegExpExecArray) => {
        const end = match.index + match[0].length;
        hits.push({
          of: item.name,
          iteration,
          candidate,
          attempt,
          where,
          match: match[0],
          before: content.slice(Math.max(0, match.index - contextLength), match.index),
          after: content.slice(end, end + contextLength),
        });
      };
      const replies = [['reply', completion?.text] as const, ['reasoning', completion?.reasoning] as const];
      for (const [where, content] of replies) {
        const match = content === undefined ? null : pattern.exec(content);
        if (match !== null) addHit(where, content!, match);
      }
      for (const { content, role } of messages) {
        if (!pattern.test(content)) continue;
        for (const line of content.split('\n')) {
          const match = pattern.exec(line);
          if (match === null || seenLines.has(line)) continue;
          if (seenLines.size < maxRememberedLines) seenLines.add(line);
          if (hits.length < maxHits) addHit(role, line, match);
        }
      }
    }
    searched++;
    await nextTurn();
  }
  return { hits, searched, of: places.length };
}
