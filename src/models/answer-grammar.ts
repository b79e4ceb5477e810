/** Numbers in plain decimal notation: digits and a point, no exponent, no plus sign. */
export interface NumberKind {
  /** Smallest and largest allowed number, both inclusive. */
  readonly low: number;
  readonly high: number;
  /** Most digits after the point; 0 for integers. */
  readonly decimals: number;
  /** The allowed numbers, where only some of the range are allowed. */
  readonly choices?: readonly number[];
}

/**
 * The form of an answer: a list of numbers, each after its label, with free text before and behind. Providers that can
 * constrain decoding enforce it, in this form or as a JSON object with the same list.
 */
export interface AnswerGrammar {
  /** Text before each number and its space; from the second on with the separator: `a[0]:`, `, a[1]:`, … */
  readonly labels: readonly string[];
  readonly number: NumberKind;
  /** Beginning of a label. Free text before the answer must not open a list with it, text after must not contain it. */
  readonly mention: string;
  /** Key of the list where the answer is JSON. */
  readonly key: string;
}
