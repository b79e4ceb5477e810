/** TRL's own trainer against our server (pip install openenv trl). */
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { startServer } from './environment-server.js';
import { gold, hasPackages, python, said, writeCookingClass } from './python-programs.js';

const present = hasPackages('openenv', 'trl');
if (!present) process.stderr.write(`TRL's trainer skipped: ${python} has no openenv and trl\n`);

it.skipIf(!present)(
  "TRL's trainer plays the games of the seeds in its rows and gets their scores as rewards",
  async () => {
    const server = await startServer(['text:cooking']);
    const directory = temporaryDirectory();
    writeCookingClass(directory, server.environments[0]!.url);
    const games = await Promise.all([1, 2].map((seed) => gold(seed)));
    const tokenizer = resolve('test/fixtures/reference-models/qwen3-fp32');
    const script = join(import.meta.dirname, 'python', 'trainer.py');
    const printed = await said([script], { games, tokenizer, steps: 2 }, directory);
    const { missing, scores } = JSON.parse(printed.trim().split('\n').at(-1)!) as {
      missing: readonly string[];
      scores: readonly (readonly [seed: number, reward: number, done: boolean])[];
    };
    // Two answers to each row of a step, of two rows and steps.
    expect(scores).toHaveLength(8);
    for (const { score, seed } of games) {
      const own = scores.filter(([of]) => of === seed);
      expect(own).toEqual(Array(4).fill([seed, score, true]));
      expect(score).toBeGreaterThan(0);
    }
    expect(missing).toEqual([]);
    await server.close();
  },
  300_000,
);
