/** One line of the bench's output. */
export interface Finding {
  readonly name: string;
  readonly value: string;
  readonly note?: string;
}
