/**
 * Alternates between lanes, first come, first served within each, so that many jobs for one adapter don't
 * delay those for another.
 */
export class TurnQueue<Lane, T> {
  /** Lanes with waiting items, the next one first. */
  readonly #lanes = new Map<Lane, T[]>();

  add(lane: Lane, item: T): void {
    this.#lanes.set(lane, [...(this.#lanes.get(lane) ?? []), item]);
  }

  /** The item that `take` would return. */
  first(lane: Lane): T | undefined {
    return this.#lanes.get(lane)?.[0];
  }

  /** Whether items are waiting in other lanes. */
  othersThan(lane: Lane): boolean {
    return this.#lanes.size > (this.#lanes.has(lane) ? 1 : 0);
  }

  /** Takes the next item, by default from the lane whose turn it is; undefined if none is waiting. */
  take(lane: Lane | undefined = this.#next()): T | undefined {
    const waiting = this.#lanes.get(lane!);
    const item = waiting?.shift();
    this.#lanes.delete(lane!);
    if (waiting !== undefined && waiting.length > 0) this.#lanes.set(lane!, waiting);
    return item;
  }

  #next(): Lane | undefined {
    return this.#lanes.keys().next().value;
  }
}
