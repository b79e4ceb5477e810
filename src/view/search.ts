/** Searches the prompts and replies of runs. */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LocatedItem } from '../runs/listing/scan.js';
import { readCalls } from '../runs/log-lines.js';
import { logFilesIn } from '../runs/reader.js';
import type { SearchHit, SearchResult } from '../web/messages.js';

const maxHits = 200;
const contextLength = 80; // characters

/** Maximum number of lines to remember per run, in order to report repeated lines only once. */
const maxRemembered = 10_000;

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
  const wanted = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'iu');
  const hits: SearchHit[] = [];
  let searched = 0;
  for (const { item, path } of places) {
    const known = new Set<string>();
    let calls = 0;
    for (const call of readCalls(logFilesIn(path), Number.POSITIVE_INFINITY, () => undefined)) {
      if (++calls % callsAtOnce === 0) await nextTurn();
      if (hits.length >= maxHits || clock() > until) return { hits, searched, of: places.length };
      const { attempt, candidate, completion, iteration, messages } = call;
      const addHit = (where: string, content: string, at: RegExpExecArray) => {
        const end = at.index + at[0].length;
        hits.push({
          of: item.name,
          iteration,
          candidate,
          attempt,
          where,
          match: at[0],
          before: content.slice(Math.max(0, at.index - contextLength), at.index),
          after: content.slice(end, end + contextLength),
        });
      };
      const replies = [['reply', completion?.text] as const, ['reasoning', completion?.reasoning] as const];
      for (const [where, content] of replies) {
        const at = content === undefined ? null : wanted.exec(content);
        if (at !== null) addHit(where, content!, at);
      }
      for (const { content, role } of messages) {
        if (!wanted.test(content)) continue;
        for (const line of content.split('\n')) {
          const at = wanted.exec(line);
          if (at === null || known.has(line)) continue;
          if (known.size < maxRemembered) known.add(line);
          if (hits.length < maxHits) addHit(role, line, at);
        }
      }
    }
    searched++;
    await nextTurn();
  }
  return { hits, searched, of: places.length };
}
