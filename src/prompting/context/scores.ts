/** Formats scores for prompts: two decimals, plus as many more as needed to distinguish scores. */
import { formatValue } from '../notation/grammar.js';

interface ScoredEntry {
  /** 0 for the warm-up. */
  readonly iteration: number;
  readonly score: number;
}

export type ScoreFormat = (score: number) => string;

/** Scores that agree in this many significant digits differ only by rounding errors. */
const maxDigits = 15;
/** With more decimals than this, numbers are written with an exponent. */
const maxDecimals = 20;
const minDigits = 3;

/** Formats with two decimals, as in `131.35`, or more if needed for three significant digits, as in `0.000123`. */
export const scoreText: ScoreFormat = (score) => decimalText(score, decimalsOf(score, minDigits));

/** Formats scores that are all known in advance. */
export function scoreFormatFor(scores: readonly number[]): ScoreFormat {
  const formatter = new ScoreFormatter();
  formatter.register(scores.map((score) => ({ iteration: 0, score })));
  return formatter.textOf;
}

/**
 * Formats the scores of a growing history, each based only on earlier ones, so prompts share their beginning.
 * The spread of the warm-up determines the decimals; a score that would look like a different one gets more.
 */
export class ScoreFormatter {
  readonly #texts = new Map<number, string>();
  readonly #scores = new Map<string, number>();
  #minDecimals = 0;
  #knownCount = 0;
  #last: ScoredEntry | undefined;

  /** Formats a score, even one that isn't in the history. */
  readonly textOf: ScoreFormat = (score) => this.#texts.get(score) ?? this.#format(score);

  /** Registers the whole history, oldest first. @returns true if scores formatted earlier may look different now */
  register(entries: readonly ScoredEntry[]): boolean {
    const minDecimals = commonDecimals(firstScores(entries));
    const isExtension = minDecimals === this.#minDecimals && entries[this.#knownCount - 1] === this.#last;
    if (!isExtension) {
      this.#texts.clear();
      this.#scores.clear();
      this.#knownCount = 0;
    }
    this.#minDecimals = minDecimals;
    for (; this.#knownCount < entries.length; this.#knownCount++) this.#add(entries[this.#knownCount]!.score);
    this.#last = entries[this.#knownCount - 1];
    return !isExtension;
  }

  #add(score: number): void {
    let text = this.#format(score);
    for (let more = 1; more <= maxDigits && (this.#scores.get(text) ?? score) !== score; more++)
      text = this.#format(score, more);
    if (!this.#scores.has(text)) this.#scores.set(text, score);
    this.#texts.set(score, text);
  }

  #format(score: number, more = 0): string {
    const decimals = Math.max(this.#minDecimals, decimalsOf(score, minDigits)) + more;
    return decimalText(score, Math.max(2, Math.min(decimals, decimalsOf(score, maxDigits))));
  }
}

/** Selects the scores that determine the common number of decimals: the warm-up's, or more if those are all equal. */
function firstScores(entries: readonly ScoredEntry[]): readonly number[] {
  const firstScore = entries[0]?.score;
  const firstProposal = entries.findIndex(({ iteration }) => iteration > 0);
  const firstOther = entries.findIndex(({ score }) => score !== firstScore);
  const end = Math.max(firstProposal < 0 ? entries.length : firstProposal, firstOther + 1);
  return entries.slice(0, end).map(({ score }) => score);
}

/** Computes the number of decimals needed to resolve a tenth of the scores' range; at least two. */
function commonDecimals(scores: readonly number[]): number {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const score of scores) {
    low = Math.min(low, score);
    high = Math.max(high, score);
  }
  return high > low ? Math.max(2, 1 + Math.ceil(-Math.log10(high - low))) : 2;
}

/** Computes the number of decimals needed to show `digits` significant digits; at least two. */
const decimalsOf = (score: number, digits: number): number =>
  score === 0 ? 2 : Math.max(2, digits - 1 - Math.floor(Math.log10(Math.abs(score))));

/** Formats with `decimals` decimals; trailing zeros beyond the second decimal are dropped. */
function decimalText(score: number, decimals: number): string {
  if (decimals <= maxDecimals) return formatValue(score, decimals).replace(/(\.\d{2}(?:0*[1-9])*)0+$/, '$1');
  const digits = decimals + Math.floor(Math.log10(Math.abs(score)));
  return digits < 0 ? formatValue(0, 2) : score.toExponential(Math.min(digits, maxDigits));
}
