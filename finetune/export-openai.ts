/** Rows for fine-tuning APIs that are compatible with OpenAI's. */
import type { ChatMessage } from '../src/models/language-model.js';
import type { Imitation, Preference } from './example.js';

const answer = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Supervised. Of a conversation that went on, only the last answer is learnt: the API weighs the others with 0. */
export function openaiSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  const said = prompt.map(({ role, content }) =>
    role === 'assistant' ? { role, content, weight: 0 } : { role, content },
  );
  return { messages: [...said, answer(completion)] };
}

/** Preference: one message a side. */
export function openaiDpoRow({
  prompt,
  chosen,
  rejected,
}: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return {
    input: { messages: prompt },
    preferred_output: [answer(chosen)],
    non_preferred_output: [answer(rejected)],
  };
}
