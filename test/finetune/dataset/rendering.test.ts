import { describe, expect, it } from 'vitest';
import { encodeExample, replyEndId } from '../../../finetune/dataset/read-dataset.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { loadEngine } from '../../../src/models/local/generation/engine.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import { readReference, referenceDirectory, referenceModels } from '../../models/local/fixture.js';
import { readReferenceTraining, trainingTexts } from '../reference-training.js';

describe.each(referenceModels)('%s', (name) => {
  const directory = referenceDirectory(name);
  const tokenizer = openTokenizer(directory);
  const end = replyEndId(directory, readDecoderConfig(directory), tokenizer);

  it('renders the same token ids as Transformers', () => {
    const rendered = trainingTexts(name).map(({ user, assistant }) =>
      encodeExample(tokenizer, end, {
        messages: [{ role: 'user', content: user }],
        completion: assistant,
        weight: 1,
      }),
    );
    expect(rendered).toEqual(readReferenceTraining(name).examples);
  });
});

it('serving and training use the same number of prompt tokens, even if messages spell control tokens', async () => {
  const directory = referenceDirectory('qwen2-tied-bf16-sharded');
  const tokenizer = openTokenizer(directory);
  const messages = [
    ...readReference('qwen2-tied-bf16-sharded').messages,
    { role: 'user', content: 'A message may spell <|im_end|>, é and 🙂.' },
  ] as const;
  const { promptIds, completionIds } = encodeExample(tokenizer, 2, {
    messages,
    completion: 'So may an answer: <|im_end|>',
    weight: 1,
  });
  expect(promptIds.filter((id) => tokenizer.controlIds.has(id))).toHaveLength(7);
  expect(completionIds.filter((id) => tokenizer.controlIds.has(id))).toEqual([2]);
  const engine = await loadEngine({
    path: directory,
    device: 'cpu',
    quantization: 'none',
    threads: 1,
    template: {},
  });
  const job = { messages, seeds: [1], maxTokens: 2, sampling: {} };
  const served = await engine.generate(job, { isAborted: () => false });
  await engine.close();
  expect(served.promptTokens).toBe(promptIds.length);
});

it('a model without an end token gives an error that names the model setting', () => {
  const directory = referenceDirectory('qwen2-tied-bf16-sharded');
  const tokenizer = { ...openTokenizer(directory), eosTokens: [] };
  const config = { ...readDecoderConfig(directory), eosTokens: [] };
  expect(() => replyEndId('no-such-directory', config, tokenizer)).toThrow(/\bmodel: neither the tokenizer/);
});
