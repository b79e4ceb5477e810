/**
 * `npm run bench:text [-- FOLDER]`: steps with random admissible commands, in turns; a CPU second where one process plays, so
 * that other work on the machine matters little. FOLDER holds games of TextWorld (default: those of the tests).
 * POLICYLOOP_PYTHON names a Python with textworld or textworld-express, which play beside.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { gunzipSync } from 'node:zlib';
import { packageRoot } from '../src/base/package.js';
import { openEnvironment } from '../src/environments/catalogue/open.js';
import { isRemote } from '../src/environments/remote/remote-environment.js';
import type { TextGame } from '../src/environments/text/text-game.js';
import { loadGame, TextWorldPlay } from '../src/environments/text/textworld/game.js';
import { readGame } from '../src/environments/text/textworld/game-file.js';
import { textWorlds } from '../src/environments/text/worlds/worlds.js';
import { createGenerator } from '../src/random/generator.js';
import { median } from './rollouts.js';

const seconds = 2;
const rounds = 5;
const mostSteps = 100;
const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const express = 'textworld-express:cookingworld';

interface Contender {
  readonly name: string;
  readonly unit: 'CPU second' | 'second';
  run(): number | Promise<number>;
}

function played(name: string, games: readonly TextGame[]): Contender {
  const random = createGenerator(1);
  return {
    name,
    unit: 'CPU second',
    run() {
      let steps = 0;
      const start = performance.now();
      const before = process.cpuUsage();
      for (let next = 0; performance.now() - start < 1000 * seconds; next++) {
        const game = games[next % games.length]!;
        game.start();
        for (let i = 0; i < mostSteps && !game.won && !game.lost; i++, steps++) {
          const admissible = game.admissible!;
          game.step(admissible[random.integers(0, admissible.length)]!);
        }
      }
      const { user, system } = process.cpuUsage(before);
      return (1e6 * steps) / (user + system);
    },
  };
}

function ownGames(name: string): Contender {
  const world = textWorlds.find((one) => one.name === name)!;
  const games = Array.from({ length: 20 }, (_, seed) => world.game({}, createGenerator(seed)));
  return played(`text:${name}`, games);
}

/** One game of Python's TextWorld, from its `.json`. */
function pythonTextWorld(file: string): Contender | undefined {
  const script = join(packageRoot(), 'bench', 'textworld-speed.py');
  const run = () => spawnSync(python, [script, file, `${seconds}`], { encoding: 'utf8' });
  if (run().status !== 0) return undefined;
  return {
    name: 'TextWorld in Python, the .json of the first of those games',
    unit: 'CPU second',
    run: () => Number(run().stdout),
  };
}

async function throughBridge(
  parallel: number,
): Promise<(Contender & { close(): Promise<void> }) | undefined> {
  try {
    const world = await openEnvironment({ id: express, parallel }, process.env);
    if (!isRemote(world)) throw new Error('a remote one');
    const batch = world.batches[0]!;
    const random = createGenerator(2);
    let seed = 0;
    const run = async () => {
      let steps = 0;
      const start = performance.now();
      while (performance.now() - start < 1000 * seconds) {
        await batch.reset(Array.from({ length: parallel }, () => seed++ % 1000));
        let slots = Array.from({ length: parallel }, (_, slot) => slot);
        while (slots.length > 0 && performance.now() - start < 1000 * seconds) {
          const moves = slots.map((slot) => {
            const admissible = batch.info!(slot).admissible!;
            return { slot, action: admissible[random.integers(0, admissible.length)]! };
          });
          const answers = await batch.step(moves);
          steps += moves.length;
          slots = slots.filter((_, i) => !answers[i]!.terminated && !answers[i]!.truncated);
        }
      }
      return (1000 * steps) / (performance.now() - start);
    };
    return {
      name: `${express}, ${parallel} games a message`,
      unit: 'second',
      run,
      close: () => world.close(),
    };
  } catch (error) {
    process.stderr.write(`${String(error).split('\n')[0]}\n`);
    return undefined;
  }
}

const folder = process.argv[2] ?? join(packageRoot(), 'test', 'fixtures', 'golden-text', 'games');
const temporary = mkdtempSync(join(tmpdir(), 'policyloop-bench-'));
try {
  const files = readdirSync(folder)
    .filter((file) => /^.*cooking.*\.json(\.gz)?$/.test(file))
    .map((file) => {
      const bytes = readFileSync(join(folder, file));
      const plain = join(temporary, file.replace(/\.gz$/, ''));
      writeFileSync(plain, file.endsWith('.gz') ? gunzipSync(bytes) : bytes);
      return plain;
    });
  const plays = files.map((file) => new TextWorldPlay(loadGame(readGame(file), 'z8')));
  const bridges = [await throughBridge(1), await throughBridge(32)];
  const contenders: readonly (Contender | undefined)[] = [
    ...textWorlds.map(({ name }) => ownGames(name)),
    files.length === 0 ? undefined : played(`textworld: ${files.length} cooking games`, plays),
    files.length === 0 ? undefined : pythonTextWorld(files[0]!),
    ...bridges,
  ];
  const there = contenders.filter((one) => one !== undefined);
  const speeds = new Map(there.map(({ name }) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round++)
    for (const { name, run } of there) speeds.get(name)!.push(await run());
  for (const { name, unit } of there) {
    const speed = Math.round(median(speeds.get(name)!)).toLocaleString('en');
    process.stdout.write(`${speed.padStart(9)} steps a ${unit.padEnd(10)}  ${name}\n`);
  }
  for (const bridge of bridges) await bridge?.close();
} finally {
  rmSync(temporary, { recursive: true, force: true });
}
