import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../src/models/language-model.js';
import { type PackedPrompts, packPrompts } from '../../src/report/data/prompt-store.js';

function unpack({ lines, messages, prompts }: PackedPrompts): ChatMessage[][] {
  return prompts.map((prompt) =>
    prompt.map((position) => {
      const [role, ...runs] = messages[position]!;
      const content: string[] = [];
      for (let i = 0; i < runs.length; i += 2)
        content.push(...lines.slice(runs[i]!, runs[i]! + runs[i + 1]!));
      return { role, content: content.join('\n') };
    }),
  );
}

const message = fc.record({
  role: fc.constantFrom('system' as const, 'user' as const, 'assistant' as const),
  content: fc
    .array(fc.constantFrom('', 'a', 'b', 'c', '\r', 'long line'), { maxLength: 12 })
    .map((l) => l.join('\n')),
});

describe('packPrompts', () => {
  it('loses nothing', () => {
    fc.assert(
      fc.property(fc.array(fc.array(message, { maxLength: 4 }), { maxLength: 6 }), (prompts) => {
        expect(unpack(packPrompts(prompts))).toEqual(prompts);
      }),
    );
  });

  it('stores a sliding window of history once', () => {
    const line = (i: number) => `params[0]: ${i}; ${'x'.repeat(90)}`;
    const prompts = Array.from({ length: 400 }, (_, i): ChatMessage[] => [
      { role: 'system', content: 'rules' },
      {
        role: 'user',
        content: `history\n${Array.from({ length: 400 }, (_, j) => line(i + j)).join('\n')}\niteration ${i}`,
      },
    ]);
    const given = JSON.stringify(prompts).length;
    const packed = JSON.stringify(packPrompts(prompts)).length;
    expect(given).toBeGreaterThan(16_000_000);
    expect(packed).toBeLessThan(130_000);
    expect(unpack(packPrompts(prompts))).toEqual(prompts);
  });
});
