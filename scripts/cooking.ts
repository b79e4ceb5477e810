/**
 * Trains a model from scratch on cooking: imitation of winning games, then reinforcement learning. Each stage plays games
 * 101 to 300 of the test fold (`seed=1`), because games 1 to 100 were played while the recipe was chosen. Appends a row
 * with the scores of each stage to WORK-DIRECTORY/rows.jsonl. Resumes where it stopped: existing results are reused, and
 * training continues from its checkpoint.
 *
 * Run, after npm run build: npx tsx scripts/cooking.ts WORK-DIRECTORY [SEED …]
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { drawWeights, initializerRange } from '../finetune/engine/first-values.js';
import { writeModel } from '../finetune/engine/model-directory.js';
import { gamesOf } from '../src/agents/play-result.js';
import { packageRoot } from '../src/base/package.js';
import { readDecoderConfig } from '../src/models/local/families/hf-config.js';
import { openLogs } from '../src/runs/reader.js';

const [folder, ...seeds] = process.argv.slice(2);
if (folder === undefined) throw new Error('pass a working directory');
const work = resolve(folder);
mkdirSync(work, { recursive: true });

type Result = Readonly<Record<string, unknown>>;

/** @returns the last line that a command prints, as JSON */
function policyloop(...args: readonly string[]): Result {
  const cli = join(packageRoot(), 'dist', 'src', 'cli.js');
  const { status, stdout } = spawnSync(process.execPath, [cli, ...args, '--json'], {
    cwd: work,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (status !== 0) throw new Error(`policyloop ${args.join(' ')} ended with ${status}`);
  return JSON.parse(stdout.trim().split('\n').at(-1)!) as Result;
}

/** Reuses the results of earlier calls. */
function once(name: string, make: () => Result): Result {
  const file = join(work, `${name}.json`);
  if (!existsSync(file)) writeFileSync(file, JSON.stringify(make()));
  return JSON.parse(readFileSync(file, 'utf8')) as Result;
}

/** Plays the games, and writes their scores once. */
function measure(who: string, seed: string | undefined, ...settings: readonly string[]): void {
  const name = seed === undefined ? who : `${who}-${seed}`;
  once(`play-${name}`, () => {
    const directory = join('play', name);
    rmSync(join(work, directory), { recursive: true, force: true });
    const test = ['environment.options.fold=test', 'seed=1', 'episodes=300'];
    policyloop('play', 'cooking-gold', '--run-dir', directory, ...test, ...settings);
    const scores = gamesOf(openLogs(join(work, directory)))
      .slice(100)
      .map(({ score }) => score);
    const row = { who, ...(seed !== undefined && { seed: Number(seed) }), scores };
    appendFileSync(join(work, 'rows.jsonl'), `${JSON.stringify(row)}\n`);
    return row;
  });
}

/** Decode as in reinforcement learning, but greedily: scores of whole texts would include forbidden tokens. */
const playedBy = (path: string) => [
  ...['player=model', `model.path=${path}`, 'model.threads=1'],
  ...['policy.act=constrained', 'model.temperature=0'],
];

once('gold', () => policyloop('play', 'cooking-gold', '--run-dir', 'gold'));
once('dataset', () => {
  const chosen = ['--recipe', 'demonstrations', '--min-return', '1', '--validation', '0.05'];
  return policyloop('finetune', 'dataset', './gold', ...chosen, '--out', 'dataset');
});
for (const player of ['expert', 'random', 'first']) measure(player, undefined, `player=${player}`);
const source = join(packageRoot(), 'models', 'tiny-words');
for (const seed of seeds) {
  const common = [`seed=${seed}`, 'threads=1'];
  const own = (kind: string) => join('tuned', `${kind}-${seed}`);
  const untrained = own('untrained');
  if (!existsSync(join(work, untrained))) {
    mkdirSync(join(work, 'tuned'), { recursive: true });
    const first = drawWeights(readDecoderConfig(source), initializerRange(source), Number(seed));
    await writeModel(join(work, untrained), source, first);
  }
  measure('untrained', seed, ...playedBy(untrained));
  const imitation = own('imitation');
  once(`training-imitation-${seed}`, () =>
    policyloop(
      'finetune',
      'train',
      'cooking-scratch',
      'dataset=./dataset',
      `output=./${imitation}`,
      ...common,
    ),
  );
  measure('imitation', seed, ...playedBy(join(imitation, 'model')));
  const reinforced = own('reinforced');
  const from = [`model=./${imitation}/model`, `output=./${reinforced}`];
  once(`training-reinforced-${seed}`, () =>
    policyloop('finetune', 'rl', 'cooking-scratch', ...from, ...common),
  );
  measure('reinforced', seed, ...playedBy(join(reinforced, 'model')));
}
