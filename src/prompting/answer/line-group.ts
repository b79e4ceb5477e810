/** Assignments on lines that belong together, until they make a set. */
import type { Run } from './assignments.js';
import { type Contents, indexedContents, namedContents } from './number-set.js';
import { type Lead, type Place, placeOf } from './places.js';
import { senseOf } from './words.js';

export interface LineGroup {
  readonly naming: Run['naming'];
  readonly assignments: Run['assignments'][number][];
  readonly indices: Set<number>;
  readonly lead: Lead;
  readonly section: string;
  /** How many of the assignments stand before the next label. */
  headed: number | undefined;
  quoted: boolean;
  readonly start: number;
  end: number;
  /** Whether a blank line follows the last of its lines. */
  apart: boolean;
}

export function openGroup(run: Run, lead: Lead, section: string, start: number): LineGroup {
  return {
    naming: run.naming,
    assignments: [],
    indices: new Set(),
    lead,
    section,
    headed: undefined,
    quoted: false,
    start,
    end: start,
    apart: false,
  };
}

/** Adds the run of a line that ends at `end`; `words` lead to it. */
export function extendGroup(group: LineGroup, run: Run, words: Lead | undefined, end: number): void {
  const isFirst = group.assignments.length === 0;
  if (!isFirst && (words?.kind === 'label' || words?.kind === 'heading'))
    group.headed ??= group.assignments.length;
  // Not spread: a line may hold more assignments than a call takes.
  for (const assignment of run.assignments) {
    group.assignments.push(assignment);
    group.indices.add(assignment.index ?? -1);
  }
  group.end = end;
  group.apart = false;
}

/** A label of a part names a section and need not be one of an answer. */
export function groupPlace({ naming, assignments, lead, section, headed, quoted }: LineGroup): Place {
  if (quoted) return { role: 'mention', rank: 0 };
  const place = placeOf(lead, { bare: naming === 'index', section });
  const isPart = headed !== undefined && headed < assignments.length;
  return isPart && place.role === 'open' && senseOf(lead.text) === 'unknown'
    ? { role: 'proposal', rank: 0 }
    : place;
}

export function runContents(
  assignments: Run['assignments'],
  naming: Run['naming'],
  count: number,
): Contents | undefined {
  if (naming === 'name') return namedContents(assignments, count);
  return indexedContents(
    assignments.map(({ index = 0, value }) => [index, value] as const),
    count,
  );
}

/** Whether a run begins another set than the open group. */
export function startsOver(group: LineGroup, run: Run, count: number, words: Lead | undefined): boolean {
  if (run.naming !== group.naming) return true;
  if (words !== undefined && ['mention', 'both'].includes(senseOf(words.text))) return true;
  const indices = run.assignments.map(({ index = -1 }) => index);
  const first = group.assignments[0]?.index ?? -1;
  if (!indices.some((index) => index >= 0 && group.indices.has(index))) return false;
  if (group.apart || words !== undefined) return true;
  const isComplete = group.indices.size >= count;
  return isComplete ? indices.includes(first) && count > 1 : indices[0] === first && group.indices.size > 1;
}
