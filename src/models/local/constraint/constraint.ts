/** Constrained decoding: finds the tokens that keep a reply valid. It works on bytes, for any byte-based tokenizer. */
import { UserError } from '../../../base/errors.js';
import type { AnswerGrammar } from '../../language-model.js';
import type { ChatTokenizer } from '../tokens/tokenizer.js';
import {
  type AnswerAutomaton,
  type AnswerState,
  createAnswerAutomaton,
  openerOf,
  patternLastCharacters,
  thinkingStart,
} from './answer-automaton.js';
import type { TokenMask } from './sampling.js';

export interface Constraint {
  /** Number of tokens that suffice for a complete answer, not counting free text. */
  readonly answerTokens: number;
  start(): ConstraintState;
}

export interface ConstraintState {
  /** @param remaining number of tokens that can still be generated, including the next one */
  mask(remaining: number): TokenMask;
  accept(id: number): void;
}

/** The vocabulary in the form that constraints need; built once per model. */
export interface ConstraintVocabulary {
  readonly bytes: readonly Uint8Array[];
  /** Token ids by their first byte. */
  readonly byFirstByte: readonly (readonly number[])[];
  /** Ids that are never chosen as text: end and control tokens, unused embedding rows, and raw bytes beyond ASCII. */
  readonly silentIds: readonly number[];
  readonly eosTokens: ReadonlySet<number>;
  /** Tokens whose bytes together spell exactly this text; empty if the vocabulary can't spell it. */
  spell(text: string): readonly number[];
}

export function createVocabulary(
  tokenizer: ChatTokenizer,
  size: number,
  eosTokens: ReadonlySet<number>,
): ConstraintVocabulary {
  const bytes = Array.from({ length: size }, (_, id) => {
    const token = tokenizer.bytes.get(id);
    // A run of raw bytes decodes as a whole or not at all, so a stray one would corrupt the answer.
    const isStray = tokenizer.bytes.isByte(id) && token[0]! >= 0x80;
    return isStray || eosTokens.has(id) || tokenizer.controlIds.has(id) ? new Uint8Array(0) : token;
  });
  const byFirstByte: number[][] = Array.from({ length: 256 }, () => []);
  bytes.forEach((token, id) => {
    if (token.length > 0) byFirstByte[token[0]!]!.push(id);
  });
  return {
    bytes,
    byFirstByte,
    silentIds: [...bytes.keys()].filter((id) => bytes[id]!.length === 0),
    eosTokens,
    spell: createSpeller(tokenizer, bytes, byFirstByte),
  };
}

/** Creates a function that spells a text exactly: as the tokenizer does or else with the longest tokens that fit. */
function createSpeller(
  tokenizer: ChatTokenizer,
  bytes: readonly Uint8Array[],
  byFirstByte: readonly (readonly number[])[],
): (text: string) => readonly number[] {
  const cache = new Map<string, readonly number[]>();
  // Among tokens of the same length, ordinary ones come before raw bytes, because models write the ordinary ones.
  const rank = (id: number) => bytes[id]!.length - (tokenizer.bytes.isByte(id) ? 0.5 : 0);
  const spell = (text: string) => {
    const target = Buffer.from(text);
    const encoded = tokenizer.encodeText(text);
    if (Buffer.concat(encoded.map((id) => bytes[id]!)).equals(target)) return encoded;
    const ids: number[] = [];
    for (let at = 0; at < target.length; ) {
      const candidates = byFirstByte[target[at]!]!.filter((id) => target.indexOf(bytes[id]!, at) === at);
      if (candidates.length === 0) return [];
      const longest = candidates.reduce((a, b) => (rank(b) > rank(a) ? b : a));
      ids.push(longest);
      at += bytes[longest]!.length;
    }
    return ids;
  };
  return (text) => {
    const ids = cache.get(text) ?? spell(text);
    cache.set(text, ids);
    return ids;
  };
}

const thinkingEnd = '</think>\n';

interface ReplyRules {
  readonly automaton: AnswerAutomaton;
  readonly vocabulary: ConstraintVocabulary;
  readonly costs: AnswerCosts;
  readonly masks: Map<string, TokenMask>;
  /** Ids of tokens that may be rejected before the answer (`free`) and after it (`after`). */
  readonly suspects: { readonly free: readonly number[]; readonly after: readonly number[] };
}

/**
 * @param isThinking whether the prompt ends inside a thinking block
 * @throws UserError if the tokenizer lacks a token for a required character
 */
export function createConstraint(
  grammar: AnswerGrammar,
  vocabulary: ConstraintVocabulary,
  isThinking: boolean,
): Constraint {
  requireCharacters(
    `0123456789-. ${grammar.labels.join('')}${grammar.closing ?? ''}${thinkingEnd}`,
    vocabulary,
  );
  const automaton = createAnswerAutomaton(grammar);
  const costs = answerCosts(automaton, vocabulary);
  const rules: ReplyRules = {
    automaton,
    vocabulary,
    costs,
    masks: new Map(),
    suspects: {
      free: idsContaining(openerOf(grammar).slice(-1), vocabulary),
      after: idsContaining(patternLastCharacters(grammar), vocabulary),
    },
  };
  return {
    answerTokens: costs.answer + (isThinking ? vocabulary.spell(thinkingEnd).length : 0),
    start: () =>
      new ReplyState(rules, automaton.start(isThinking ? 'open' : mayThink(vocabulary) ? 'may' : 'none')),
  };
}

/** True if the vocabulary has an ordinary token (not a special one) that is exactly `<think>`. */
const mayThink = ({ byFirstByte, bytes }: ConstraintVocabulary) =>
  byFirstByte[thinkingStart.charCodeAt(0)]!.some(
    (id) => Buffer.from(bytes[id]!).toString() === thinkingStart,
  );

function requireCharacters(characters: string, { bytes, byFirstByte }: ConstraintVocabulary): void {
  const missing = [...new Set(characters)].filter(
    (character) => !byFirstByte[character.charCodeAt(0)]!.some((id) => bytes[id]!.length === 1),
  );
  if (missing.length === 0) return;
  throw new UserError({
    field: 'model.format',
    message: `the model's tokenizer has no single-character token for ${missing.map((c) => JSON.stringify(c)).join(', ')}`,
    hint: 'set model.format to text',
  });
}

/** Returns the ids of tokens that contain any of the characters. */
function idsContaining(characters: string, { bytes }: ConstraintVocabulary): readonly number[] {
  const wantedBytes = Buffer.from(characters);
  return [...bytes.keys()].filter((id) => bytes[id]!.some((byte) => wantedBytes.includes(byte)));
}

interface AnswerCosts {
  /** Upper bound on the tokens of the shortest answer. */
  readonly answer: number;
  /** Upper bound on the tokens needed to finish the answer from free text, even with values of maximum length. */
  readonly start: number;
  /** Upper bound on the tokens of the shortest completion from a state; infinite in free text. */
  fromState(state: AnswerState): number;
}

function answerCosts(automaton: AnswerAutomaton, { spell }: ConstraintVocabulary): AnswerCosts {
  const { literals, valueGrammar } = automaton;
  const count = literals.length - 1;
  const shortestValue = 1 + valueGrammar.shortfall('');
  const longestValue = 1 + valueGrammar.maxLength;
  /** Upper bound on the tokens from the comma before value `index` to the end, with the shortest values. */
  const tails: number[] = [];
  // The last value is followed by the closing text, the end token or a line break.
  tails[count] = 1 + spell(literals[count]!).length;
  for (let index = count - 1; index > 0; index--)
    tails[index] = 1 + spell(literals[index]!.slice(1)).length + shortestValue + tails[index + 1]!;
  const start =
    thinkingEnd.length +
    literals[0]!.length +
    tails[1]! +
    longestValue +
    (count - 1) * (longestValue - shortestValue);
  return {
    answer: spell(literals[0]!).length + shortestValue + tails[1]!,
    start,
    fromState(state) {
      if (state.kind === 'free') return Number.POSITIVE_INFINITY;
      if (state.kind === 'lead') return start;
      if (state.kind === 'after' || state.kind === 'end') return 0;
      const needed = state.kind === 'literal' ? spell(literals[state.index]!.slice(state.offset)).length : 0;
      const tail = tails[state.index + 1];
      if (tail === undefined) return needed + 1;
      const valueText = state.kind === 'value' ? state.text.trimStart() : '';
      return needed + tail + (valueText === '' ? shortestValue : valueGrammar.shortfall(valueText));
    },
  };
}

/** Maximum number of cached masks per constraint. They are cached because states recur across candidates and calls. */
const maxCachedMasks = 4096;

class ReplyState implements ConstraintState {
  readonly #rules: ReplyRules;
  #state: AnswerState;
  /** Tokens that must come next, because they spell a fixed part of the reply. */
  #forcedIds: readonly number[] = [];

  constructor(rules: ReplyRules, state: AnswerState) {
    this.#rules = rules;
    this.#state = state;
    this.#spellOut();
  }

  mask(remaining: number): TokenMask {
    const state = this.#state;
    if (state.kind === 'free' && this.#forcedIds.length === 0 && remaining - 1 < this.#rules.costs.start) {
      // The answer may need the whole remaining budget, so it must start now.
      const prefix = state.isThinking ? thinkingEnd : state.isAnchored ? '' : '\n';
      this.#forcedIds = [prefix, this.#literals[0]!].flatMap((text) =>
        text === '' ? [] : this.#rules.vocabulary.spell(text),
      );
    }
    const next = this.#forcedIds[0];
    if (next !== undefined) return { kind: 'only', ids: Int32Array.of(next) };
    const mask = this.#stateMask(state);
    return mask.kind === 'only' ? this.#withinBudget(mask, remaining - 1) : mask;
  }

  accept(id: number): void {
    this.#forcedIds = this.#forcedIds.slice(1);
    if (this.#rules.vocabulary.eosTokens.has(id)) return;
    const state = this.#walk(this.#state, id);
    if (state === undefined) throw new Error(`token ${id} violates the answer's format`);
    this.#state = state;
    this.#spellOut();
  }

  /** Forces the rest of a label, or of the closing text. */
  #spellOut(): void {
    if (this.#state.kind !== 'literal' || this.#forcedIds.length > 0) return;
    const { index, offset } = this.#state;
    this.#forcedIds = this.#rules.vocabulary.spell(this.#literals[index]!.slice(offset));
  }

  get #literals(): readonly string[] {
    return this.#rules.automaton.literals;
  }

  #walk(from: AnswerState, id: number): AnswerState | undefined {
    let state: AnswerState | undefined = from;
    for (const byte of this.#rules.vocabulary.bytes[id]!) {
      state = this.#rules.automaton.step(state, byte);
      if (state === undefined) break;
    }
    return state;
  }

  /** Removes tokens after which the answer might not fit into `budget` more tokens, unless that removes all. */
  #withinBudget(mask: TokenMask & { kind: 'only' }, budget: number): TokenMask {
    // Any value is shorter than this margin, so tokens are checked individually only near the end of the budget.
    if (budget >= this.#rules.costs.fromState(this.#state) + 64) return mask;
    const { eosTokens } = this.#rules.vocabulary;
    const ids = mask.ids.filter((id) => {
      const nextState = eosTokens.has(id) ? undefined : this.#walk(this.#state, id);
      return nextState === undefined || this.#rules.costs.fromState(nextState) <= budget;
    });
    return ids.length === 0 ? mask : { kind: 'only', ids };
  }

  #stateMask(state: AnswerState): TokenMask {
    const { masks } = this.#rules;
    const key = JSON.stringify(state);
    const known = masks.get(key);
    if (known !== undefined) return known;
    if (masks.size >= maxCachedMasks) masks.clear();
    const mask = this.#computeMask(state);
    masks.set(key, mask);
    return mask;
  }

  #computeMask(state: AnswerState): TokenMask {
    const { automaton, suspects, vocabulary } = this.#rules;
    const { silentIds, eosTokens, byFirstByte } = vocabulary;
    const mayEnd = automaton.canEnd(state);
    if (state.kind === 'free' || state.kind === 'after') {
      const rejectedIds = suspects[state.kind].filter((id) => this.#walk(state, id) === undefined);
      const skippedIds = mayEnd ? silentIds.filter((id) => !eosTokens.has(id)) : silentIds;
      return { kind: 'except', ids: Int32Array.from([...skippedIds, ...rejectedIds]) };
    }
    const ids: number[] = mayEnd ? [...eosTokens] : [];
    for (let byte = 0; byte < 256; byte++) {
      if (automaton.step(state, byte) === undefined) continue;
      for (const id of byFirstByte[byte]!) if (this.#walk(state, id) !== undefined) ids.push(id);
    }
    return { kind: 'only', ids: Int32Array.from(ids).sort() };
  }
}
