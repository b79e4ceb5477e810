/**
 * Trains a model from scratch on cooking: imitation of winning games, then reinforcement learning, with several
 * seeds. Evaluates these models, the untrained model, the expert, random play and the first action on the same games of
 * the test fold. Resumes where it stopped: existing results are reused, and training continues from its
 * checkpoint. In a new directory, seeds with committed rows are skipped if the configs are unchanged.
 *
 * Run, after npm run build: npx tsx scripts/cooking.ts WORK-DIRECTORY [FIRST-SEED] [SEEDS] [GAMES]
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import process from 'node:process';
import { initializerRange, randomModel } from '../finetune/engine/first-values.js';
import { writeModel } from '../finetune/engine/model-directory.js';
import { packageRoot } from '../src/base/package.js';
import { readDecoderConfig } from '../src/models/local/families/hf-config.js';

const rows = join(packageRoot(), 'bench', 'rows', 'cooking.jsonl');

const [folder, from = '0', seeds = '5', games = '100'] = process.argv.slice(2);
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

/** Returns the stored result of an earlier call, or makes and stores it. */
function once(name: string, make: () => Result): Result {
  const file = join(work, `${name}.json`);
  if (!existsSync(file)) writeFileSync(file, JSON.stringify(make()));
  return JSON.parse(readFileSync(file, 'utf8')) as Result;
}

interface Row extends Result {
  readonly who: string;
  readonly seed?: number;
  readonly games: number;
  /** Hash of the configs of both training runs. */
  readonly configs?: string;
}

const configFiles = ['training', 'rl'].map((kind) =>
  join(packageRoot(), 'configs', kind, 'cooking-scratch.yaml'),
);
const hash = createHash('sha256');
for (const file of configFiles) hash.update(readFileSync(file));
const configs = hash.digest('hex').slice(0, 12);

const writtenRows = (): readonly Row[] =>
  existsSync(rows)
    ? readFileSync(rows, 'utf8')
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Row)
    : [];

const isSame = (a: Row, b: Row) =>
  a.who === b.who && a.seed === b.seed && a.games === b.games && a.configs === b.configs;

function measure(who: string, seed: number | undefined, ...settings: readonly string[]): void {
  const name = seed === undefined ? who : `${who}-${seed}`;
  const test = ['environment.options.fold=test', 'seed=1', `episodes=${games}`];
  const figures = once(`play-${name}`, () => {
    rmSync(join(work, 'play', name), { recursive: true, force: true });
    return policyloop('play', 'cooking-gold', '--run-dir', join('play', name), ...test, ...settings);
  });
  const { lost, meanLength, meanScore, scoreCi95, truncated, won } = figures;
  const about: Row = { who, ...(seed !== undefined && { seed, configs }), games: Number(games) };
  const row: Row = { ...about, meanScore, scoreCi95, won, lost, truncated, meanLength };
  const others = writtenRows().filter((one) => !isSame(one, row));
  writeFileSync(rows, [...others, row].map((one) => `${JSON.stringify(one)}\n`).join(''));
}

/** True if a row shows that this seed was completed, in any directory. */
const isMeasured = (seed: number) =>
  writtenRows().some((row) => isSame(row, { who: 'reinforced', seed, configs, games: Number(games) }));

/** Decodes as in reinforcement learning, but greedily: scores of whole texts would include forbidden tokens. */
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
for (let seed = Number(from); seed < Number(from) + Number(seeds); seed++) {
  if (isMeasured(seed)) continue;
  const common = [`seed=${seed}`, 'threads=1'];
  const own = (kind: string) => join('tuned', `${kind}-${seed}`);
  const untrained = own('untrained');
  if (!existsSync(join(work, untrained))) {
    mkdirSync(join(work, 'tuned'), { recursive: true });
    const first = randomModel(readDecoderConfig(source), initializerRange(source), seed);
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
