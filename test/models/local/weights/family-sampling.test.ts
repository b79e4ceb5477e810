import { expect, test } from 'vitest';
import { familySampling } from '../../../../src/models/local/default-sampling.js';

test.each([
  ['Qwen2.5-Coder', 'Qwen2.5 Coder 0.5B Instruct AWQ', { temperature: 0.7, topP: 0.8, topK: 20 }],
  [undefined, 'Qwen3 4B Thinking 2507', { temperature: 0.6, topP: 0.95, topK: 20 }],
  ['smollm2', 'Smollm2 135M 8k Lc100K Mix1 Ep2', {}],
  ['gemma-3', 'Gemma 3 4b It', { temperature: 1, topP: 0.95, topK: 64 }],
  [undefined, 'Made Up 7B', {}],
  [undefined, undefined, {}],
])(
  'a GGUF file with basename %s and name %s gets its family’s sampling, if any is known',
  (basename, name, sampling) => {
    const metadata = new Map([
      ...(basename === undefined ? [] : [['general.basename', basename] as const]),
      ...(name === undefined ? [] : [['general.name', name] as const]),
    ]);
    expect(familySampling({ metadata } as unknown as Parameters<typeof familySampling>[0])).toEqual(sampling);
  },
);
