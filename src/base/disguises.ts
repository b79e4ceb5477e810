/** Hides secrets that a server repeats in another form: in pieces, encoded, reversed or in capitals. */

/** A secret with fewer letters and digits could be an ordinary word. */
const fewest = 12;

/** The letters and digits in a text, and their positions. */
function bare(text: string): { readonly letters: string; readonly places: readonly number[] } {
  const places: number[] = [];
  let letters = '';
  // Blank out the prefixes of `\x41`, `\u0041`, `0x41` and `&#x41;`, so that only the digits remain.
  const digits = text.replaceAll(/\\x|\\u00|0x(?=[\da-f]{2}\b)|&#x?/gi, (found) => ' '.repeat(found.length));
  for (let at = 0; at < digits.length; at++) {
    const code = digits.charCodeAt(at) | 0x20;
    if (!(code >= 0x61 && code <= 0x7a) && !(code >= 0x30 && code <= 0x39 && digits.charCodeAt(at) === code))
      continue;
    letters += digits[at]!;
    places.push(at);
  }
  return { letters, places };
}

/** Whether text is too irregular to be a word or a number. */
const isMixed = (text: string) => (/\d/.test(text) && /[a-z]/i.test(text)) || /[a-z][A-Z]/.test(text);

const windows = (text: string, size: number): readonly string[] =>
  Array.from({ length: Math.max(0, text.length - size + 1) }, (_, at) => text.slice(at, at + size));

/** The forms of a secret. A piece of a form with at least `size` characters is unlikely to occur in other text. */
function formsOf(secret: string): readonly (readonly [form: string, size: number])[] {
  return [secret, [...secret].reverse().join('')].flatMap((text) => [
    [text, 8] as const,
    [encodeURIComponent(text), 8] as const,
    [Buffer.from(text).toString('hex'), 16] as const,
    [Buffer.from(text).join(' '), 13] as const,
    // The base64 of a secret depends on the number of bytes before it, modulo 3.
    ...[0, 1, 2].map((shift) => {
      const encoded = Buffer.from('\0'.repeat(shift) + text).toString('base64');
      return [encoded.slice(shift && shift + 1), 11] as const;
    }),
  ]);
}

/** Pieces are indexed by a prefix of this length. */
const startLength = 5;

/** Pieces by prefix. Pieces that could be words or numbers must be longer. */
function piecesOf(secret: string): ReadonlyMap<string, ReadonlySet<string>> {
  const pieces = new Map<string, Set<string>>();
  for (const [form, size] of formsOf(secret)) {
    const { letters } = bare(form);
    const all = [...windows(letters, size).filter(isMixed), ...windows(letters, size + 5)];
    for (const piece of all.map((one) => one.toLowerCase())) {
      const start = piece.slice(0, startLength);
      pieces.set(start, (pieces.get(start) ?? new Set()).add(piece));
    }
  }
  return pieces;
}

const known = new Map<string, ReadonlyMap<string, ReadonlySet<string>>>();

/** Hides a secret in any of its forms; hides the whole text if many short pieces of the secret remain. */
export function hideDisguised(text: string, secret: string, hidden: string): string {
  const own = bare(secret).letters;
  if (own.length < fewest) return text;
  const pieces = known.get(secret) ?? piecesOf(secret);
  known.set(secret, pieces);
  const { letters: written, places } = bare(text);
  const letters = written.toLowerCase();
  const isPart = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++)
    for (const piece of pieces.get(letters.slice(at, at + startLength)) ?? [])
      if (letters.startsWith(piece, at)) isPart.fill(1, at, at + piece.length);
  let [safe, rest, end] = ['', '', 0];
  for (const [i, place] of places.entries()) {
    if (isPart[i] === 0) rest += letters[i];
    else {
      if (!isPart[i - 1]) safe += text.slice(end, place) + hidden;
      end = place + 1;
    }
  }
  const short = new Set(
    windows(own, 3)
      .filter(isMixed)
      .map((piece) => piece.toLowerCase()),
  );
  const left = [...short].filter((piece) => rest.includes(piece)).length;
  const isRepeated = left >= (safe === '' ? Math.max(3, 0.4 * short.size) : 3);
  return isRepeated ? hidden : safe + text.slice(end);
}
