/**
 * Writes the directory of a tiny Llama-shaped model with initial weights, for training all of them:
 * `tsx scripts/tiny-model.ts <directory> [--layers n] [--hidden n] [--heads n] [--intermediate n] [--seed n]`. Its
 * tokenizer has single tokens for the parts of answers and of the prompt set `compact` (keys with their separator,
 * numbers of the grid, ranks), and splits all other text into bytes.
 */
import path from 'node:path';
import { drawWeights } from '../../../finetune/engine/first-values.js';
import { tensorOf, writeSafetensors } from '../../../finetune/engine/safetensors-writer.js';
import { type ModelShape, runAsScript, writeModelDirectory } from '../../../scripts/model-directory.js';
import { createGenerator } from '../../../src/base/random/generator.js';
import { parseDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { embedWords, type Word } from './word-embeddings.js';

/** 0.8 M parameters without the embedding. */
export const tinyShape: ModelShape = { hidden: 128, intermediate: 352, layers: 4, heads: 4, context: 2048 };

/** Standard deviation of initial weights. */
const deviation = 0.05;

/** Parameters whose key is a token. */
const keys = 64;
/** Values −6.0 … 6.0 in steps of 0.1 and whole numbers up to 100 are tokens. */
const grid = Array.from({ length: 121 }, (_, i) => ((i - 60) / 10).toFixed(1).replace(/^-0\.0$/, '0.0'));
const wholes = Array.from({ length: 101 }, (_, i) => String(i));

/** All tokens other than bytes. A row of a prompt begins with ` params[0]:`, an answer with `params[0]:`. */
const words: readonly Word[] = [
  ...Array.from({ length: keys }, (_, index): Word[] => [
    { kind: 'key', text: `, params[${index}]:`, index, spelling: 'next' },
    { kind: 'key', text: ` params[${index}]:`, index, spelling: 'after a rank' },
  ]).flat(),
  { kind: 'key', text: 'params[0]:', index: 0, spelling: 'first' },
  ...grid.map((text): Word => ({ kind: 'number', text: ` ${text}`, value: Number(text), spelling: 'value' })),
  ...wholes.map(
    (text): Word => ({ kind: 'number', text: ` ${text}`, value: Number(text), spelling: 'count' }),
  ),
  ...wholes.map((text): Word => ({ kind: 'number', text, value: Number(text), spelling: 'rank' })),
  ...['tried', ' stale', 'recent', 'best', 'next'].map((text): Word => ({ kind: 'name', text })),
];

/** The system message is always the same, so the model doesn't see it. */
const chatTemplate = `{% for message in messages %}{% if message['role'] == 'user' %}<|user|>{{ message['content'] }}{% elif message['role'] == 'assistant' %}<|assistant|>{{ message['content'] }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

const split = ',? ?params\\[[0-9]+\\]:| ?-?[0-9]+\\.[0-9]| ?[0-9]+| ?[A-Za-z]+|\\s|[^\\s]';

/** @throws UserError if the heads don't divide the width into even parts */
export function writeTinyModel(directory: string, shape: ModelShape = tinyShape, seed = 0): void {
  const { config, idOf } = writeModelDirectory(directory, {
    ...{ shape, deviation, tied: true, split, chatTemplate },
    controls: ['<|end|>', '<|user|>', '<|assistant|>'],
    words: words.map(({ text }) => text),
  });
  const decoder = parseDecoderConfig(config, path.join(directory, 'config.json'));
  const parameters = drawWeights(decoder, deviation, seed);
  const embedding = parameters.find(({ name }) => name === 'model.embed_tokens.weight')!;
  const placed = words.map((word) => ({ word, row: idOf(word.text) }));
  embedWords(embedding.values, shape.hidden, deviation, placed, createGenerator(seed, [1]));
  const tensors = parameters.map((parameter) => tensorOf(parameter, parameter.values));
  writeSafetensors(path.join(directory, 'model.safetensors'), tensors, { format: 'pt' });
}

runAsScript(import.meta.url, { ...tinyShape, seed: 0 }, (directory, { seed, ...shape }) =>
  writeTinyModel(directory, shape, seed),
);
