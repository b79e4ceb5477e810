import type { ChatMessage } from '../../models/language-model.js';

/**
 * A run's prompts without repetition. As the history grows or its window moves, prompts share most lines with earlier
 * ones. So each distinct line is stored once, and a message is a list of sequences of lines.
 */
export interface PackedPrompts {
  readonly lines: readonly string[];
  /** Every distinct message: its role, then the start and length of each sequence of lines. */
  readonly messages: readonly (readonly [role: ChatMessage['role'], ...runs: number[]])[];
  /** For each call, the indices of its messages in `messages`. */
  readonly prompts: readonly (readonly number[])[];
}

export function packPrompts(prompts: readonly (readonly ChatMessage[])[]): PackedPrompts {
  const positions = new Map<string, number>();
  const distinct: ChatMessage[] = [];
  const calls = prompts.map((prompt) =>
    prompt.map((message) => {
      const key = `${message.role}\n${message.content}`;
      const known = positions.get(key);
      if (known !== undefined) return known;
      positions.set(key, distinct.length);
      return distinct.push(message) - 1;
    }),
  );
  const lines = orderedLines(distinct);
  const index = new Map(lines.map((line, i) => [line, i]));
  return {
    lines,
    messages: distinct.map(({ role, content }) => [role, ...lineRuns(content, index)]),
    prompts: calls,
  };
}

/**
 * Recurring lines first, then the others, each group in order of appearance. A line that occurs in only one
 * message, such as the iteration number, would otherwise interrupt sequences of history lines.
 */
function orderedLines(messages: readonly ChatMessage[]): readonly string[] {
  const recurs = new Map<string, boolean>();
  for (const { content } of messages) {
    for (const line of content.split('\n')) recurs.set(line, recurs.has(line));
  }
  const lines = [...recurs.keys()];
  return [...lines.filter((line) => recurs.get(line)), ...lines.filter((line) => !recurs.get(line))];
}

function lineRuns(text: string, index: ReadonlyMap<string, number>): number[] {
  const runs: number[] = [];
  let next = -1;
  for (const line of text.split('\n')) {
    const position = index.get(line)!;
    if (position === next) runs[runs.length - 1]!++;
    else runs.push(position, 1);
    next = position + 1;
  }
  return runs;
}

/** Maximum total length of the distinct lines in a page's prompts, in characters. */
const mostCharacters = 1_500_000;

/** Indices of the prompts that fit on a page, chosen alternately from the start and the end. */
export function fittingPrompts(prompts: readonly (readonly ChatMessage[])[]): readonly number[] {
  const known = new Set<string>();
  const texts = new Set<string>();
  let left = mostCharacters;
  const fits = (prompt: readonly ChatMessage[]): boolean => {
    const contents = prompt.map(({ content }) => content).filter((content) => !texts.has(content));
    const lines = new Set(contents.flatMap((content) => content.split('\n')));
    let needed = 0;
    for (const line of lines) if (!known.has(line)) needed += line.length;
    if (needed > left) return false;
    left -= needed;
    for (const line of lines) known.add(line);
    for (const content of contents) texts.add(content);
    return true;
  };
  const order = fromBothEnds(prompts.length);
  return order.filter((i) => fits(prompts[i]!)).toSorted((a, b) => a - b);
}

/** 0, last, 1, last but one, … */
const fromBothEnds = (count: number) =>
  Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i / 2 : count - (i + 1) / 2));
