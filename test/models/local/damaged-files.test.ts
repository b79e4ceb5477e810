import { cpSync, readdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inspectModel } from '../../../src/models/local/engine/inspect.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { packWeights } from '../../../src/models/local/graph/packed-parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { temporaryDirectory } from '../../support/experiments.js';

const reference = resolve(import.meta.dirname, '../../fixtures/reference-models/llama-untied-fp32');

function copy(): string {
  const directory = join(temporaryDirectory(), 'model');
  cpSync(reference, directory, { recursive: true });
  return directory;
}

function edit(directory: string, file: string, change: (content: Record<string, unknown>) => unknown): void {
  const path = join(directory, file);
  writeFileSync(
    path,
    JSON.stringify(change(JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>)),
  );
}

const problemsOf = (directory: string) => inspectModel(directory).problems.map(({ message }) => message);

describe('a damaged model directory', () => {
  it.each([
    ['a config that is null', 'config.json', 'null', /not a model config/],
    ['a config that is a list', 'config.json', '[1]', /not a model config/],
    ['a config that is not JSON', 'config.json', '{', /not valid JSON/],
  ])('is reported: %s', (_name, file, content, pattern) => {
    const directory = copy();
    writeFileSync(join(directory, file), content);
    expect(problemsOf(directory)[0]).toMatch(pattern);
  });

  it('is reported if its index lacks the weight map', () => {
    const directory = copy();
    renameSync(join(directory, 'model.safetensors'), join(directory, 'other.safetensors'));
    writeFileSync(join(directory, 'model.safetensors.index.json'), '{}');
    expect(problemsOf(directory).join()).toMatch(/this index doesn't state which shard/);
  });

  it('is reported if its tokenizer is of an unsupported kind or has tokens that the embedding lacks', () => {
    const unigram = copy();
    edit(unigram, 'tokenizer.json', (json) => ({
      ...json,
      model: { ...(json.model as object), type: 'Unigram' },
    }));
    expect(problemsOf(unigram)[0]).toMatch(/tokenizer setting is not supported/);

    const large = copy();
    edit(large, 'tokenizer.json', (json) => ({
      ...json,
      added_tokens: [
        ...(json.added_tokens as object[]),
        {
          id: 500_000,
          content: '<far>',
          special: true,
          single_word: false,
          lstrip: false,
          rstrip: false,
          normalized: false,
        },
      ],
    }));
    expect(problemsOf(large).join()).toMatch(/embedding has only \d+ rows/);
  });
});

describe('the cache of quantised weights', () => {
  const quantize = (directory: string) =>
    packWeights(directory, readDecoderConfig(directory), openWeights(directory), 'int4')!.file;

  it('is not reused for other weights with the same size and modification time', () => {
    const directory = copy();
    const weights = join(directory, 'model.safetensors');
    utimesSync(weights, 1, 1);
    const first = quantize(directory);
    const bytes = readFileSync(weights);
    for (let i = bytes.length - 400_000; i < bytes.length; i += 4) bytes[i + 2] = bytes[i + 2]! ^ 0x10;
    writeFileSync(weights, bytes);
    utimesSync(weights, 1, 1);
    expect(quantize(directory)).not.toBe(first);
  });

  it('is rebuilt if a crash left it truncated', () => {
    const directory = copy();
    const file = quantize(directory);
    const whole = readFileSync(file);
    writeFileSync(file, whole.subarray(0, 100));
    expect(quantize(directory)).toBe(file);
    expect(readFileSync(file).equals(whole)).toBe(true);
    expect(readdirSync(join(directory, '.policyloop'))).toHaveLength(1);
  });
});
