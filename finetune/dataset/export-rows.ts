/** Converts examples to rows, in our own format and in other trainers' formats. */
import { UserError } from '../../src/base/errors.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import {
  type Example,
  type Imitation,
  type Preference,
  type Recipe,
  type RowFormat,
  rowFormats,
} from './example.js';

/** True if rows include their weight and lineage. */
export const isOwn = (format: RowFormat): boolean => format === 'jsonl';

/** Only our own format stores weights; the others store pairs (DPO) or single answers (SFT). */
const isSuitable = (recipe: Recipe, format: RowFormat): boolean =>
  isOwn(format) || (recipe !== 'weighted' && format.endsWith('-dpo') === (recipe === 'preference'));

/** @throws UserError if the format can't store the recipe's examples */
export function requireExportable(recipe: Recipe, format: RowFormat): void {
  if (isSuitable(recipe, format)) return;
  throw new UserError({
    field: '--format',
    message: `this format can't store the examples of the recipe ${recipe}`,
    value: format,
    alternatives: rowFormats.filter((other) => isSuitable(recipe, other)),
  });
}

/** @param format suits the example's recipe (`requireExportable`) */
export function exportRow(example: Example, format: RowFormat): object {
  const { kind: _, prompt, lineage, weight, ...answers } = example;
  if (isOwn(format)) return { prompt, ...answers, weight, lineage };
  if (example.kind === 'imitation') return format === 'trl-sft' ? trlSftRow(example) : openaiSftRow(example);
  return format === 'trl-dpo' ? trlDpoRow(example) : openaiDpoRow(example);
}

const answer = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Row for supervised fine-tuning. Earlier answers get weight 0, so that only the last answer is learned. */
function openaiSftRow({ prompt, completion }: Imitation) {
  const earlier = prompt.map((message) =>
    message.role === 'assistant' ? { ...message, weight: 0 } : message,
  );
  return { messages: [...earlier, answer(completion)] };
}

function openaiDpoRow({ prompt, chosen, rejected }: Preference) {
  return {
    input: { messages: prompt },
    preferred_output: [answer(chosen)],
    non_preferred_output: [answer(rejected)],
  };
}

/** Row for `SFTTrainer`; prompt and completion are separate, so only the completion contributes to the loss. */
export function trlSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  return { prompt, completion: [answer(completion)] };
}

export function trlDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return { prompt, chosen: [answer(chosen)], rejected: [answer(rejected)] };
}
