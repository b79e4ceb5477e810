/**
 * Kills runs without warning or makes the disk fail, resumes them, and compares the results with an undisturbed run.
 * `npm run test:kill -- --kills 200 --seed 1`: at random points, and a quarter as often in relays, in runs with
 * programs, and with the GGUF file that POLICYLOOP_REAL_MODEL names;
 * `npm run test:kill -- --kills 0 --boundaries all` (or a number of faults, drawn at random): at every write, in the
 * middle of it, and with a disk that is full or read-only from then on. `--built` uses the commands in `dist/`. After a
 * failure, the directories remain for inspection.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { createGenerator } from '../src/base/random/generator.js';
import { breakAtBoundaries } from './kill-at-boundaries.js';
import { killAtRandom } from './kill-at-random.js';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    boundaries: { type: 'string', default: '0' },
    seed: { type: 'string', default: '0' },
    built: { type: 'boolean', default: false },
  },
});

const suite = {
  cwd: mkdtempSync(join(tmpdir(), 'policyloop-kills-')),
  built: values.built,
  random: createGenerator(Number(values.seed)),
  say: (line: string) => process.stdout.write(`${line}\n`),
};
suite.say(suite.cwd);
const kills = Number(values.kills);
if (kills > 0) await killAtRandom(suite, kills, 'parameters');
for (const of of ['a relay', 'programs'] as const)
  if (kills > 0) await killAtRandom(suite, Math.ceil(kills / 4), of);
if (!existsSync(process.env.POLICYLOOP_REAL_MODEL ?? ''))
  suite.say('no runs with a local model: POLICYLOOP_REAL_MODEL names no GGUF file');
else if (kills > 0) await killAtRandom(suite, Math.ceil(kills / 4), 'a local model');
const boundaries = values.boundaries === 'all' ? Number.POSITIVE_INFINITY : Number(values.boundaries);
if (boundaries > 0) await breakAtBoundaries(suite, boundaries);
rmSync(suite.cwd, { recursive: true });
