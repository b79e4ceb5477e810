import type { ChatMessage } from '../../src/models/language-model.js';
import type { Imitation, Preference } from './example.js';

/** Row formats of a dataset. Has no runtime imports, so the command line can list the formats cheaply. */
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

// Rows for fine-tuning APIs compatible with OpenAI's.

const answer = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Supervised fine-tuning. Earlier answers of a conversation get weight 0, so only the last is learned. */
export function openaiSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  const said = prompt.map(({ role, content }) =>
    role === 'assistant' ? { role, content, weight: 0 } : { role, content },
  );
  return { messages: [...said, answer(completion)] };
}

/** Preference optimization, with one message per side. */
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

/** `SFTTrainer`, with separate prompt and completion so that only the completion contributes to the loss. */
export function trlSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  return { prompt, completion: [answer(completion)] };
}

/** `DPOTrainer`. */
export function trlDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return { prompt, chosen: [answer(chosen)], rejected: [answer(rejected)] };
}

/** `KTOTrainer`: both answers of a pair, each with its own label. */
export function trlKtoRows({ prompt, chosen, rejected }: Preference) {
  return [
    { prompt, completion: [answer(chosen)], label: true },
    { prompt, completion: [answer(rejected)], label: false },
  ];
}
