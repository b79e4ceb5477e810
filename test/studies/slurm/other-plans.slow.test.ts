/**
 * A sweep and an evaluation on Slurm, which is simulated by scripts that run all tasks of an array at once, and end before
 * `sbatch` ends.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { beforeAll, describe, expect, it } from 'vitest';
import { runsBelow } from '../../../src/runs/finder.js';
import { startCommand } from '../../support/command.js';
import { readRunFile, temporaryDirectory } from '../../support/experiments.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);
const programs = at('bin');

const scripts = {
  sbatch: `#!/bin/bash
echo 7
tasks=$(sed -n 's/^#SBATCH --array=\\([0-9,-]*\\).*/\\1/p' "$2")
for range in $(echo "$tasks" | tr , ' '); do
  for i in $(seq "$(echo "$range" | cut -d- -f1)" "$(echo "$range" | cut -d- -f2)"); do
    SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$i bash "$2" > "${place}/task-$i.log" 2>&1 &
  done
done
wait
`,
  squeue: `#!/bin/bash
cat "${place}/queue" 2>/dev/null || true
`,
};

beforeAll(() => {
  mkdirSync(programs);
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(programs, name), text);
    chmodSync(join(programs, name), 0o755);
  }
  writeFileSync(
    at('pole.yaml'),
    `environment: CartPole-v1
model: { provider: hill-climb }
iterations: 3
warmup: 2
evaluation: { episodes: 2, maxSteps: 60, workers: 1 }
confirmation: { candidates: 2, episodes: 5 }
slurm: { tasks: 2 }
`,
  );
});

async function given(...words: readonly string[]) {
  const env = { PATH: `${programs}:${process.env.PATH!}`, OPENAI_API_KEY: 'none' };
  const { code, stderr, stdout } = await startCommand(place, words, env).ended;
  const last = stdout.trim().split('\n').at(-1)!;
  return { code, stderr, last: last === '' ? {} : (JSON.parse(last) as Record<string, unknown>) };
}

const evaluationsIn = (folder: string) =>
  runsBelow(at(folder)).map((run) => [run.slice(at(folder).length), readRunFile(run, 'evaluations')]);

const tasksIn = () => readdirSync(place).filter((name) => /^task-\d\.log$/.test(name));

/** Submits the work, gets the result with the same command, and plays the same work without Slurm. */
async function handsOver(folder: string, words: readonly string[]) {
  for (const name of tasksIn()) rmSync(at(name));
  const first = await given(...words, '--slurm', '--json');
  expect(first).toMatchObject({ code: 0, stderr: expect.stringContaining('job 7') });
  expect(first.last).toMatchObject({ status: 'elsewhere' });
  expect(
    tasksIn()
      .map((name) => readFileSync(at(name), 'utf8'))
      .join('\n'),
  ).not.toMatch(/^error/m);
  const second = await given(...words, '--slurm', '--json');
  expect({ folder, ...second }).toMatchObject({ code: 0 });
  expect(second.last).not.toMatchObject({ status: 'elsewhere' });
  return second.last;
}

describe('--slurm', () => {
  it('runs a sweep as tasks with the same evaluations as one process, and submits missing runs again', {
    timeout: 300_000,
  }, async () => {
    const words = ['sweep', 'pole.yaml', 'seed=1..3', 'slurm.tasks=3', '--out'];
    const told = await handsOver('seeds', [...words, 'seeds']);
    expect(told).toMatchObject({ status: 'completed' });
    expect((await given(...words, 'alone', '--json')).code).toBe(0);
    expect(evaluationsIn('seeds')).toEqual(evaluationsIn('alone'));
    const asked = () => /--array=(\S*)/.exec(readFileSync(at('seeds', 'slurm', 'job.sh'), 'utf8'))![1];
    expect(asked()).toBe('0-2');
    rmSync(at('seeds', 'config', 'seed-2'), { recursive: true });
    expect(await handsOver('seeds', [...words, 'seeds'])).toMatchObject({ status: 'completed' });
    expect(asked()).toBe('1');
    expect(evaluationsIn('seeds')).toEqual(evaluationsIn('alone'));
  });

  it('runs an evaluation as tasks that share an output directory', async () => {
    const arms = ['--base', 'random', '--tuned', 'hill-climb', '--trained-on', 'none'];
    const words = ['finetune', 'evaluate', ...arms, '--configs', 'pole.yaml', '--repeats', '2'];
    const told = await handsOver('evaluation', words);
    expect(runsBelow(at(told.out as string))).toHaveLength(4);
    const script = readFileSync(at(told.out as string, 'slurm', 'job.sh'), 'utf8');
    expect(script).toContain(`--out ${at(told.out as string)}`);
  });
});

describe('an unfinished sweep on Slurm', () => {
  const failing = `export default {
  create({ bad = false } = {}) {
    let x = 0;
    return {
      observationSpace: { kind: 'box', low: [-5], high: [5] },
      actionSpace: { kind: 'discrete', n: 2 },
      maxSteps: 10,
      reset(seed, random) {
        x = random.uniform(-1, 1);
        return [x];
      },
      step(action) {
        if (bad) throw new Error('out of order');
        x += action - 0.5;
        return { observation: [x], reward: -Math.abs(x), terminated: false };
      },
    };
  },
};
`;
  beforeAll(() => {
    writeFileSync(at('bad.js'), failing);
    writeFileSync(
      at('bad.yaml'),
      `environment: ./bad.js
model: { provider: hill-climb }
iterations: 2
warmup: 2
evaluation: { episodes: 2, workers: 1 }
confirmation: { candidates: 2, episodes: 4 }
slurm: { tasks: 2 }
`,
    );
  });
  const handedOver = { code: 0, last: { status: 'elsewhere' } };
  const failed = [{ run: 'bad-true/seed-1', message: expect.stringContaining('out of order') }];

  it('reports the same results and failures as without Slurm, and is then submitted again', async () => {
    const words = ['sweep', 'bad.yaml', 'environment.options.bad=false,true', 'seed=1..2', '--json', '--out'];
    expect(await given(...words, 'failing', '--slurm')).toMatchObject(handedOver);
    const told = await given(...words, 'failing', '--slurm');
    expect(told).toMatchObject({
      code: 1,
      last: { status: 'failed', result: 'incomplete', failures: failed },
    });
    const alone = await given(...words, 'failing-alone');
    expect(alone.code).toBe(1);
    const facts = ({ tasks, failures }: Record<string, unknown>) => [
      (tasks as { settings: { returns: unknown }[]; best: unknown }[]).map(({ best, settings }) => [
        settings.map(({ returns }) => returns),
        best,
      ]),
      failures,
    ];
    expect(facts(told.last)).toEqual(facts(alone.last));
    expect(await given(...words, 'failing', '--slurm')).toMatchObject(handedOver);
  });

  it('ends when a limit of the sweep is reached, and resumes under a higher limit', async () => {
    const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
    const server = await startFakeOpenAI({ reply: () => values });
    const model = `model={provider: openai, name: scripted, baseUrl: "${server.url}"}`;
    const words = ['sweep', 'pole.yaml', model, 'corrections=0', 'memory.best=2,4', 'seed=1..2', '--json'];
    const capped = [...words, '--slurm', '--out', 'capped', 'sweep.limits.calls=4'];
    expect(await given(...capped)).toMatchObject(handedOver);
    const told = await given(...capped);
    expect(told).toMatchObject({ code: 0, last: { status: 'completed', result: 'incomplete' } });
    expect((told.last.usage as { calls: number }).calls).toBe(4);
    const more = [...capped.slice(0, -1), 'sweep.limits.calls=100'];
    expect(await given(...more)).toMatchObject(handedOver);
    expect(await given(...more)).toMatchObject({
      code: 0,
      last: { status: 'completed', result: 'completed' },
    });
  });
});
