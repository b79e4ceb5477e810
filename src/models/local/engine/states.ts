/** States of recurrent layers. Unlike keys and values they can't be truncated to fewer tokens, so copies are kept. */
import { largest } from '../../../statistics/descriptive.js';

/** In the order of `stateShapes`, each [rows, …]. Never modified in place. */
export type States = readonly Float32Array[];

/** Repeats a single row for `rows` sequences that continue from it. */
export function tiledStates(states: States, rows: number): States {
  if (rows === 1) return states;
  return states.map((state) => {
    const tiled = new Float32Array(rows * state.length);
    for (let row = 0; row < rows; row++) tiled.set(state, row * state.length);
    return tiled;
  });
}

/** Concatenates the states of two groups of sequences. */
export function joinedStates(states: States, more: States): States {
  if (states.length === 0) return more;
  return states.map((state, i) => {
    const joined = new Float32Array(state.length + more[i]!.length);
    joined.set(state);
    joined.set(more[i]!, state.length);
    return joined;
  });
}

/** @param rows current number of rows */
export function keptStates(states: States, rows: number, kept: readonly number[]): States {
  return states.map((state) => {
    const size = state.length / rows;
    const copy = new Float32Array(kept.length * size);
    kept.forEach((row, i) => {
      copy.set(state.subarray(row * size, (row + 1) * size), i * size);
    });
    return copy;
  });
}

/**
 * Maximum number of positions of a prompt whose states are kept, besides its end: 8 positions of a model with
 * 0.8 billion weights take 150 MB.
 */
const mostPlaces = 8;

/** States of one sequence at some of its positions, the most recent ones. */
export class StatePlaces {
  /** By the number of preceding tokens, ascending. */
  readonly #places: Map<number, States>;

  constructor(places: ReadonlyMap<number, States> = new Map()) {
    this.#places = new Map(places);
  }

  copy(): StatePlaces {
    return new StatePlaces(this.#places);
  }

  /** The last position at or before `tokens`, or 0 if there is none. Drops later ones. */
  cut(tokens: number): number {
    for (const place of this.#places.keys()) if (place > tokens) this.#places.delete(place);
    return largest([0, ...this.#places.keys()]);
  }

  /** Empty at the start, where all states are zero. */
  at(tokens: number): States {
    return this.#places.get(tokens) ?? [];
  }

  add(tokens: number, states: States): void {
    this.#places.set(tokens, states);
    for (const old of [...this.#places.keys()].slice(0, -mostPlaces)) this.#places.delete(old);
  }
}
