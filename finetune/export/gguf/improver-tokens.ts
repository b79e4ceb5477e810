/**
 * Makes llama.cpp split text like the embedded model's tokenizer, whose pattern it lacks. That tokenizer
 * takes whole words from a vocabulary (`, params[3]:`, ` -1.5`, ` 42`, `best`) and single bytes for all other
 * words. In llama.cpp:
 * - Keys and numbers with a decimal are user-defined tokens, which llama.cpp extracts first, longest first.
 * - The rest is split at spaces, commas and periods by the pattern of `bloom`, and merges build integers and
 *   words. Merges also build longer strings that contain one of these, such as `101`. Those aren't tokens, so
 *   they fall apart into bytes.
 * Merged strings that aren't tokens must not contain a space, because llama.cpp loses it when it splits them
 * into bytes. Three things therefore differ: positive numbers above the grid (` 7.2` contains the token ` 7`),
 * integers with five or more digits, and a vocabulary word after a space, as in prose.
 */

/** Pattern of the embedded model's tokenizer. */
export const improverPattern = String.raw`,? ?params\[[0-9]+\]:| ?-?[0-9]+\.[0-9]| ?[0-9]+| ?[A-Za-z]+|\s|[^\s]`;

/** True for tokens that become user-defined, so llama.cpp extracts them literally. */
export const isCutOut = (text: string): boolean => /^,? ?params\[\d+\]:$|\.\d$/.test(text);

const digits = [...'0123456789'];
const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];

type Merge = readonly [left: string, right: string];

/**
 * Merges as plain text, by rank.
 * @param tokens the vocabulary as plain text
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

/** All numbers with `count` digits. */
const numbers = (count: number): readonly string[] =>
  count === 0 ? [''] : numbers(count - 1).flatMap((number) => digits.map((digit) => number + digit));

/** Numbers of up to three digits after a sign, built from the left: `[64` is part of a key, `-12` of a decimal. */
const numbersAfter = (sign: string): Merge[] =>
  [0, 1, 2].flatMap((count) =>
    numbers(count).flatMap((number) => digits.map((digit) => [sign + number, digit] as const)),
  );

/** Numbers of two to four digits. The longest come first, or four digits would become two pairs. */
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

/** Joins a word with adjacent letters, so `bests` isn't split into `best` and `s`. */
function closures(words: readonly string[]): Merge[] {
  const parts = words.flatMap((word) => spelling(word).map(([left, right]) => left + right));
  return words.flatMap((word) =>
    [...letters, ...parts].flatMap((part): Merge[] => [
      [part, word],
      [word, part],
    ]),
  );
}
