/**
 * Writes the directory of a model without weights whose tokens are the words of the text worlds, for training from
 * random weights (method `scratch`): `tsx scripts/word-model.ts <directory> [--layers n] [--hidden n] [--heads n]
 * [--intermediate n]`. The words are those in the observations and commands of the training fold's games; all other
 * text is split into bytes. This script wrote `models/tiny-words`.
 */
import { type TextWorld, textWorlds } from '../src/environments/text/worlds/worlds.js';
import { createGenerator } from '../src/random/generator.js';
import { type ModelShape, runAsScript, writeModelDirectory } from './model-directory.js';

const wordShape: ModelShape = { hidden: 64, intermediate: 160, layers: 3, heads: 4, context: 4096 };

const chatTemplate = `{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{% if message['role'] == 'assistant' %}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}`;

/** A word, with the space before it, is one token; so is any other character. */
const split = ' ?[A-Za-z]+|[0-9]|\\s|[^\\sA-Za-z0-9]';

/** Number of games that together use all words of a world. */
const games = 400;

/** All words of a world's observations and admissible commands along the winning paths, as split by `split`. */
function wordsOf({ game, options }: TextWorld): readonly string[] {
  const fold = 'fold' in options.shape ? { fold: 'train' } : {};
  const texts = Array.from({ length: games }, (_, seed) => {
    const played = game(fold, createGenerator(seed));
    const said = [played.start()];
    for (const command of played.gold ?? []) {
      said.push(...(played.admissible ?? []), command);
      said.push(played.step(command).text);
    }
    return said;
  });
  return texts.flat().flatMap((text) => text.match(new RegExp(split, 'g')) ?? []);
}

export function writeWordModel(directory: string, shape: ModelShape = wordShape): void {
  const controls = ['<|end|>', '<|system|>', '<|user|>', '<|assistant|>'];
  const words = [...new Set(textWorlds.flatMap(wordsOf))].toSorted();
  writeModelDirectory(directory, {
    shape,
    deviation: 0.05,
    tied: true,
    controls,
    words,
    split,
    chatTemplate,
  });
}

runAsScript(import.meta.url, wordShape, writeWordModel);
