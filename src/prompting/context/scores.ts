/** Formats scores for prompts: two decimals, plus as many more as needed to distinguish scores. */
import type { BufferEntry } from '../../rollout/replay-buffer.js';
import { nearBest, noiseFloor, spreadOf } from '../../statistics/noise-floor.js';
import { formatValue } from '../notation/grammar.js';

interface Scored {
  /** 0 for the warm-up. */
  readonly iteration: number;
  readonly score: number;
}

export type ScoreText = (score: number) => string;

/** Scores that agree in this many significant digits differ only by rounding errors. */
const mostDigits = 15;
/** With more decimals than this, numbers are written with an exponent. */
const mostDecimals = 20;

/** Minimum number of significant digits. */
const leastDigits = 3;

/** Two decimals, as in `131.35`, or more if three significant digits need them, as in `0.000123`. */
export const scoreText: ScoreText = (score) => written(score, decimalsOf(score, leastDigits));

/** Formats scores that are all known in advance. */
export function scoreTexts(scores: readonly number[]): ScoreText {
  const texts = new ScoreTexts();
  texts.know(scores.map((score) => ({ iteration: 0, score })));
  return texts.of;
}

/** The noise floor of the best policies of the warm-up, rounded down to 1, 2 or 5 times a power of ten; 0 without noise. */
export function noiseUnit(entries: readonly BufferEntry[], paired: boolean): number {
  const warmup = entries.filter(({ iteration }) => iteration === 0).toSorted((a, b) => b.score - a.score);
  const returns = warmup.slice(0, nearBest).map((entry) => entry.returns);
  const spread = spreadOf(returns, paired);
  const floor = spread === undefined ? 0 : noiseFloor(spread, returns[0]!.length);
  const power = floor === 0 ? 0 : 10 ** Math.floor(Math.log10(floor));
  return power * [5, 2, 1].find((digit) => digit * power <= floor)!;
}

/**
 * Formats the scores of a growing history, each based only on earlier ones, so prompts share their beginning.
 * The spread of the warm-up determines the decimals; a score that would look like a different one gets more.
 */
export class ScoreTexts {
  readonly #texts = new Map<number, string>();
  readonly #scores = new Map<string, number>();
  #least = 0;
  #unit = 0;
  #known = 0;
  #last: Scored | undefined;

  /** Formats a score, even one that isn't in the history. */
  readonly of: ScoreText = (score) => this.#texts.get(score) ?? this.#own(score);

  /**
   * Registers the whole history, oldest first.
   * @param unit rounds scores to its multiples, if above 0
   * @returns true if scores formatted earlier may look different now
   */
  know(entries: readonly Scored[], unit = 0): boolean {
    const least = decimalsFor(firstScores(entries));
    const isSame = least === this.#least && unit === this.#unit;
    const isMore = isSame && entries[this.#known - 1] === this.#last;
    if (!isMore) {
      this.#texts.clear();
      this.#scores.clear();
      this.#known = 0;
    }
    this.#least = least;
    this.#unit = unit;
    for (; this.#known < entries.length; this.#known++) this.#add(entries[this.#known]!.score);
    this.#last = entries[this.#known - 1];
    return !isMore;
  }

  #add(score: number): void {
    let text = this.#own(score);
    for (
      let more = 1;
      this.#unit === 0 && more <= mostDigits && (this.#scores.get(text) ?? score) !== score;
      more++
    )
      text = this.#own(score, more);
    if (!this.#scores.has(text)) this.#scores.set(text, score);
    this.#texts.set(score, text);
  }

  #own(score: number, more = 0): string {
    const unit = this.#unit;
    if (unit > 0)
      return formatValue(unit * Math.round(score / unit), Math.max(0, -Math.floor(Math.log10(unit))));
    const decimals = Math.max(this.#least, decimalsOf(score, leastDigits)) + more;
    return written(score, Math.max(2, Math.min(decimals, decimalsOf(score, mostDigits))));
  }
}

/** The scores that determine the common number of decimals: the warm-up's, or more if those are all equal. */
function firstScores(entries: readonly Scored[]): readonly number[] {
  const first = entries[0]?.score;
  const proposed = entries.findIndex(({ iteration }) => iteration > 0);
  const other = entries.findIndex(({ score }) => score !== first);
  const end = Math.max(proposed < 0 ? entries.length : proposed, other + 1);
  return entries.slice(0, end).map(({ score }) => score);
}

/** Number of decimals needed to resolve a tenth of the scores' range; at least two. */
function decimalsFor(scores: readonly number[]): number {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const score of scores) {
    low = Math.min(low, score);
    high = Math.max(high, score);
  }
  return high > low ? Math.max(2, 1 + Math.ceil(-Math.log10(high - low))) : 2;
}

/** Number of decimals needed to show `digits` significant digits; at least two. */
const decimalsOf = (score: number, digits: number): number =>
  score === 0 ? 2 : Math.max(2, digits - 1 - Math.floor(Math.log10(Math.abs(score))));

/** Formats with `decimals` decimals; trailing zeros beyond the second decimal are dropped. */
function written(score: number, decimals: number): string {
  if (decimals <= mostDecimals) return formatValue(score, decimals).replace(/(\.\d{2}(?:0*[1-9])*)0+$/, '$1');
  const digits = decimals + Math.floor(Math.log10(Math.abs(score)));
  return digits < 0 ? formatValue(0, 2) : score.toExponential(Math.min(digits, mostDigits));
}
