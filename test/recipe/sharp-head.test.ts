import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { encodeExample, replyEndId } from '../../finetune/dataset/read-dataset.js';
import { type HiddenStates, hiddenStates } from '../../models/tiny-improver/recipe/hidden-states.js';
import { tinyShape, writeTinyModel } from '../../models/tiny-improver/recipe/initial-model.js';
import { sharpHead } from '../../models/tiny-improver/recipe/sharp-head.js';
import { storeModel } from '../../models/tiny-improver/recipe/stored-model.js';
import { type TokenKinds, tokenKinds } from '../../models/tiny-improver/recipe/token-kinds.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { checkModel } from '../../src/models/local/engine/inspect.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { temporaryDirectory } from '../support/experiments.js';

const shape = { ...tinyShape, layers: 1, hidden: 32, heads: 2, intermediate: 48 };

/** Prompts of two or three parameters, and answers to them. */
function rows(): readonly { prompt: { role: 'user'; content: string }[]; completion: string }[] {
  const random = createGenerator(3);
  return Array.from({ length: 24 }, (_, i) => {
    const answer = () =>
      Array.from({ length: 2 + (i % 2) }, (_, k) => `params[${k}]: ${random.uniform(-6, 6).toFixed(1)}`).join(
        ', ',
      );
    return { prompt: [{ role: 'user', content: `best\n99 ${answer()}\nnext` }], completion: answer() };
  });
}

const tensor = (directory: string, name: string) => {
  const stored = openWeights(directory).get(name)!;
  return toFloat32(readTensorBytes(stored), stored.dtype);
};

/** Mean probability of tokens of a kind other than the expected one. */
function astray({ states, targets, width }: HiddenStates, head: Float32Array, kinds: TokenKinds): number {
  let sum = 0;
  targets.forEach((target, place) => {
    const weights = Array.from(kinds.of, (_, token) => {
      let logit = 0;
      for (let i = 0; i < width; i++) logit += states[place * width + i]! * head[token * width + i]!;
      return Math.exp(logit);
    });
    const total = weights.reduce((a, b) => a + b, 0);
    const due = weights.filter((_, token) => kinds.of[token] === kinds.of[target]).reduce((a, b) => a + b, 0);
    sum += 1 - due / total;
  });
  return sum / targets.length;
}

describe('a sharp head', () => {
  let model: string;
  let dataset: string;
  let kinds: TokenKinds;
  let sharp: Float32Array;

  beforeAll(async () => {
    const folder = temporaryDirectory();
    model = join(folder, 'model');
    dataset = join(folder, 'dataset');
    writeTinyModel(model, shape, 1);
    mkdirSync(dataset);
    writeFileSync(
      join(dataset, 'train.jsonl'),
      rows()
        .map((row) => `${JSON.stringify(row)}\n`)
        .join(''),
    );
    kinds = tokenKinds(model);
    sharp = await sharpHead(model, dataset, { examples: 16, steps: 60 });
  });

  it('gives less probability to tokens of the wrong kind', async () => {
    const tokenizer = openTokenizer(model, {});
    const end = replyEndId(model, readDecoderConfig(model), tokenizer);
    const hidden = await hiddenStates(
      model,
      rows()
        .slice(16)
        .map(({ completion, prompt }) =>
          encodeExample(tokenizer, end, { messages: prompt, completion, weight: 1 }),
        ),
    );
    const before = astray(hidden, tensor(model, 'model.embed_tokens.weight'), kinds);
    expect(before).toBeGreaterThan(0.5);
    expect(astray(hidden, sharp, kinds)).toBeLessThan(0.5 * before);
  });

  it('shifts all tokens of one kind by the same vector', () => {
    const head = tensor(model, 'model.embed_tokens.weight');
    const width = shape.hidden;
    const added = (token: number, i: number) => sharp[token * width + i]! - head[token * width + i]!;
    const first = new Map<number, number>();
    kinds.of.forEach((kind, token) => {
      const other = first.get(kind);
      if (other === undefined) first.set(kind, token);
      else for (let i = 0; i < width; i++) expect(added(token, i)).toBeCloseTo(added(other, i), 5);
    });
    expect(first.size).toBe(kinds.count);
  });

  it('distinguishes decimals, whole numbers with and without a space, keys and the end token', () => {
    const {
      model: { vocab },
    } = JSON.parse(readFileSync(join(model, 'tokenizer.json'), 'utf8')) as {
      model: { vocab: Record<string, number> };
    };
    const kindOf = (text: string) => kinds.of[vocab[text.replaceAll(' ', 'Ġ')]!]!;
    expect(kindOf(' -0.5')).toBe(kindOf(' 6.0'));
    expect(kindOf(' 3')).toBe(kindOf(' 100'));
    const apart = [' 6.0', ' 3', '3', 'params[0]:', ', params[1]:', ', params[2]:', '<|end|>'];
    expect(new Set(apart.map(kindOf)).size).toBe(apart.length);
  });

  it('is stored separately from the embedding', () => {
    const to = join(temporaryDirectory(), 'model');
    storeModel(model, to, sharp);
    checkModel(to);
    expect(readDecoderConfig(to).tied).toBe(false);
    expect(tensor(to, 'lm_head.weight')).toEqual(sharp);
    expect(tensor(to, 'model.embed_tokens.weight')).toEqual(tensor(model, 'model.embed_tokens.weight'));
  });
});
