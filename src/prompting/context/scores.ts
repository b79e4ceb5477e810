/** How prompts tell scores: with two decimals, and as many more as it takes to tell them apart. */
import { formatValue } from '../notation/written.js';

interface Scored {
  /** 0: the warm-up. */
  readonly iteration: number;
  readonly score: number;
}

export type ScoreText = (score: number) => string;

/** Two scores that agree in this many significant digits differ by rounding errors only. */
const mostDigits = 15;
/** Smaller numbers are written with an exponent. */
const mostDecimals = 20;

/** Runs of earlier versions tell two decimals only. */
export const twoDecimals: ScoreText = (score) => formatValue(score, 2);

/** `131.35`, and at least `digits` significant digits of a score below 1: `0.05`, `0.000123`. */
export function scoreText(score: number, digits: number): string {
  return written(score, decimalsOf(score, digits));
}

/**
 * The texts of a few scores, which are known from the start.
 * @param digits as `memory.digits` has it: undefined in runs of earlier versions
 */
export function scoreTexts(digits: number | undefined, scores: readonly number[]): ScoreText {
  const texts = new ScoreTexts(digits);
  texts.know(scores.map((score) => ({ iteration: 0, score })));
  return texts.of;
}

/**
 * The texts of the scores of a growing history. A text depends on earlier entries only, so a prompt that shows more of
 * them begins like the one before: decimals follow from the spread of the warm-up, and a later score that would read like
 * another one gets more.
 */
export class ScoreTexts {
  readonly #digits: number | undefined;
  readonly #texts = new Map<number, string>();
  readonly #scores = new Map<string, number>();
  #least = 0;
  #known = 0;
  #last: Scored | undefined;

  constructor(digits: number | undefined) {
    this.#digits = digits;
  }

  /** Of a score that is not in the history, too. */
  readonly of: ScoreText = (score) => this.#texts.get(score) ?? this.#own(score);

  /**
   * @param entries the whole history, oldest first
   * @returns whether texts that were given before may have changed
   */
  know(entries: readonly Scored[]): boolean {
    if (this.#digits === undefined) return false;
    const least = decimalsFor(firstScores(entries));
    const isMore = least === this.#least && entries[this.#known - 1] === this.#last;
    if (!isMore) {
      this.#texts.clear();
      this.#scores.clear();
      this.#known = 0;
    }
    this.#least = least;
    for (; this.#known < entries.length; this.#known++) this.#add(entries[this.#known]!.score);
    this.#last = entries[this.#known - 1];
    return !isMore;
  }

  #add(score: number): void {
    let text = this.#own(score);
    for (let more = 1; more <= mostDigits && (this.#scores.get(text) ?? score) !== score; more++)
      text = this.#own(score, more);
    if (!this.#scores.has(text)) this.#scores.set(text, score);
    this.#texts.set(score, text);
  }

  #own(score: number, more = 0): string {
    if (this.#digits === undefined) return twoDecimals(score);
    const decimals = Math.max(this.#least, decimalsOf(score, this.#digits)) + more;
    return written(score, Math.max(2, Math.min(decimals, decimalsOf(score, mostDigits))));
  }
}

/** The scores that decide how many decimals all have: those of the warm-up, and on until two differ. */
function firstScores(entries: readonly Scored[]): readonly number[] {
  const first = entries[0]?.score;
  const proposed = entries.findIndex(({ iteration }) => iteration > 0);
  const other = entries.findIndex(({ score }) => score !== first);
  const end = Math.max(proposed < 0 ? entries.length : proposed, other + 1);
  return entries.slice(0, end).map(({ score }) => score);
}

/** Decimals that show a tenth of the spread of some scores; at least two. */
function decimalsFor(scores: readonly number[]): number {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const score of scores) {
    low = Math.min(low, score);
    high = Math.max(high, score);
  }
  return high > low ? Math.max(2, 1 + Math.ceil(-Math.log10(high - low))) : 2;
}

/** Decimals that show so many significant digits; at least two. */
const decimalsOf = (score: number, digits: number): number =>
  score === 0 ? 2 : Math.max(2, digits - 1 - Math.floor(Math.log10(Math.abs(score))));

/** With so many decimals; beyond the second, without zeros at the end. */
function written(score: number, decimals: number): string {
  if (decimals <= mostDecimals) return formatValue(score, decimals).replace(/(\.\d{2}\d*?)0+$/, '$1');
  const digits = decimals + Math.floor(Math.log10(Math.abs(score)));
  return digits < 0 ? formatValue(0, 2) : score.toExponential(Math.min(digits, mostDigits));
}
