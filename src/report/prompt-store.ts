import type { ChatMessage } from '../models/language-model.js';

/**
 * The prompts of a run without their repetitions. Prompts repeat each other's lines (the history grows, a window of
 * it slides), so each distinct line is stored once, and a message is a list of runs of consecutive lines.
 */
export interface PackedPrompts {
  /** Every distinct line, in order of first appearance. */
  readonly lines: readonly string[];
  /** Every distinct message: role, then start and length of each run of lines. */
  readonly messages: readonly (readonly [role: ChatMessage['role'], ...runs: number[]])[];
  /** For each call the positions of its messages in `messages`. */
  readonly prompts: readonly (readonly number[])[];
}

export function packPrompts(prompts: readonly (readonly ChatMessage[])[]): PackedPrompts {
  const lines = new Map<string, number>();
  const messages = new Map<string, number>();
  const packed: [ChatMessage['role'], ...number[]][] = [];
  const intern = (message: ChatMessage): number => {
    const key = `${message.role}\n${message.content}`;
    const known = messages.get(key);
    if (known !== undefined) return known;
    messages.set(key, packed.length);
    packed.push([message.role, ...lineRuns(message.content, lines)]);
    return packed.length - 1;
  };
  const calls = prompts.map((prompt) => prompt.map(intern));
  return { lines: [...lines.keys()], messages: packed, prompts: calls };
}

function lineRuns(text: string, known: Map<string, number>): number[] {
  const runs: number[] = [];
  let next = -1;
  for (const line of text.split('\n')) {
    let position = known.get(line);
    if (position === undefined) {
      position = known.size;
      known.set(line, position);
    }
    if (position === next) runs[runs.length - 1]!++;
    else runs.push(position, 1);
    next = position + 1;
  }
  return runs;
}
