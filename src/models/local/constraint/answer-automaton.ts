import type { AnswerGrammar } from '../../language-model.js';
import { createNumberGrammar, type NumberGrammar } from './number-grammar.js';

/** One step of a pattern matcher. State 0 is the start; `role` is set if this byte completes a pattern. */
type MatcherStep<Role> = (
  state: number,
  byte: number,
) => { readonly next: number; readonly role: Role | undefined };

/** Creates a matcher that finds lower-case ASCII patterns in text of any case, in one pass (Aho & Corasick 1975). */
function createMatcher<Role>(
  patterns: readonly { readonly text: string; readonly role: Role }[],
): MatcherStep<Role> {
  const children: Map<number, number>[] = [new Map()];
  const roles: (Role | undefined)[] = [undefined];
  for (const { text, role } of patterns) {
    let state = 0;
    for (const byte of Buffer.from(text)) {
      let child = children[state]!.get(byte);
      if (child === undefined) {
        child = children.length;
        children.push(new Map());
        roles.push(undefined);
        children[state]!.set(byte, child);
      }
      state = child;
    }
    roles[state] = role;
  }
  // Breadth first: the longest proper suffix of a state is shorter than the state, so it has already been processed.
  const suffix: number[] = new Array(children.length).fill(0);
  const table = new Int32Array(children.length * 256);
  const queue = [0];
  for (const state of queue) {
    roles[state] ??= roles[suffix[state]!];
    for (let byte = 0; byte < 256; byte++) {
      const child = children[state]!.get(byte);
      const fallback = state === 0 ? 0 : table[suffix[state]! * 256 + byte]!;
      if (child === undefined) {
        table[state * 256 + byte] = fallback;
      } else {
        suffix[child] = fallback;
        table[state * 256 + byte] = child;
        queue.push(child);
      }
    }
  }
  return (state, byte) => {
    const lower = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    const next = table[state * 256 + lower]!;
    return { next, role: roles[next] };
  };
}

export type AnswerState =
  /** Before the answer. */
  | {
      readonly kind: 'free';
      readonly matcherState: number;
      readonly isThinking: boolean;
      /** `word`: in a word that contains the grammar's `mention`; `behind`: between that word and the next. */
      readonly mention: 'none' | 'word' | 'behind';
      /** Number of bytes of the answer's opening text matched so far. */
      readonly matched: number;
      /** True if the answer may start here: at a line start, after a colon or after thinking, or after markup there. */
      readonly isAnchored: boolean;
    }
  /** Before an answer that only thinking and white space may precede; `offset` bytes of `<think>` have been read. */
  | { readonly kind: 'lead'; readonly offset: number; readonly mayThink: boolean }
  /** Inside a label, or in the closing text after the last value; `offset` bytes of it have been read. */
  | { readonly kind: 'literal'; readonly index: number; readonly offset: number }
  | { readonly kind: 'value'; readonly index: number; readonly text: string }
  | { readonly kind: 'after'; readonly matcherState: number }
  | { readonly kind: 'end' };

/**
 * Reads a reply byte by byte: free text (including thinking), `a[0]: v, a[1]: v, …`, then free text. With a closing
 * text (even an empty one), only thinking and white space may precede the answer, and nothing may follow it. Rejects
 * any byte after which the reply couldn't be parsed as exactly one valid answer: text before the answer must not start
 * another list, and text after it must not mention one or contain a thinking or channel tag.
 */
export interface AnswerAutomaton {
  /**
   * @param thinking `open`: in a thinking block; `may` or `none`: whether thinking may precede an answer with a closing
   * text (without one, it always may)
   */
  start(thinking: 'open' | 'may' | 'none'): AnswerState;
  /** Returns the next state; undefined if the byte is rejected. */
  step(state: AnswerState, byte: number): AnswerState | undefined;
  canEnd(state: AnswerState): boolean;
  /** Labels without the space before the number, then the closing text (empty if there is none). */
  readonly literals: readonly string[];
  readonly valueGrammar: NumberGrammar;
}

/** Tag with which a model opens a thinking block if its chat template doesn't. */
export const thinkingStart = '<think>';
const thinkingNames = ['think', 'thinking', 'thought', 'reasoning'];
const thinkingPatterns = [
  { text: '<|message|>', role: 'channel' as const },
  ...[...thinkingNames.map((name) => [`<${name}>`, `</${name}>`]), ['[think]', '[/think]']].flatMap(
    ([open, close]) => [
      { text: open!, role: 'open' as const },
      { text: close!, role: 'close' as const },
    ],
  ),
];

/** Returns the first label up to its first punctuation mark or space, inclusive. After it, the answer has started. */
export const openerOf = ({ labels }: Pick<AnswerGrammar, 'labels'>): string => /^\w*\W?/.exec(labels[0]!)![0];

/** Returns the last characters, in lower and upper case, of the patterns that are rejected after the answer. */
export const patternLastCharacters = ({ mention }: Pick<AnswerGrammar, 'mention'>): string =>
  `${mention.at(-1)!.toLowerCase()}${mention.at(-1)!.toUpperCase()}>]`;

const codeOf = (character: string) => character.charCodeAt(0);
const [newline, colon] = [codeOf('\n'), codeOf(':')];
/** Characters, mostly markup, that may come between the start of a line (or a colon) and the answer. */
const markup = new Set([...' \t*_`>#-"\'('].map(codeOf));

export function createAnswerAutomaton(grammar: AnswerGrammar): AnswerAutomaton {
  const { closing, labels } = grammar;
  // The space becomes part of the following number, because many vocabularies have tokens such as ` -`.
  const literals = [...labels.map((label) => label.replace(/ $/, '')), closing ?? ''];
  const valueGrammar = createNumberGrammar(grammar.number);
  const match = createMatcher([{ text: grammar.mention, role: 'mention' as const }, ...thinkingPatterns]);
  const opener = openerOf(grammar);
  const lastIndex = labels.length - 1;
  const spacesIn = (index: number) => labels[index]!.length - literals[index]!.length;
  const isComplete = ({ index, text }: AnswerState & { kind: 'value' }) =>
    text.length > spacesIn(index) && valueGrammar.isComplete(text.slice(spacesIn(index)));
  const afterThinking = (matcher: number): AnswerState =>
    closing === undefined ? freeState(matcher, false) : { kind: 'lead', offset: 0, mayThink: false };

  function stepFree(state: AnswerState & { kind: 'free' }, byte: number): AnswerState | undefined {
    const { next, role } = match(state.matcherState, byte);
    if (state.isThinking) return role === 'close' ? afterThinking(next) : freeState(next, true);
    if (role === 'open') return freeState(next, true);
    const continues = state.matched > 0 && byte === opener.charCodeAt(state.matched);
    const starts = state.isAnchored && byte === codeOf(opener);
    const matched = continues ? state.matched + 1 : starts ? 1 : 0;
    if (matched === opener.length) return { kind: 'literal', index: 0, offset: matched };
    if (byte === opener.charCodeAt(opener.length - 1) && state.mention !== 'none') return undefined;
    return {
      kind: 'free',
      matcherState: next,
      isThinking: false,
      mention: role === 'mention' ? 'word' : mentionAfter(state.mention, byte),
      matched,
      isAnchored: byte === newline || byte === colon || (state.isAnchored && markup.has(byte)),
    };
  }

  function stepLead(state: AnswerState & { kind: 'lead' }, byte: number): AnswerState | undefined {
    if (byte === thinkingStart.charCodeAt(state.offset) && state.mayThink) {
      const offset = state.offset + 1;
      return offset === thinkingStart.length ? freeState(0, true) : { ...state, offset };
    }
    if (state.offset > 0) return undefined;
    if (byte === codeOf(literals[0]!)) return stepLiteral({ kind: 'literal', index: 0, offset: 0 }, byte);
    return byte === newline || byte === codeOf(' ') ? state : undefined;
  }

  function stepLiteral(
    { index, offset }: AnswerState & { kind: 'literal' },
    byte: number,
  ): AnswerState | undefined {
    if (byte !== literals[index]!.charCodeAt(offset)) return undefined;
    if (offset + 1 < literals[index]!.length) return { kind: 'literal', index, offset: offset + 1 };
    return index > lastIndex ? { kind: 'end' } : { kind: 'value', index, text: '' };
  }

  function stepValue(state: AnswerState & { kind: 'value' }, byte: number): AnswerState | undefined {
    const { index } = state;
    const text = state.text + String.fromCharCode(byte);
    const spaces = spacesIn(index);
    const isPart = state.text.length < spaces ? text === ' ' : valueGrammar.isFeasible(text.slice(spaces));
    if (isPart) return { ...state, text };
    if (!isComplete(state)) return undefined;
    if (index < lastIndex || closing !== undefined)
      return stepLiteral({ kind: 'literal', index: index + 1, offset: 0 }, byte);
    return byte === newline ? { kind: 'after', matcherState: 0 } : undefined;
  }

  function step(state: AnswerState, byte: number): AnswerState | undefined {
    switch (state.kind) {
      case 'free':
        return stepFree(state, byte);
      case 'lead':
        return stepLead(state, byte);
      case 'literal':
        return stepLiteral(state, byte);
      case 'value':
        return stepValue(state, byte);
      case 'end':
        return undefined;
      case 'after': {
        const { next, role } = match(state.matcherState, byte);
        return role === undefined ? { kind: 'after', matcherState: next } : undefined;
      }
    }
  }

  return {
    literals,
    valueGrammar,
    start(thinking) {
      if (thinking === 'open' || closing === undefined) return freeState(0, thinking === 'open');
      return thinking === 'may'
        ? { kind: 'lead', offset: 0, mayThink: true }
        : { kind: 'literal', index: 0, offset: 0 };
    },
    canEnd: (state) =>
      state.kind === 'after' ||
      state.kind === 'end' ||
      (state.kind === 'value' && state.index === lastIndex && !closing && isComplete(state)),
    step,
  };
}

function freeState(matcherState: number, isThinking: boolean): AnswerState {
  return {
    kind: 'free',
    matcherState: isThinking ? matcherState : 0,
    isThinking,
    mention: 'none',
    matched: 0,
    isAnchored: !isThinking,
  };
}

type Mention = (AnswerState & { kind: 'free' })['mention'];

function mentionAfter(mention: Mention, byte: number): Mention {
  if (mention === 'none') return 'none';
  if (!/[0-9A-Za-z]/.test(String.fromCharCode(byte))) return 'behind';
  return mention === 'word' ? 'word' : 'none';
}
