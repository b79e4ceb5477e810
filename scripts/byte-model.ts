/**
 * Writes the directory of a model without weights, for training from random ones (method `scratch`):
 * `tsx scripts/byte-model.ts <directory> [--layers n] [--hidden n] [--heads n] [--intermediate n]`. Each byte is a
 * token, so an untrained model chooses among only 260 tokens. This script wrote `models/tiny-bytes`.
 */
import { type ModelShape, runAsScript, writeModelDirectory } from './model-directory.js';

const byteShape: ModelShape = { hidden: 64, intermediate: 176, layers: 2, heads: 4, context: 4096 };

const chatTemplate = `{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% if message['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

export function writeByteModel(directory: string, shape: ModelShape = byteShape): void {
  const controls = ['<|end|>', '<|system|>', '<|user|>', '<|assistant|>'];
  writeModelDirectory(directory, { shape, deviation: 0.05, tied: false, controls, words: [], chatTemplate });
}

runAsScript(import.meta.url, byteShape, writeByteModel);
