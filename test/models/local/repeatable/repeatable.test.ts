import { describe, expect, it } from 'vitest';
import type { GenerationJob } from '../../../../src/models/local/generation/protocol.js';
import { referenceDirectory } from '../fixture.js';
import { fresh, repeatableJob, repeats } from './repeatable.js';

describe.each(['llama3-rope-bf16', 'qwen2-tied-bf16-sharded'])('%s in 4 bits', (name) => {
  const path = referenceDirectory(name);
  repeats(path, 'int4');

  it('gives a resumed run the same replies as an uninterrupted run', async () => {
    const played = await fresh(path, 'int4');
    const resumed = await fresh(path, 'int4');
    const turn = (lines: number): GenerationJob => repeatableJob(lines, [lines]);
    await played.generate(turn(20), { isAborted: () => false });
    for (const lines of [24, 31]) {
      const next = await played.generate(turn(lines), { isAborted: () => false });
      expect(next.cachedTokens).toBeGreaterThan(60);
      expect(next.replies).toEqual((await resumed.generate(turn(lines), { isAborted: () => false })).replies);
    }
  });
});
