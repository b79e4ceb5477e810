/** Converts examples to rows, in our own format and in other trainers' formats. */
import { UserError } from '../../src/base/errors.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import {
  type Example,
  type Imitation,
  type Lineage,
  type Preference,
  type Recipe,
  type RowFormat,
  rowFormats,
} from './example.js';

/** True if rows include their weight and lineage. */
export const isOwn = (format: RowFormat): boolean => format === 'jsonl';

/** True if a format stores pairs. */
const isPaired = (format: RowFormat): boolean => format.endsWith('-dpo');

interface Row {
  readonly content: object;
  readonly lineage: Lineage;
}

/** @throws UserError if the format can't store the recipe's kind of examples */
export function requireExportable(recipe: Recipe, format: RowFormat): void {
  if (isOwn(format) || isPaired(format) === (recipe === 'preference')) return;
  throw new UserError({
    field: '--format',
    message: isPaired(format)
      ? `this format is for pairs of answers; the recipe ${recipe} makes single answers`
      : 'this format is for single answers; the recipe preference makes pairs',
    value: format,
    alternatives: rowFormats.filter((other) => isOwn(other) || isPaired(other) !== isPaired(format)),
    ...(isPaired(format) && { hint: 'or use --recipe preference' }),
  });
}

/** @throws UserError if `requireExportable` does */
export function exportRows(examples: readonly Example[], format: RowFormat): readonly Row[] {
  for (const { lineage } of examples) requireExportable(lineage.recipe, format);
  return examples.flatMap((example) =>
    contentsOf(example, format).map((content): Row => ({ content, lineage: example.lineage })),
  );
}

/** Returns nothing for a pair in a single-answer format, and vice versa. */
function contentsOf(example: Example, format: RowFormat): readonly object[] {
  const { prompt, weight, lineage } = example;
  if (example.kind === 'imitation') {
    if (format === 'trl-sft') return [trlSftRow(example)];
    if (format === 'openai-sft') return [openaiSftRow(example)];
    return isOwn(format) ? [{ prompt, completion: example.completion, weight, lineage }] : [];
  }
  const { chosen, rejected } = example;
  if (format === 'trl-dpo') return [trlDpoRow(example)];
  if (format === 'openai-dpo') return [openaiDpoRow(example)];

  return isOwn(format) ? [{ prompt, chosen, rejected, weight, lineage }] : [];
}

// Rows for OpenAI's fine-tuning API and compatible APIs.

const answer = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Row for supervised fine-tuning. Earlier answers get weight 0, so that only the last answer is learned. */
function openaiSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  const earlier = prompt.map(({ role, content }) =>
    role === 'assistant' ? { role, content, weight: 0 } : { role, content },
  );
  return { messages: [...earlier, answer(completion)] };
}

function openaiDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
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
