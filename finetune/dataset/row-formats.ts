import type { ChatMessage } from '../../src/models/language-model.js';
import type { Imitation, Preference } from './example.js';

/** Formats that the rows of a dataset can be written in. Imports nothing, so that the command line can list them. */
export const rowFormats = [
  'jsonl',
  'parquet',
  'trl-sft',
  'trl-dpo',
  'trl-kto',
  'trl-sft-parquet',
  'trl-dpo-parquet',
  'trl-kto-parquet',
  'openai-sft',
  'openai-dpo',
] as const;
export type RowFormat = (typeof rowFormats)[number];

// Rows for fine-tuning APIs that are compatible with OpenAI's.

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

// Rows in the conversational formats of TRL's trainers.

/** `SFTTrainer`: prompt and completion apart, so that its loss is on the completion only. */
export function trlSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  return { prompt, completion: [answer(completion)] };
}

/** `DPOTrainer`. */
export function trlDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return { prompt, chosen: [answer(chosen)], rejected: [answer(rejected)] };
}

/** `KTOTrainer`: both answers of a pair, judged by themselves. */
export function trlKtoRows({ prompt, chosen, rejected }: Preference) {
  return [
    { prompt, completion: [answer(chosen)], label: true },
    { prompt, completion: [answer(rejected)], label: false },
  ];
}
