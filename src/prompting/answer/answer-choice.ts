/** Which of the runs in a reply is its answer. */

import { findRuns, listRun, type Run, sameValue } from './reply-runs.js';
import { mark, newline, scanBareLists, skip, space, type Value } from './reply-scanner.js';

export interface Choice {
  /** A run that gives every index. */
  readonly answer?: Run;
  /** The incomplete run with the most indices, the last on ties. */
  readonly largest?: Run;
  /** There were quoted history lines or the example of the format. */
  readonly echoes: boolean;
}

/**
 * The answer is the run that the reply starts with when that is complete; else the last complete run that is new
 * (one that starts its line or follows a colon before one within a sentence); else the last complete one; else all assignments of the reply together where they don't contradict each other; else, where
 * there is nothing else, a bare list of numbers; else a complete run of words, which is no answer but shows what
 * went wrong. Quoted history lines and the format's example never count.
 * @param isNew whether a run gives numbers that were not evaluated before
 */
export function chooseAnswer(text: string, count: number, isNew: (run: Run) => boolean): Choice {
  let bare = true;
  let echoes = false;
  let first: Run | undefined;
  let lastHeadedNew: Run | undefined;
  let lastNew: Run | undefined;
  let last: Run | undefined;
  let largest: Run | undefined;
  let worded: Run | undefined;
  const scattered = new ScatteredAnswer(count);
  const visit = (run: Run): void => {
    bare &&= run.worded;
    if (run.example || run.quoted) {
      echoes = true;
    } else if (run.worded) {
      if (run.complete) worded = run;
    } else if (!run.complete) {
      scattered.add(run);
      if (largest === undefined || run.found >= largest.found) largest = run;
    } else {
      if (run.first) first = run;
      last = run;
      if (!isNew(run)) return;
      lastNew = run;
      if (run.headed) lastHeadedNew = run;
    }
  };
  findRuns(text, count, visit);
  if (bare) visitBareLists(text, count, visit);
  const answer = first ?? lastHeadedNew ?? lastNew ?? last ?? scattered.whole() ?? worded;
  return { echoes, ...(answer && { answer }), ...(largest && { largest }) };
}

function visitBareLists(text: string, count: number, visit: (run: Run) => void): void {
  const contentStart = skip(text, 0, space | newline | mark);
  scanBareLists(text, count, (list) => {
    // A few numbers in a row are no attempt at an answer.
    if (2 * list.length < count) return;
    visit(listRun(list, count, { first: list.start === contentStart, leading: true, introduced: false }));
  });
}

/** Collects the assignments that stand apart in a reply: one a paragraph, or under headings. */
class ScatteredAnswer {
  readonly #count: number;
  readonly #values = new Map<number, Value>();
  #contradictory = false;
  #lastRun: Run | undefined;

  constructor(count: number) {
    this.#count = count;
  }

  add(run: Run): void {
    if (run.conflicts.length > 0 || run.unknown.length > 0 || run.kind === 'list') this.#contradictory = true;
    if (this.#contradictory) return;
    for (const [index, value] of run.values) {
      const earlier = this.#values.get(index);
      if (value.kind !== 'number' || (earlier !== undefined && !sameValue(earlier, value)))
        this.#contradictory = true;
      this.#values.set(index, value);
    }
    this.#lastRun = run;
  }

  whole(): Run | undefined {
    if (this.#lastRun === undefined || this.#contradictory || this.#values.size !== this.#count)
      return undefined;
    return { ...this.#lastRun, values: this.#values, complete: true };
  }
}
