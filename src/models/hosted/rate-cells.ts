/**
 * A rate that many processes share, as numbers: time is cut into cells, and each cell has room for so many requests that no
 * window of a minute, wherever it begins, holds more than the limit.
 */

/** In milliseconds. Longer cells lose more of the limit, shorter ones leave less time to send what was granted. */
export const cellMs = 4000;

const minuteMs = 60_000;

/** The cells that a window of a minute touches at most. */
const cellsOfWindow = minuteMs / cellMs + 1;

/** Requests granted in each cell of now and later, by its number since 1970. */
export type Granted = Readonly<Record<string, number>>;

/** Any 16 cells in a row have room for the limit together, whether it divides by 16 or not. */
export const roomOf = (cell: number, perMinute: number): number =>
  Math.floor(((cell + 1) * perMinute) / cellsOfWindow) - Math.floor((cell * perMinute) / cellsOfWindow);

export interface Wanted {
  readonly perMinute: number;
  /** The first cell in which a request could be sent. */
  readonly first: number;
  /** Requests that wait. */
  readonly now: number;
  /** Requests that are expected in the first cell. */
  readonly ahead: number;
}

/**
 * Grants the earliest free places to requests that wait, however late these are: who comes first is first. Expected
 * requests get some of what is free in the first cell, up to half of it, so that they keep nobody waiting.
 * @returns the cells, in their order, and all that is granted now
 */
export function grant(
  granted: Granted,
  wanted: Wanted,
): { readonly cells: readonly number[]; readonly granted: Granted } {
  const { ahead, first, now, perMinute } = wanted;
  const after = new Map(
    Object.entries(granted)
      .map(([cell, count]) => [Number(cell), count] as const)
      .filter(([cell]) => cell >= first),
  );
  const taken = (cell: number) => after.get(cell) ?? 0;
  const cells: number[] = [];
  const take = (cell: number) => {
    after.set(cell, taken(cell) + 1);
    cells.push(cell);
  };
  for (let cell = first; cells.length < now; cell++)
    while (cells.length < now && taken(cell) < roomOf(cell, perMinute)) take(cell);
  while (cells.length < now + ahead && taken(first) + 1 <= roomOf(first, perMinute) / 2) take(first);
  return { cells: cells.toSorted((a, b) => a - b), granted: Object.fromEntries(after) };
}

/** Takes grants back that were not used, of cells that have not begun. */
export function giveBack(granted: Granted, cells: readonly number[]): Granted {
  const after: Record<string, number> = { ...granted };
  for (const cell of cells) {
    const left = (after[cell] ?? 0) - 1;
    if (left > 0) after[cell] = left;
    else delete after[cell];
  }
  return after;
}
