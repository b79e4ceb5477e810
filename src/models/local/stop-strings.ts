/** Text of an answer as it grows, cut at the first stop string; what may become one is held back from the reader. */
export class StopStrings {
  readonly #stops: readonly string[];
  #held = '';
  #stopped = false;

  constructor(stops: readonly string[]) {
    this.#stops = stops.filter((stop) => stop !== '');
  }

  /** Whether a stop string has been met. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Takes more text; returns what can be shown for certain. */
  push(text: string): string {
    if (this.#stopped) return '';
    this.#held += text;
    const cuts = this.#stops.map((stop) => this.#held.indexOf(stop)).filter((at) => at >= 0);
    if (cuts.length > 0) {
      this.#stopped = true;
      return this.#release(Math.min(...cuts));
    }
    return this.#release(this.#held.length - this.#pendingLength());
  }

  /** The rest, when nothing more comes. */
  end(): string {
    return this.#stopped ? '' : this.#release(this.#held.length);
  }

  /** Length of the longest end of the held text that begins a stop string. */
  #pendingLength(): number {
    const longest = Math.max(0, ...this.#stops.map((stop) => stop.length - 1));
    for (let length = Math.min(longest, this.#held.length); length > 0; length--) {
      const end = this.#held.slice(-length);
      if (this.#stops.some((stop) => stop.startsWith(end))) return length;
    }
    return 0;
  }

  #release(length: number): string {
    const shown = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return shown;
  }
}
