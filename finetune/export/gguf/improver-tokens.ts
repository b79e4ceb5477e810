/**
 * How llama.cpp is brought to cut text like the embedded model's tokenizer, whose pattern it lacks. That one takes whole
 * words of a vocabulary (`, params[3]:`, ` -1.5`, ` 42`, `best`) and single bytes for every other word. Here:
 * - keys and numbers with a decimal are user-defined tokens, which llama.cpp cuts out first, the longest first;
 * - the rest is cut at blanks, commas and points by the pattern of `bloom`, and merges build integers and words. Merges
 *   also build what holds one of these and more, such as `101`: that is no token, so it falls apart into bytes.
 *
 * No such text may hold a blank, which llama.cpp would lose. So three things come out otherwise than here: positive
 * numbers above the grid (` 7.2` has the token ` 7`), integers of five digits and more, and a word of the vocabulary
 * after a blank, as prose has it.
 */

/** The pattern of the embedded model's tokenizer. */
export const improverPattern = String.raw`,? ?params\[[0-9]+\]:| ?-?[0-9]+\.[0-9]| ?[0-9]+| ?[A-Za-z]+|\s|[^\s]`;

/** Whether this token is cut out of the text as it stands. */
export const isCutOut = (text: string): boolean => /^,? ?params\[\d+\]:$|\.\d$/.test(text);

const digits = [...'0123456789'];
const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];

type Merge = readonly [left: string, right: string];

/**
 * Merges in the order of their ranks, in plain text.
 * @param tokens of the vocabulary, in plain text
 */
export function improverMerges(tokens: readonly string[]): readonly Merge[] {
  const afterBlank = tokens
    .filter((text) => /^ (?:[0-9]+|[A-Za-z]+)$/.test(text))
    .map((text) => text.slice(1));
  const words = [...tokens, ...afterBlank].filter((text) => /^[A-Za-z]{2,}$/.test(text));
  const merges = [
    ...numbersAfter('['),
    ...numbersAfter('-'),
    ...bareNumbers(),
    ...words.flatMap(spelling),
    ...closures(words),
    ...afterBlank.map((text) => [' ', text] as const),
  ];
  return [...new Map(merges.map((merge) => [merge.join(' '), merge])).values()];
}

/** All numbers of so many digits. */
const numbers = (count: number): readonly string[] =>
  count === 0 ? [''] : numbers(count - 1).flatMap((number) => digits.map((digit) => number + digit));

/** Numbers of up to three digits that follow a sign, from the left: `[64` is a part of a key, `-12` of a decimal. */
const numbersAfter = (sign: string): Merge[] =>
  [0, 1, 2].flatMap((count) =>
    numbers(count).flatMap((number) => digits.map((digit) => [sign + number, digit] as const)),
  );

/** Numbers of two to four digits: the longest first, lest four become two of two. */
const bareNumbers = (): Merge[] =>
  [3, 2, 1].flatMap((count) =>
    numbers(count).flatMap((number) =>
      digits.flatMap((digit): Merge[] => [
        [number, digit],
        [digit, number],
      ]),
    ),
  );

const spelling = (word: string): Merge[] =>
  Array.from({ length: word.length - 1 }, (_, i) => [word.slice(0, i + 1), word[i + 1]!] as const);

/** What joins a word with the letters beside it, so that `bests` holds no `best`. */
function closures(words: readonly string[]): Merge[] {
  const parts = words.flatMap((word) => spelling(word).map(([left, right]) => left + right));
  return words.flatMap((word) =>
    [...letters, ...parts].flatMap((part): Merge[] => [
      [part, word],
      [word, part],
    ]),
  );
}
