/** A sweep on a real Slurm cluster of two nodes: a cap is reached, a node dies, and a task is queued again. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Result, resultOf, startScriptedServer } from '../../../scripts/killed-runs.js';
import { runsBelow } from '../../../src/runs/finder.js';
import { readRun } from '../../../src/runs/reader.js';
import { startCommand } from '../../support/command.js';
import { temporaryDirectory } from '../../support/experiments.js';
import type { FakeServer } from '../../support/fake-server.js';
import { Cluster, lacking } from './cluster.js';

const missing = lacking();
if (missing !== undefined) process.stderr.write(`Slurm is not tested: ${missing}\n`);

let place: string;
let folder: string;

/** Without what depends on the timing of other runs: the usage that limits had seen, and calls that were lost. */
const ownOf = ({ usage: _, ...result }: Result): unknown =>
  JSON.parse(JSON.stringify(result, (key, value: unknown) => (key === 'caps' ? undefined : value)));

describe.skipIf(missing !== undefined)('a sweep on a Slurm cluster of two nodes', () => {
  let cluster: Cluster;
  let server: FakeServer;

  beforeAll(async () => {
    [place, folder] = [temporaryDirectory(), temporaryDirectory()];
    server = await startScriptedServer();
    cluster = new Cluster(folder);
    writeFileSync(
      join(place, 'pole.yaml'),
      `environment: CartPole-v1
model: { provider: openai, name: fake, baseUrl: "${server.url}" }
iterations: 10
warmup: 3
evaluation: { episodes: 3, maxSteps: 100, workers: 1 }
confirmation: { candidates: 2, episodes: 5 }
slurm: { tasks: 4, time: "00:10:00" }
`,
    );
  });

  afterAll(async () => {
    cluster?.stop();
    await server?.close();
  });

  const sweep = (out: string, ...more: readonly string[]) =>
    startCommand(place, ['sweep', 'pole.yaml', 'memory.best=2,4', '--out', out, '--json', ...more], {
      ...cluster.env,
      OPENAI_API_KEY: 'none',
    }).ended;

  /** Hands a sweep over, and waits until Slurm has nothing of it any more. */
  async function handOver(
    out: string,
    more: readonly string[],
    meanwhile: () => Promise<void> = async () => undefined,
  ) {
    const { code, stderr } = await sweep(out, ...more, '--slurm');
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/job \d+: \d+ of \d+ runs? submitted in 4 tasks/),
    });
    await meanwhile();
    while (cluster.tell('squeue', '--noheader') !== '') await pause(1000);
  }

  const callsIn = (out: string) =>
    runsBelow(join(place, out)).reduce((sum, run) => sum + readRun(run).calls.length, 0);

  const left = (out: string) => {
    const { tasks } = JSON.parse(readFileSync(join(place, out, 'sweep.json'), 'utf8')) as {
      readonly tasks: readonly { readonly effects: unknown; readonly settings: { returns: unknown }[] }[];
    };
    const path = join(place, out);
    return {
      tasks: tasks.map(({ effects, settings }) => ({
        effects,
        returns: settings.map(({ returns }) => returns),
      })),
      plan: readFileSync(join(path, 'plan.json'), 'utf8'),
      runs: runsBelow(path).map((run) => [run.slice(path.length), ownOf(resultOf(run))]),
    };
  };

  it('respects its cap on calls, and gives the same result as without Slurm even if a node dies', {
    timeout: 590_000,
  }, async () => {
    const cap = 20;
    await handOver('capped', ['seed=1..4', `sweep.limits.calls=${cap}`]);
    expect(callsIn('capped')).toBeGreaterThan(cap / 2);
    expect(callsIn('capped')).toBeLessThanOrEqual(cap);

    const more = ['seed=1..12', 'sweep.limits.calls=1000'];
    await handOver('cluster', more, async () => {
      // Until some task is at play on each node.
      const at = (node: string) =>
        cluster
          .tell('squeue', '--noheader', '--states=R', `--nodelist=${node}`, '--format=%A')
          .trim()
          .split('\n');
      while (at('n2')[0] === '' || at('n1')[0] === '') await pause(200);
      cluster.tell('scontrol', 'requeue', at('n1')[0]!);
      cluster.killNode('n2');
    });
    const result = async () => {
      const { stdout } = await sweep('cluster', ...more, '--slurm');
      return JSON.parse(stdout.trim().split('\n').at(-1)!) as Readonly<Record<string, unknown>>;
    };
    // If Slurm gave up a task of the dead node, its runs are handed over once more.
    if ((await result()).status !== 'completed') {
      await result();
      while (cluster.tell('squeue', '--noheader') !== '') await pause(1000);
      expect(await result()).toMatchObject({ status: 'completed', result: 'completed' });
    }

    expect((await sweep('alone', ...more)).code).toBe(0);
    expect(runsBelow(join(place, 'cluster'))).toHaveLength(24);
    expect(left('cluster')).toEqual(left('alone'));
  });
});
