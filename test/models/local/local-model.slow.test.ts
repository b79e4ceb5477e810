import { expect, onTestFinished, test } from 'vitest';
import { ModelProcess } from '../../../src/models/local/process/model-process.js';
import { readReference, referenceDirectory } from './fixture.js';

const name = 'qwen2-tied-bf16-sharded';

test('memory hardly grows from the 300th to the 1000th generation', async () => {
  const model = new ModelProcess('local/test', {
    path: referenceDirectory(name),
    threads: 1,
    device: 'cpu',
    quantization: 'none',
    contextTokens: undefined,
    template: {},
  });
  onTestFinished(() => model.close());
  const { messages } = readReference(name);
  const short = { maxTokens: 2, sampling: { temperature: 1 } };
  const resident: number[] = [];
  for (let call = 0; call < 1000; call++) {
    const content = `params[0]: ${call % 97}`;
    const result = await model.generate({
      ...short,
      seeds: [call],
      messages: [...messages, { role: 'user', content }],
    });
    resident.push(result.residentBytes);
  }
  const mean = (from: number) => resident.slice(from, from + 100).reduce((a, b) => a + b) / 100;
  // The garbage collector is free to wait, hence the allowance; a leak of one cache a call would be 400 MB.
  expect(mean(900) - mean(300)).toBeLessThan(40e6);
});
