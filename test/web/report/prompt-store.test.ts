import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeText } from '../../../src/base/files/text-parts.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { type PackedPrompts, packPrompts } from '../../../src/web/report/data/prompt-store.js';

function unpack(packed: PackedPrompts): ChatMessage[][] {
  let text = '';
  return packed
    .map((parts) => {
      text = decodeText(parts, text);
      return JSON.parse(text);
    })
    .toReversed();
}

const message = fc.record({
  role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
  content: fc
    .array(fc.constantFrom('', 'a', 'b', 'c', '\r', 'long line'), { maxLength: 12 })
    .map((l) => l.join('\n')),
});

describe('packPrompts', () => {
  it('is lossless for prompts that fit', () => {
    fc.assert(
      fc.property(fc.array(fc.array(message, { maxLength: 4 }), { maxLength: 6 }), (prompts) => {
        expect(unpack(packPrompts(prompts))).toEqual(prompts);
      }),
    );
  });

  it('keeps the last prompts if not all fit', () => {
    const prompts = Array.from({ length: 40 }, (_, i): ChatMessage[] => [
      { role: 'user', content: Array.from({ length: 10_000 }, (_, j) => `${i * j * 7919}`).join(' ') },
    ]);
    const kept = unpack(packPrompts(prompts));
    expect(kept.length).toBeLessThan(40);
    expect(kept).toEqual(prompts.slice(-kept.length));
  });
});
