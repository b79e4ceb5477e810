/** A sweep that is killed and resumed leaves the same files as an uninterrupted one. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { resultOf } from '../../../scripts/killed-runs.js';
import { runsBelow } from '../../../src/runs/finder.js';
import { startCommand } from '../../support/command.js';
import { temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();
writeFileSync(
  join(place, 'pole.yaml'),
  `environment: CartPole-v1
model: { provider: hill-climb }
iterations: 12
warmup: 4
evaluation: { episodes: 5, maxSteps: 200 }
confirmation: { candidates: 2, episodes: 10 }
`,
);

/** @param killAfter complete runs, of this process; undefined plays to the end */
async function play(out: string, jobs: number, killAfter?: number, delayMs = 0) {
  const overrides = ['model.sigma=0.1,0.5,1,2', 'seed=1..6'];
  const options = ['--out', out, '--jobs', String(jobs), '--json'];
  const started = startCommand(place, ['sweep', 'pole.yaml', ...overrides, ...options]);
  let [lines, isKilled] = [0, false];
  started.child.stdout!.on('data', (chunk: Buffer) => {
    lines += chunk.toString().split('\n').length - 1;
    if (killAfter === undefined || lines < killAfter || isKilled) return;
    isKilled = true;
    void pause(delayMs).then(() => started.child.kill('SIGKILL'));
  });
  return started.ended;
}

/** All files, without times. */
function left(out: string) {
  const path = join(place, out);
  const {
    activeMs: _,
    date: __,
    usage: ___,
    tasks,
    ...result
  } = JSON.parse(readFileSync(join(path, 'sweep.json'), 'utf8')) as Record<string, unknown> & {
    tasks: { settings: { usage: unknown }[] }[];
  };
  const [{ settings, ...task }] = tasks as [(typeof tasks)[number]];
  return {
    runs: runsBelow(path).map((run) => [run.slice(path.length), resultOf(run), readdirSync(run).toSorted()]),
    plan: readFileSync(join(path, 'plan.json'), 'utf8').replace(`--out ${out}`, '--out OUT'),
    files: readdirSync(path).toSorted(),
    result: { ...result, task, settings: settings.map(({ usage: ____, ...own }) => own) },
  };
}

it('a grid of 24 runs, killed twice and resumed, gives the same result as without interruption', {
  timeout: 600_000,
}, async () => {
  expect((await play('whole', 1)).code).toBe(0);
  for (const [jobs, after, delay] of [
    [1, 3, 40],
    [2, 4, 15],
  ] as const) {
    const { signal } = await play('killed', jobs, after, delay);
    expect(signal).toBe('SIGKILL');
  }
  expect((await play('killed', 1)).code).toBe(0);
  const whole = left('whole');
  expect(whole.runs).toHaveLength(24);
  expect(left('killed')).toEqual(whole);
});
