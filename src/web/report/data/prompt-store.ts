import { encodeText, type TextPart } from '../../../base/files/text-parts.js';
import type { ChatMessage } from '../../../models/language-model.js';

type Prompt = readonly ChatMessage[];

/** Prompts of a page as JSON, latest first. Each is encoded relative to the one listed before it, to save space. */
export type PackedPrompts = readonly (readonly TextPart[])[];

/** Approximate maximum of the total length of the packed prompts on a page, in characters. */
const maxCharacters = 1_500_000;

/** Packs the latest prompts that fit on a page. */
export function packPrompts(prompts: readonly Prompt[]): PackedPrompts {
  const packedPrompts: (readonly TextPart[])[] = [];
  let [previousText, charactersLeft] = ['', maxCharacters];
  for (const prompt of prompts.toReversed()) {
    const text = JSON.stringify(prompt);
    const parts = encodeText(text, previousText);
    charactersLeft -= JSON.stringify(parts).length;
    if (charactersLeft < 0) break;
    packedPrompts.push(parts);
    previousText = text;
  }
  return packedPrompts;
}
