/** Prompts without a chat template, one or several in a request. */
import pLimit from 'p-limit';
import { z } from 'zod';

export type Prompt = string | readonly number[];

/** Maximum number of prompts in one request, and of choices for all its prompts together. */
export const mostPrompts = 2048;
const ids = z.array(z.int().min(0)).min(1);
/** One prompt or several, each as text or token ids. */
export const promptsSchema = z
  .union(
    [
      z.string().transform((text) => [text]),
      ids.transform((one) => [one]),
      z.array(z.string()).min(1).max(mostPrompts),
      z.array(ids).min(1).max(mostPrompts),
    ],
    `must be a string, a list of token ids, or a list of at most ${mostPrompts} of either`,
  )
  .transform((prompts): readonly Prompt[] => prompts);

/** Calls `work` for each prompt, `slots` at a time, so that requests of other clients get their turn. */
export async function eachPrompt<T>(
  prompts: readonly Prompt[],
  slots: number,
  work: (prompt: Prompt, place: number) => Promise<T>,
): Promise<readonly T[]> {
  const turn = pLimit(slots);
  const results = prompts.map((prompt, place) => turn(() => work(prompt, place)));
  try {
    return await Promise.all(results);
  } finally {
    turn.clearQueue();
  }
}
