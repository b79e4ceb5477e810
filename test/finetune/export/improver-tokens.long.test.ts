/** The embedded model's texts are the same tokens in llama.cpp as here. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gguf } from '@huggingface/gguf';
import { beforeAll, describe, expect, it } from 'vitest';
import { writeGguf } from '../../../finetune/export/gguf/gguf.js';
import { addedBos } from '../../../finetune/export/gguf/vocabulary.js';
import { ggufModelfile } from '../../../finetune/export/ollama/modelfile.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { embeddedModel, modelDirectory } from '../../../src/models/local/settings.js';
import { openTokenizer } from '../../../src/models/local/tokens/tokenizer.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { type LlamaCppVocabulary, llamaCppTokenizer } from './llama-cpp-tokenizer.js';

const model = modelDirectory(embeddedModel);
const tokenizer = openTokenizer(model);
const random = createGenerator(15);
const integer = (below: number) => Math.floor(random.uniform(0, below));

let vocabulary: LlamaCppVocabulary;
let metadata: Readonly<Record<string, unknown>>;
beforeAll(async () => {
  const file = join(temporaryDirectory(), 'embedded.gguf');
  await writeGguf(model, undefined, file, 'F16');
  ({ metadata } = (await gguf(file, { allowLocalFile: true })) as unknown as { metadata: typeof metadata });
  vocabulary = {
    tokens: metadata['tokenizer.ggml.tokens'] as string[],
    kinds: metadata['tokenizer.ggml.token_type'] as number[],
    merges: metadata['tokenizer.ggml.merges'] as string[],
  };
});

/** A prompt of the set `compact`, and an answer. */
function texts(parameters: number, value: () => string): readonly string[] {
  const row = () => `${integer(100)} ${Array.from({ length: parameters }, value).join(' ')}`;
  const answer = Array.from({ length: parameters }, (_, i) => `params[${i}]: ${value()}`).join(', ');
  const head = `tried ${integer(10 ** (1 + integer(4)))} stale ${integer(1000)}`;
  return [`${head}\nrecent\n${row()}\n${row()}\nbest\n${row()}\nnext\n`, answer];
}

const values = {
  'in the range of the vocabulary': () => random.uniform(-6, 6).toFixed(1),
  'with two decimals': () => random.uniform(-5.9, 5.9).toFixed(2),
  'negative and below it': () => random.uniform(-60, -6).toFixed(1),
  actions: () => String(integer(6)),
  'integers up to four digits': () => String(integer(10 ** (1 + integer(4)))),
};

describe('the embedded model as GGUF', () => {
  it.each(Object.entries(values))('splits numbers into the same tokens as our tokenizer: %s', (_, value) => {
    const cut = llamaCppTokenizer(vocabulary);
    for (const parameters of [1, 4, 10, 63, 64, 65, 108, 500])
      for (const text of texts(parameters, value)) expect(cut(text)).toEqual(tokenizer.encodeText(text));
  });

  it('splits words that contain vocabulary words into the same tokens as our tokenizer', () => {
    const cut = llamaCppTokenizer(vocabulary);
    for (const text of [
      'retried',
      'bests',
      'tryrecent',
      'stalemate',
      ' stalemate',
      'nextbest',
      'a10b',
      '\n100\n',
    ])
      expect(cut(text)).toEqual(tokenizer.encodeText(text));
  });

  it('splits a few texts differently, but the tokens decode to the same text', () => {
    // The limits that improver-tokens.ts names.
    const cut = llamaCppTokenizer(vocabulary);
    for (const text of [' 7.2', ' 94144', 'the best']) {
      expect(cut(text)).not.toEqual(tokenizer.encodeText(text));
      expect(tokenizer.decode(cut(text))).toBe(text);
    }
  });

  it('needs its merges and its user-defined tokens', () => {
    const [text] = texts(10, values['in the range of the vocabulary']) as [string];
    const ours = tokenizer.encodeText(text);
    const plain = { ...vocabulary, kinds: vocabulary.kinds.map(() => 1) };
    expect(llamaCppTokenizer({ ...vocabulary, merges: [] })(text)).not.toEqual(ours);
    expect(llamaCppTokenizer(plain)(text)).not.toEqual(ours);
  });

  it('uses the pre-tokenizer “bloom” and adds no BOS token', () => {
    expect(metadata).toMatchObject({
      'general.architecture': 'llama',
      'tokenizer.ggml.model': 'gpt2',
      'tokenizer.ggml.pre': 'bloom',
      'tokenizer.ggml.add_bos_token': false,
      'tokenizer.ggml.eos_token_id': 0,
    });
    expect(addedBos(model, readDecoderConfig(model))).toBeUndefined();
    expect(vocabulary.tokens).toHaveLength(706);
    expect(new Set(vocabulary.tokens).size).toBe(706);
  });

  it('has an Ollama template that omits the system message, like its own template', () => {
    const { text, template } = ggufModelfile(model, 'embedded.gguf', {}, 2048);
    expect(template).toBe(true);
    expect(text).toContain(
      'TEMPLATE """{{ range $i, $_ := .Messages }}{{ if eq .Role "user" }}<|user|>{{ .Content }}{{ else',
    );
    expect(readFileSync(join(model, 'tokenizer_config.json'), 'utf8')).not.toContain("'system'");
  });
});
