import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import type { RandomGenerator } from '../src/base/random/generator.js';
import { readManifest, readRun } from '../src/runs/reader.js';
import { requireSame, resultOf, starter, startScriptedServer, watch } from './killed-runs.js';

export interface Suite {
  /** A directory for the runs. */
  readonly cwd: string;
  /** True to use the commands in `dist/`. */
  readonly built: boolean;
  readonly random: RandomGenerator;
  readonly say: (line: string) => void;
}

const evaluation = `evaluation: { episodes: 5, maxSteps: 200 }
confirmation: { candidates: 2, episodes: 30 }
`;

const runs = {
  parameters: {
    iterations: 40,
    isRecorded: true,
    config: `environment: CartPole-v1
model: { provider: openai, name: fake }
candidates: 2
warmup: 5
${evaluation}`,
  },
  'a relay': {
    iterations: 40,
    isRecorded: true,
    config: `environment: CartPole-v1
model: { relay: [{ provider: openai, name: fake, calls: 30 }, { provider: gp, evaluations: 10 }, { provider: cma-es }] }
candidates: 2
warmup: 5
${evaluation}`,
  },
  programs: {
    iterations: 40,
    isRecorded: false,
    config: `environment: CartPole-v1
policy: { kind: program, tune: { by: cma-es, after: 6, evaluations: 4 } }
model: { provider: genetic, population: 4 }
warmup: 3
${evaluation}`,
  },
  // Few parameters and short prompts save time.
  'a local model': {
    iterations: 3,
    isRecorded: false,
    config: `environment: MountainCarContinuous-v0
model: { provider: local, path: ${process.env.POLICYLOOP_REAL_MODEL}, threads: 1 }
prompts: { set: compact }
memory: { best: 2, recent: 2 }
candidates: 2
warmup: 2
${evaluation}`,
  },
};

/**
 * Sends SIGKILL at uniformly drawn times, run after run, until `kills` is reached.
 * @param of kind of the runs: with a server's replayed proposals, alone or in a relay; with tuned programs of genetic
 * programming; or with a real model
 * @throws Error if a run ends differently from an undisturbed one, or a completed iteration is lost
 */
export async function killAtRandom(
  { cwd, built, random, say }: Suite,
  kills: number,
  of: keyof typeof runs,
): Promise<void> {
  const start = starter(cwd, built);
  const started = performance.now();
  const { config, isRecorded, iterations } = runs[of];
  const first = of.replaceAll(' ', '-');
  const command = [`${first}.yaml`, `iterations=${iterations}`];
  writeFileSync(join(cwd, `${first}.yaml`), config);
  if (isRecorded) {
    const server = await startScriptedServer();
    try {
      await watch(
        start(['run', ...command, '--run-dir', `recorded-${first}`], { OPENAI_BASE_URL: server.url }),
      );
    } finally {
      await server.close();
    }
    command.push('model.provider=replayed', `model.run=recorded-${first}`);
  }
  const undisturbed = await watch(start(['run', ...command, '--run-dir', `whole-${first}`]));
  const expected = resultOf(join(cwd, `whole-${first}`));

  let done = 0;
  let count = 0;
  /** Sum over all kills of the completed iterations on disk. */
  let found = 0;
  /** Number of kills by their position in the run. */
  const places = { 'in the warm-up': 0, 'between iterations': 0, 'after the last': 0 };
  while (done < kills) {
    const name = `killed-${first}-${++count}`;
    const path = join(cwd, name);
    let completed = 0;
    let args = ['run', ...command, '--run-dir', name];
    for (;;) {
      const delay = done < kills ? random.uniform(0, undisturbed.milliseconds) : Number.POSITIVE_INFINITY;
      const { killed, reported } = await watch(start(args), delay);
      const now = readRun(path).iteration;
      if (now < Math.max(completed, reported))
        throw new Error(
          `${path}: ${now} completed iterations, but ${Math.max(completed, reported)} were reported`,
        );
      completed = now;
      if (!killed) break;
      found += now;
      done++;
      places[now === 0 ? 'in the warm-up' : now < iterations ? 'between iterations' : 'after the last']++;
      // It was killed while writing the report, or just before that.
      if (readManifest(path).status === 'completed') break;
      args = ['resume', name, '--runs-dir', '.'];
    }
    requireSame(path, expected);
    rmSync(path, { recursive: true });
    say(`${name}: same as without kills; ${done} of ${kills} kills`);
  }
  const where = Object.entries(places).map(([place, count]) => `${count} ${place}`);
  say(
    `${done} kills (${where.join(', ')}) of ${count} runs in ${((performance.now() - started) / 1000).toFixed(0)} s: ` +
      `0 of ${found} completed iterations lost; every run ended like an uninterrupted one, byte for byte`,
  );
}
