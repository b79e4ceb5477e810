/** Bytes and text of tokens. A token can be part of a character, so streaming and constraints work on bytes. */
import { append } from '../../../base/append.js';
import { settingError, stepsOf, type TokenizerJson } from './tokenizer-settings.js';

export interface TokenBytes {
  /** Returns the bytes that a token adds to the text; empty for special tokens and for unused ids. */
  get(id: number): Uint8Array;
  /** True if the token is a single raw byte (SentencePiece's `<0x0A>`). */
  isByte(id: number): boolean;
  /** True if decoding strips a space at the start of a reply (SentencePiece). */
  readonly stripsFirstSpace: boolean;
}

/** @param tokens the tokenizer's spelling of each token, by id @throws UserError if the decoder isn't supported */
export function createTokenBytes(
  json: TokenizerJson,
  tokens: readonly (string | undefined)[],
  file: string,
): TokenBytes {
  const kinds = stepsOf(json.decoder, 'decoder', 'decoders', decoders, file).map(({ type }) => String(type));
  const form = kinds.join();
  if (!Object.hasOwn(forms, form)) throw settingError('decoder', kinds, Object.keys(forms), file);
  const { byteLevel, stripsFirstSpace } = forms[form]!;
  const specialIds = new Set(json.added_tokens.filter((token) => token.special).map((token) => token.id));
  const table = tokens.map((token, id) => {
    if (token === undefined || specialIds.has(id)) return noBytes;
    return byteLevel ? byteLevelBytes(token) : sentencePieceBytes(token);
  });
  return {
    get: (id) => table[id] ?? noBytes,
    isByte: (id) => !byteLevel && byteToken.test(tokens[id] ?? ''),
    stripsFirstSpace,
  };
}

/** The supported decoders, keyed by the types of their steps. */
const forms: Readonly<Record<string, { readonly byteLevel: boolean; readonly stripsFirstSpace: boolean }>> = {
  ByteLevel: { byteLevel: true, stripsFirstSpace: false },
  'Replace,ByteFallback,Fuse': { byteLevel: false, stripsFirstSpace: false },
  'Replace,ByteFallback,Fuse,Strip': { byteLevel: false, stripsFirstSpace: true },
};
const decoders = {
  ByteLevel: { add_prefix_space: () => true, trim_offsets: () => true, use_regex: () => true },
  Replace: { pattern: (value: unknown) => JSON.stringify(value) === '{"String":"▁"}', content: [' '] },
  ByteFallback: {},
  Fuse: {},
  Strip: { content: [' '], start: [1], stop: [0] },
};

const encoder = new TextEncoder();
const noBytes = new Uint8Array(0);

/** GPT-2's byte alphabet (Radford et al. 2019): printable Latin-1 as is; the other bytes in order from U+0100. */
const byteOfCharacter = new Map<string, number>();
{
  let next = 0x100;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    byteOfCharacter.set(String.fromCodePoint(isPrintable ? byte : next++), byte);
  }
}

function byteLevelBytes(token: string): Uint8Array {
  const bytes: number[] = [];
  for (const character of token) {
    const byte = byteOfCharacter.get(character);
    // A token that contains any character outside the alphabet represents itself.
    if (byte === undefined) return encoder.encode(token);
    bytes.push(byte);
  }
  return Uint8Array.from(bytes);
}

const byteToken = /^<0x([0-9A-Fa-f]{2})>$/;

/** Converts a SentencePiece token, where `<0x0A>` is a byte, and `▁` is a space. */
function sentencePieceBytes(token: string): Uint8Array {
  const byteMatch = byteToken.exec(token);
  return byteMatch === null
    ? encoder.encode(token.replaceAll('▁', ' '))
    : Uint8Array.of(Number.parseInt(byteMatch[1]!, 16));
}

/** Decodes tokens as they arrive, and holds back incomplete characters. */
export class TextStream {
  readonly #bytes: TokenBytes;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  /** Consecutive raw bytes that haven't become text yet. */
  #rawBytes: number[] = [];
  #started = false;

  constructor(bytes: TokenBytes) {
    this.#bytes = bytes;
  }

  /** Returns the text that this token completes; may be empty. */
  push(id: number): string {
    let bytes = this.#bytes.get(id);
    if (bytes.length === 0) return '';
    if (!this.#started) {
      this.#started = true;
      if (this.#bytes.stripsFirstSpace && bytes[0] === 0x20) bytes = bytes.subarray(1);
    }
    if (this.#bytes.isByte(id)) {
      append(this.#rawBytes, bytes);
      return '';
    }
    return this.#endRun() + this.#decoder.decode(bytes, { stream: true });
  }

  /** Returns the remaining text; a character that was never completed becomes U+FFFD. */
  end(): string {
    return this.#endRun() + this.#decoder.decode();
  }

  /** Decodes a run of raw bytes. As in Hugging Face, an invalid run becomes one U+FFFD per byte. */
  #endRun(): string {
    const rawBytes = this.#rawBytes;
    if (rawBytes.length === 0) return '';
    this.#rawBytes = [];
    try {
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Uint8Array.from(rawBytes));
    } catch {
      return '\u{FFFD}'.repeat(rawBytes.length);
    }
  }
}
