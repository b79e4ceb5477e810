import type { ChatMessage } from '../models/language-model.js';

/**
 * The prompts of a run without their repetitions. Prompts repeat each other's lines (the history grows, a window of
 * it slides), so each distinct line is stored once, and a message is a list of runs of consecutive lines.
 */
export interface PackedPrompts {
  /** Every distinct line. */
  readonly lines: readonly string[];
  /** Every distinct message: role, then start and length of each run of lines. */
  readonly messages: readonly (readonly [role: ChatMessage['role'], ...runs: number[]])[];
  /** For each call the positions of its messages in `messages`. */
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
 * Lines that recur first, each kind in order of appearance: lines that stand in one message only, such as the number
 * of the iteration, would otherwise stand between the lines of the history and break its runs.
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
