import { partsOf, type TextPart } from '../../../base/files/text-parts.js';
import type { ChatMessage } from '../../../models/language-model.js';

type Prompt = readonly ChatMessage[];

/** The prompts of a page as JSON, each encoded relative to the previous one, because they share most of their text. */
export type PackedPrompts = readonly (readonly TextPart[])[];

/** Approximate maximum of the total length of the packed prompts on a page, in characters. */
const mostCharacters = 1_500_000;

/** Packs the prompts that fit on a page, chosen alternately from the start and the end. `kept`: their indices. */
export function packPrompts(prompts: readonly Prompt[]): {
  readonly kept: readonly number[];
  readonly packed: PackedPrompts;
} {
  const texts = prompts.map((prompt) => JSON.stringify(prompt));
  const fitting = new Map<number, readonly TextPart[]>();
  let left = mostCharacters;
  for (const i of fromBothEnds(prompts.length)) {
    const parts = partsOf(texts[i]!, texts[i - 1] ?? '');
    const { length } = JSON.stringify(parts);
    if (length > left) continue;
    left -= length;
    fitting.set(i, parts);
  }
  const kept = [...fitting.keys()].toSorted((a, b) => a - b);
  const packed = kept.map((i, position) => {
    const earlier = kept[position - 1] ?? -1;
    return earlier === i - 1 ? fitting.get(i)! : partsOf(texts[i]!, texts[earlier] ?? '');
  });
  return { kept, packed };
}

/** Indices in the order 0, last, 1, last but one, … */
const fromBothEnds = (count: number) =>
  Array.from({ length: count }, (_, i) => (i % 2 === 0 ? i / 2 : count - (i + 1) / 2));
