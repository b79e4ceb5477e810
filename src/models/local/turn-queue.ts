/**
 * Takes turns between lanes, first come, first served within each: many waiting jobs of one adapter do not keep those of
 * another waiting.
 */
export class TurnQueue<T> {
  /** Lanes with someone waiting, the next one first. */
  readonly #lanes = new Map<string, T[]>();

  add(lane: string, item: T): void {
    const waiting = this.#lanes.get(lane);
    if (waiting === undefined) this.#lanes.set(lane, [item]);
    else waiting.push(item);
  }

  /** The next one, undefined when nobody waits. */
  take(): T | undefined {
    const [next] = this.#lanes;
    if (next === undefined) return undefined;
    const [lane, waiting] = next;
    const item = waiting.shift();
    this.#lanes.delete(lane);
    if (waiting.length > 0) this.#lanes.set(lane, waiting);
    return item;
  }
}
