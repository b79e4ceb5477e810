import { expect, it } from 'vitest';
import { ggufTokenizerJson } from '../../../../src/models/local/tokens/gguf-tokenizer.js';

/** A file with 128,256 tokens, some of them control tokens, that names no pre-tokenizer. */
function fileOf(control: Readonly<Record<number, string>>) {
  const tokens = Array.from({ length: 128_256 }, (_, id) => control[id] ?? `token ${id}`);
  const metadata = new Map<string, string | readonly string[]>([
    ['tokenizer.ggml.model', 'gpt2'],
    ['tokenizer.ggml.tokens', tokens],
    ['tokenizer.ggml.merges', ['t o']],
  ]);
  return { file: 'model.gguf', metadata, byteRanges: new Map(), tensors: new Map() };
}

it('a Llama 3 file without tokenizer.ggml.pre is recognised by its control tokens', () => {
  const json = ggufTokenizerJson(fileOf({ 128006: '<|start_header_id|>', 128009: '<|eot_id|>' }));
  expect(json).toMatchObject({
    model: { ignore_merges: true },
    pre_tokenizer: { pretokenizers: [{ pattern: { Regex: expect.stringContaining('\\p{N}{1,3}') } }, {}] },
  });
  expect(() => ggufTokenizerJson(fileOf({ 5: '<|start_header_id|>', 6: '<|eot_id|>' }))).toThrow(
    /tokenizer\.ggml\.pre/,
  );
});
