/**
 * Selects the proposals that a page shows with prompts and replies, so that pages of long runs open quickly, too.
 */
import { spread } from '../../render/terminal-picture.js';
import type { CallRecord } from '../../runs/calls.js';
import { type LoggedProposal, proposalId, type RunData } from './proposals.js';

const mostShown = 500;

/** How many proposals of each kind a longer run shows; `sample`: evenly spaced among all. */
const parts = { first: 20, last: 40, improved: 120, failed: 120, sample: 150 };

interface Place {
  readonly iteration: number;
  readonly candidate: number;
}

/** The proposals that a page shows in full. */
export interface ShownCalls {
  readonly proposals: readonly LoggedProposal[];
  /** The calls of these proposals, by position among the run's calls. */
  readonly calls: ReadonlyMap<number, CallRecord>;
  /** Link to a proposal, if the page shows it. */
  link(place: Place): string | undefined;
}

/** Selects the calls to show while they are read, and discards the others. */
export class CallKeeper {
  readonly #known: ReadonlySet<string>;
  readonly #kept = new Map<string, (readonly [place: number, call: CallRecord])[]>();
  readonly #failed = new Set<string>();
  /** The last failed proposal for each kind of failure. */
  readonly #latest = new Map<string, string>();
  readonly #last: string[] = [];
  /** One of every `#stride` failed proposals is kept; a power of two. */
  #stride = 1;
  #failures = 0;
  #isLong = false;

  constructor(data: Pick<RunData, 'entries' | 'manifest'>) {
    this.#known = knownPlaces(data);
  }

  add(call: CallRecord, place: number): void {
    const id = proposalId(call);
    const own = this.#kept.get(id);
    if (own === undefined) this.#kept.set(id, [[place, call]]);
    else own.push([place, call]);
    if (this.#last.at(-1) !== id) this.#last.push(id);
    if (call.outcome.kind !== 'accepted') this.#noteFailure(id, call.outcome);
    if (this.#kept.size > mostShown && this.#last.length > 10 * parts.last) this.#discard();
  }

  #noteFailure(id: string, outcome: Exclude<CallRecord['outcome'], { kind: 'accepted' }>): void {
    this.#latest.set(outcome.kind === 'error' ? outcome.error : outcome.failure.kind, id);
    if (this.#failed.has(id) || this.#failures++ % this.#stride !== 0) return;
    this.#failed.add(id);
    if (this.#failed.size <= parts.failed) return;
    this.#stride *= 2;
    for (const [i, other] of [...this.#failed].entries()) if (i % 2 === 1) this.#failed.delete(other);
  }

  #discard(): void {
    this.#isLong = true;
    this.#last.splice(0, this.#last.length - parts.last);
    const kept = new Set([...this.#known, ...this.#failed, ...this.#latest.values(), ...this.#last]);
    for (const id of this.#kept.keys()) if (!kept.has(id)) this.#kept.delete(id);
  }

  shown(proposals: readonly LoggedProposal[]): ShownCalls {
    if (proposals.length > mostShown) this.#discard();
    const isShown = (place: Place) =>
      !this.#isLong || this.#kept.has(proposalId(place)) || this.#known.has(proposalId(place));
    return {
      proposals: proposals.filter(isShown),
      calls: new Map([...this.#kept.values()].flat()),
      link: (place) => (place.iteration > 0 && isShown(place) ? `#${proposalId(place)}` : undefined),
    };
  }
}

/** The proposals of a long run that are shown whether or not their calls failed. */
function knownPlaces({ entries, manifest }: Pick<RunData, 'entries' | 'manifest'>): ReadonlySet<string> {
  const { best, confirmations } = manifest;
  const proposed = entries.filter(({ source }) => source === 'proposal');
  let highest = Number.NEGATIVE_INFINITY;
  const improved = entries.filter(({ score, source }) => {
    const isHigher = score > highest;
    highest = Math.max(highest, score);
    return isHigher && source === 'proposal';
  });
  return new Set(
    [
      ...(best ? [best] : []),
      ...confirmations,
      ...proposed.slice(0, parts.first),
      ...sampled(improved, parts.improved),
      ...sampled(proposed, parts.sample),
    ].map(proposalId),
  );
}

/**
 * `count` evenly spaced items including the first and the last; all items if there are at most `count`.
 * @param kept an item that is always included, in place of its nearest neighbour
 */
export function sampled<T>(items: readonly T[], count: number, kept?: T): readonly T[] {
  if (items.length <= count) return items;
  const chosen = [...spread(items, count)];
  if (kept !== undefined) chosen[Math.round((items.indexOf(kept) * (count - 1)) / (items.length - 1))] = kept;
  return chosen;
}
