/** Constrained decoding for any form: a walk through the vocabulary finds the tokens that may come next. */
import type { Constraint, ConstraintState, ConstraintVocabulary } from '../constraint.js';
import type { TokenMask } from '../sampling.js';
import { FormError } from './expression-table.js';
import { bounded, type SealedForm } from './text-form.js';
import { type TokenTree, tokenTree } from './token-tree.js';

/** Maximum number of token ids in the cached masks of a form (32 MiB). */
const idsKept = 2 ** 23;
/** Maximum number of bytes spelled out at a time without asking the model. */
const longestSpelled = 256;

interface Rules extends SealedForm {
  readonly vocabulary: ConstraintVocabulary;
  readonly tree: TokenTree;
  readonly masks: Map<number, TokenMask>;
  /** For each state, the tokens of the only text that can follow, without the last: a longer one could replace it. */
  readonly spelled: Map<number, readonly number[]>;
  kept: number;
}

export function formConstraint(form: SealedForm, vocabulary: ConstraintVocabulary): Constraint {
  const rules = {
    ...form,
    vocabulary,
    tree: tokenTree(vocabulary),
    masks: new Map(),
    spelled: new Map(),
    kept: 0,
  };
  return { answerTokens: 1, start: () => new FormState(rules) };
}

class FormState implements ConstraintState {
  readonly #rules: Rules;
  /** The expression that the rest of the answer must match. */
  #rest: number;
  #forced: readonly number[] = [];

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#rest = rules.root;
  }

  /** @throws FormError if the form proves too complex, or the tokenizer can't write its characters */
  mask(): TokenMask {
    this.#rules.expressions.begin();
    return bounded(() => {
      if (this.#forced.length === 0) this.#forced = spelledFrom(this.#rules, this.#rest);
      const [next] = this.#forced;
      return next === undefined
        ? maskOf(this.#rules, this.#rest)
        : { kind: 'only', ids: Int32Array.of(next) };
    });
  }

  take(id: number): void {
    this.#forced = this.#forced.slice(1);
    const { expressions: e, vocabulary } = this.#rules;
    bounded(() => {
      for (const byte of vocabulary.bytes[id]!) this.#rest = e.derive(this.#rest, e.classes[byte]!);
    });
    if (this.#rest === e.nothing) throw new Error(`token ${id} violates the answer's form`);
  }

  /** Returns 0, so that stop strings take effect anywhere. */
  answerEnd(): number {
    return 0;
  }
}

function maskOf(rules: Rules, rest: number): TokenMask {
  const known = rules.masks.get(rest);
  if (known !== undefined) return known;
  const mask = computeMask(rules, rest);
  rules.kept += mask.ids.length;
  if (rules.kept > idsKept) {
    rules.masks.clear();
    rules.kept = mask.ids.length;
  }
  rules.masks.set(rest, mask);
  return mask;
}

/** Walks the token tree depth first, and skips branches that can't continue the answer. */
function computeMask({ expressions: e, tree, vocabulary }: Rules, rest: number): TokenMask {
  const { bytes, depths, ends, ids, starts } = tree;
  const { classes, nothing } = e;
  const allowed = new Uint8Array(vocabulary.bytes.length);
  const states = new Int32Array(tree.deepest + 1);
  /** Derivatives by class of bytes, for each of `states`. */
  const rows: Int32Array[] = [e.derivatives(rest)];
  states[0] = rest;
  let count = 0;
  for (let node = 0; node < bytes.length; ) {
    const depth = depths[node]!;
    const byteClass = classes[bytes[node]!]!;
    const known = rows[depth - 1]![byteClass]!;
    const state = known < 0 ? e.derive(states[depth - 1]!, byteClass) : known;
    if (state === nothing) {
      node = ends[node]!;
      continue;
    }
    states[depth] = state;
    rows[depth] = e.derivatives(state);
    for (let i = starts[node]!; i < starts[node + 1]!; i++, count++) allowed[ids[i]!] = 1;
    node++;
  }
  if (e.nullable(rest))
    for (const id of vocabulary.eosTokens) {
      if (id >= allowed.length) continue;
      allowed[id] = 1;
      count++;
    }
  if (count === 0) throw new FormError('the model’s tokenizer can’t write the characters of this form');
  const wanted = count <= allowed.length / 2 ? 1 : 0;
  const found = new Int32Array(wanted === 1 ? count : allowed.length - count);
  let next = 0;
  for (let id = 0; id < allowed.length; id++) if (allowed[id] === wanted) found[next++] = id;
  return { kind: wanted === 1 ? 'only' : 'except', ids: found };
}

function spelledFrom(rules: Rules, rest: number): readonly number[] {
  const known = rules.spelled.get(rest);
  if (known !== undefined) return known;
  const { expressions: e, vocabulary } = rules;
  const text: number[] = [];
  for (let state = rest; text.length < longestSpelled && !e.nullable(state); ) {
    const byte = e.onlyByte(state);
    if (byte === undefined) break;
    text.push(byte);
    state = e.derive(state, e.classes[byte]!);
  }
  // Spell only whole characters: the text may end within one.
  const characters = new TextDecoder().decode(Uint8Array.from(text), { stream: true });
  const ids = text.length < 2 || (text[0]! & 0xc0) === 0x80 ? [] : vocabulary.spell(characters).slice(0, -1);
  rules.spelled.set(rest, ids);
  return ids;
}
