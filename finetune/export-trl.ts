/** Rows in the conversational formats of TRL's trainers. */
import type { ChatMessage } from '../src/models/language-model.js';
import type { Imitation, Preference } from './example.js';

type Answer = readonly [ChatMessage];

const answer = (content: string): Answer => [{ role: 'assistant', content }];

/** `SFTTrainer`: prompt and completion apart, so that its loss is on the completion only. */
export function trlSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  return { prompt, completion: answer(completion) };
}

/** `DPOTrainer`. */
export function trlDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return { prompt, chosen: answer(chosen), rejected: answer(rejected) };
}

/** `KTOTrainer`: both answers of a pair, judged by themselves. */
export function trlKtoRows({ prompt, chosen, rejected }: Preference) {
  return [
    { prompt, completion: answer(chosen), label: true },
    { prompt, completion: answer(rejected), label: false },
  ];
}
