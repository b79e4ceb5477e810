/** Numbers in plain decimal notation: digits and a point, no exponent, no plus sign. */
export interface NumberKind {
  /** Smallest and largest allowed number, both inclusive. */
  readonly low: number;
  readonly high: number;
  /** Most digits after the point; 0 for integers. */
  readonly decimals: number;
  /** The allowed numbers, where they are not all of the range. */
  readonly choices?: readonly number[];
}

/**
 * The form of an answer: a list of numbers, each behind its label, with free text before and after. Providers that can
 * constrain decoding enforce it, in this form or as a JSON object with the same list.
 */
export interface AnswerGrammar {
  /** What stands before each number and one space; from the second on, the separator too: `a[0]:`, `, a[1]:`, … */
  readonly labels: readonly string[];
  readonly number: NumberKind;
  /** How free text would begin another list: before the answer it must not open one, after it not occur at all. */
  readonly mention: string;
  /** Key of the list where the answer is JSON. */
  readonly key: string;
}
