/** Sums of the usage of model calls. */
import type { UsageTotals } from '../calls.js';

/** Ratio between neighbouring buckets of latencies: percentiles are accurate to 3 %. */
const bucketRatio = 1.05;

type Counts = Map<string | number, number>;

function addTo(counts: Counts, key: string | number, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

type Tokens = Pick<UsageTotals, 'cachedTokens' | 'completionTokens' | 'promptTokens' | 'reasoningTokens'>;

/** Kinds of tokens that charts show separately. */
export const tokenKinds = [
  { label: 'prompt', colour: '--tokens-fresh', of: (sum: Tokens) => sum.promptTokens - sum.cachedTokens },
  { label: 'prompt, cached', colour: '--tokens-cached', of: (sum: Tokens) => sum.cachedTokens },
  {
    label: 'answer',
    colour: '--tokens-answer',
    of: (sum: Tokens) => sum.completionTokens - sum.reasoningTokens,
  },
  { label: 'reasoning', colour: '--tokens-reasoning', of: (sum: Tokens) => sum.reasoningTokens },
] as const;

export class UsageSum {
  calls = 0;
  /** Calls without a completion. */
  failed = 0;
  promptTokens = 0;
  cachedTokens = 0;
  completionTokens = 0;
  reasoningTokens = 0;
  /** Cost of the calls with a known price. */
  cost = 0;
  /** Calls with a known price. */
  priced = 0;
  /** Calls with tokens but without a known price. */
  unpriced = 0;
  /** Number of failures by kind; see `kindsOfFailure`. */
  readonly failures: Map<string, number> = new Map();
  /** Number of calls by bucket: the rounded logarithm of the latency in milliseconds. */
  readonly #latencies = new Map<number, number>();

  get tokens(): number {
    return this.promptTokens + this.completionTokens;
  }

  /** Share of the prompt tokens that came from a cache, in [0, 1]; NaN without prompts. */
  get cachedShare(): number {
    return this.cachedTokens / this.promptTokens;
  }

  addLatency(milliseconds: number): void {
    if (milliseconds > 0)
      addTo(this.#latencies, Math.round(Math.log(milliseconds) / Math.log(bucketRatio)), 1);
  }

  addFailure(kind: string): void {
    addTo(this.failures, kind, 1);
  }

  add(other: UsageSum): void {
    for (const key of sums) this[key] += other[key];
    for (const [kind, count] of other.failures) addTo(this.failures, kind, count);
    for (const [bucket, count] of other.#latencies) addTo(this.#latencies, bucket, count);
  }

  /** The latency in milliseconds within which this share of the calls ended; NaN if none was recorded. */
  latency(share: number): number {
    const ascending = [...this.#latencies].toSorted(([a], [b]) => a - b);
    const count = ascending.reduce((sum, [, own]) => sum + own, 0);
    let seen = 0;
    for (const [bucket, own] of ascending) {
      seen += own;
      if (seen >= share * count) return bucketRatio ** bucket;
    }
    return Number.NaN;
  }
}

const sums = [
  ...(['calls', 'failed', 'promptTokens', 'cachedTokens', 'completionTokens', 'reasoningTokens'] as const),
  ...(['cost', 'priced', 'unpriced'] as const),
];

export function sumOf(all: readonly UsageSum[]): UsageSum {
  const sum = new UsageSum();
  for (const one of all) sum.add(one);
  return sum;
}
