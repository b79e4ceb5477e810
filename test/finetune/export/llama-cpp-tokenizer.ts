/**
 * How llama.cpp cuts text with a BPE vocabulary whose pre-tokenizer is `bloom`, from the metadata of a GGUF file: its
 * llama-vocab.cpp (2024 to 2026) in short. User-defined tokens are cut out first, the longest first; words are what the
 * pattern finds and what lies between; the merge of the lowest rank goes first, the leftmost among equals; what is no
 * token then falls apart into the bytes of its spelling, of which those above ASCII are lost.
 */
export interface LlamaCppVocabulary {
  readonly tokens: readonly string[];
  /** 1 normal, 3 control, 4 user-defined. */
  readonly kinds: readonly number[];
  /** `left right`, byte-level, in the order of their ranks. */
  readonly merges: readonly string[];
}

export function llamaCppTokenizer({ tokens, kinds, merges }: LlamaCppVocabulary): (text: string) => number[] {
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const ranks = new Map<string, number>();
  for (const [rank, merge] of merges.entries()) if (!ranks.has(merge)) ranks.set(merge, rank);
  const cutOut = tokens.filter((_, id) => kinds[id] === 4).sort((a, b) => b.length - a.length);
  return (text) => {
    let parts: (string | number)[] = [text];
    for (const token of cutOut) parts = parts.flatMap((part) => separated(part, token, ids.get(token)!));
    return parts.flatMap((part) =>
      typeof part === 'number' ? [part] : words(part).flatMap((word) => merged(word, ids, ranks)),
    );
  };
}

function separated(part: string | number, token: string, id: number): (string | number)[] {
  if (typeof part === 'number') return [part];
  return part.split(token).flatMap((piece, i) => [...(i > 0 ? [id] : []), ...(piece === '' ? [] : [piece])]);
}

const bloom = / ?[^(\s|.,!?…。，、।۔،)]+/gu;

/** Words by the pattern, and the text between them, byte-level. */
function words(text: string): string[] {
  const found: string[] = [];
  let at = 0;
  for (const match of text.matchAll(bloom)) {
    found.push(text.slice(at, match.index), match[0]);
    at = match.index + match[0].length;
  }
  return [...found, text.slice(at)].filter((word) => word !== '').map(byteLevel);
}

/** GPT-2's spelling of bytes: printable ones stand for themselves, the others follow from U+0100 on. */
function byteLevel(text: string): string {
  const isShown = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const hidden = Array.from({ length: 256 }, (_, byte) => byte).filter((byte) => !isShown(byte));
  return [...Buffer.from(text)]
    .map((byte) => String.fromCodePoint(isShown(byte) ? byte : 256 + hidden.indexOf(byte)))
    .join('');
}

function merged(
  word: string,
  ids: ReadonlyMap<string, number>,
  ranks: ReadonlyMap<string, number>,
): number[] {
  const symbols = [...word];
  for (;;) {
    let best = { rank: Number.POSITIVE_INFINITY, at: -1 };
    for (let i = 0; i + 1 < symbols.length; i++) {
      const rank = ranks.get(`${symbols[i]} ${symbols[i + 1]}`);
      if (rank !== undefined && rank < best.rank) best = { rank, at: i };
    }
    if (best.at < 0) break;
    symbols.splice(best.at, 2, symbols[best.at]! + symbols[best.at + 1]!);
  }
  return symbols.flatMap((symbol) => {
    const id = ids.get(symbol);
    if (id !== undefined) return [id];
    return [...symbol].flatMap((one) => (one.codePointAt(0)! < 128 ? [ids.get(one)!] : []));
  });
}
