/**
 * Why a reply could not be taken as parameters. A model's bad reply is data, not an error: it is logged, counted,
 * and told back to the model by the format-correction prompt.
 */
export type ParseFailure =
  /** No parameters found at all. */
  | { readonly kind: 'missing' }
  /** Some indices are absent, or there are too many. */
  | {
      readonly kind: 'count';
      readonly expected: number;
      readonly found: number;
      readonly absent: readonly number[];
      readonly unknown: readonly number[];
    }
  /** A value outside the range, or not among the choices. */
  | {
      readonly kind: 'range';
      readonly values: readonly IndexedText[];
      readonly low: number;
      readonly high: number;
      readonly choices?: readonly number[];
    }
  /** More digits after the decimal point than allowed. */
  | { readonly kind: 'decimals'; readonly values: readonly IndexedText[]; readonly decimals: number }
  /** An index was given twice with different values. */
  | { readonly kind: 'duplicate-index'; readonly indices: readonly number[] }
  /** NaN, Infinity, or something that is no number. */
  | { readonly kind: 'not-finite'; readonly values: readonly IndexedText[] }
  /** These parameters were evaluated before. */
  | { readonly kind: 'repeated'; readonly iteration?: number; readonly score?: number }
  /** The reply was cut at its token limit before the answer was complete. */
  | { readonly kind: 'truncated' }
  /** The reply only quotes the prompt: history lines or the format example. */
  | { readonly kind: 'echo' };

export interface IndexedText {
  readonly index: number;
  readonly text: string;
}

export type ParseFailureKind = ParseFailure['kind'];

export type Result<T, E> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: E };
