import { beforeAll, describe, expect, it } from 'vitest';
import { writeTinyModel } from '../../scripts/tiny-model.js';
import { readDecoderConfig } from '../../src/models/local/hf-config.js';
import { type ChatTokenizer, openTokenizer } from '../../src/models/local/tokenizer.js';
import { temporaryDirectory } from '../support/experiments.js';

const directory = temporaryDirectory();
let tokenizer: ChatTokenizer;
beforeAll(() => {
  writeTinyModel(directory);
  tokenizer = openTokenizer(directory);
});

const texts = (text: string) => tokenizer.encodeText(text).map((id) => tokenizer.decode([id]));

describe('the tiny model', () => {
  it('has a token for every key and every number of the grid', () => {
    for (let i = 0; i < 64; i++) {
      const value = (((i * 19) % 121) / 10 - 6).toFixed(1).replace('-0.0', '0.0');
      expect(texts(`${i} params[${i}]: ${value}, params[${i}]: ${i}`)).toEqual([
        String(i),
        ` params[${i}]:`,
        ` ${value}`,
        `, params[${i}]:`,
        ` ${i}`,
      ]);
    }
    expect(texts('tried 40 stale 3\nrecent\nbest\nnext')).toHaveLength(10);
  });

  it('reads back any other text, and is not shown the system message', () => {
    const text = 'Grüße, params[64]: 1.25\t{"a": -7}';
    expect(tokenizer.decode(tokenizer.encodeText(text))).toBe(text);
    expect(
      tokenizer.promptText([
        { role: 'system', content: 'rules' },
        { role: 'user', content: 'next' },
      ]),
    ).toBe('<|user|>next<|assistant|>');
    expect(readDecoderConfig(directory).vocabulary).toBe(tokenizer.largestId + 1);
  });
});
