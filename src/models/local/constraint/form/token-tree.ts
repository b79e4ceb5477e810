/** The vocabulary as a prefix tree, whose nodes are in depth-first order. */
import type { ConstraintVocabulary } from '../constraint.js';

export interface TokenTree {
  /** Per node: its byte, its depth (1 for first bytes), and the node after its descendants. */
  readonly bytes: Uint8Array;
  readonly depths: Uint16Array;
  readonly ends: Int32Array;
  /** The tokens that end at node n are in `ids` from index `starts[n]` to before `starts[n + 1]`. */
  readonly starts: Int32Array;
  readonly ids: Int32Array;
  readonly deepest: number;
}

const trees = new WeakMap<ConstraintVocabulary, TokenTree>();

export function tokenTree(vocabulary: ConstraintVocabulary): TokenTree {
  const known = trees.get(vocabulary) ?? buildTree(vocabulary.bytes);
  trees.set(vocabulary, known);
  return known;
}

function buildTree(tokens: readonly Uint8Array[]): TokenTree {
  const keys = tokens.map((token) => Buffer.from(token).toString('latin1'));
  const ids = [...tokens.keys()]
    .filter((id) => keys[id] !== '')
    .sort((a, b) => (keys[a]! < keys[b]! ? -1 : keys[a]! > keys[b]! ? 1 : a - b));
  const [bytes, depths, ends, starts]: number[][] = [[], [], [], []];
  const path: number[] = [];
  let previous = '';
  ids.forEach((id, i) => {
    const key = keys[id]!;
    let shared = 0;
    while (shared < path.length && key[shared] === previous[shared]) shared++;
    while (path.length > shared) ends![path.pop()!] = bytes!.length;
    for (let depth = shared; depth < key.length; depth++) {
      path.push(bytes!.length);
      bytes!.push(key.charCodeAt(depth));
      depths!.push(depth + 1);
      starts!.push(i);
    }
    previous = key;
  });
  for (const node of path) ends![node] = bytes!.length;
  return {
    bytes: Uint8Array.from(bytes!),
    depths: Uint16Array.from(depths!),
    ends: Int32Array.from(ends!),
    starts: Int32Array.from([...starts!, ids.length]),
    ids: Int32Array.from(ids),
    deepest: keys.reduce((most, { length }) => Math.max(most, length), 0),
  };
}
