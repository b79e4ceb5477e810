/** The script of a job array, read and run by bash. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { expect, it } from 'vitest';
import { loadSlurm } from '../../../src/config/load.js';
import { slurmSchema } from '../../../src/config/many-runs.js';
import { jobScript } from '../../../src/studies/slurm.js';
import { temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

it('the job script quotes its command for the shell, and lists its tasks as ranges', () => {
  const slurm = slurmSchema.parse({ atOnce: 3, memory: '8G', gpus: 1, partition: 'short' });
  const command = ['node', 'cli.js', 'sweep', "a'b.yaml", 'model.name="x y"'];
  const part = '--part "$SLURM_ARRAY_TASK_ID/5" --quiet --json';
  const of = (tasks: readonly number[]) =>
    jobScript({ command, part, cwd: '/tmp/a b', log: '/tmp/log', name: 'p', tasks }, slurm);
  const text = of([0, 1, 2, 3, 4]);
  expect(text).toContain('#SBATCH --array=0-4%3\n');
  expect(of([1])).toContain('#SBATCH --array=1%3\n');
  expect(of([0, 2, 3, 4, 7, 9, 10])).toContain('#SBATCH --array=0,2-4,7,9-10%3\n');
  expect(text).toContain("cd -- '/tmp/a b' || exit 2\n");
  expect(text).toContain(
    `node cli.js sweep 'a'\\''b.yaml' 'model.name="x y"' --part "$SLURM_ARRAY_TASK_ID/5" --quiet --json &`,
  );
});

it('slurm.setup is relative to the config or the working directory, and not looked up on the PATH', () => {
  mkdirSync(at('deep'), { recursive: true });
  const file = at('deep', 'pole.yaml');
  writeFileSync(file, 'environment: CartPole-v1\nslurm: { setup: set up.sh }\n');
  expect(loadSlurm({ file, cwd: place }).setup).toBe(at('deep', 'set up.sh'));
  const slurm = loadSlurm({ file, cwd: place, overrides: ['slurm.setup=own.sh'] });
  expect(slurm.setup).toBe(at('own.sh'));
  const setup = 'modules.sh';
  const text = jobScript(
    { command: ['node'], part: '', cwd: '/home/a b', log: '/tmp', name: 'p', tasks: [0] },
    { ...slurm, setup },
  );
  expect(text).toContain("\n. '/home/a b/modules.sh' || exit 2\n");
});

it('the output path is escaped for the quotes and patterns of sbatch', () => {
  const log = '/tmp/a b/50%/"q"';
  const text = jobScript(
    { command: ['node'], part: '', cwd: '/tmp', log, name: 'p', tasks: [0] },
    slurmSchema.parse({}),
  );
  expect(text).toContain(String.raw`#SBATCH --output="/tmp/a b/50%%/\"q\"/%A_%a.log"`);
});

it('a task is requeued when its time is up, but not when it is cancelled', async () => {
  const bin = at('bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'scontrol'), '#!/bin/bash\necho "$@" >> "$LOG"\n', { mode: 0o755 });
  const player = join(bin, 'player');
  // As ours: closes what it plays, and says that it was interrupted.
  writeFileSync(player, '#!/bin/bash\ntrap "exit 130" TERM\necho plays\nwhile :; do sleep 0.05; done\n', {
    mode: 0o755,
  });
  const script = at('job.sh');
  writeFileSync(
    script,
    jobScript(
      { command: [player], part: '', cwd: bin, log: bin, name: 'p', tasks: [0] },
      slurmSchema.parse({}),
    ),
  );
  const endedBy = async (signal: NodeJS.Signals) => {
    const LOG = at(`requeued-by-${signal}`);
    const env = {
      PATH: `${bin}:${process.env.PATH!}`,
      LOG,
      SLURM_ARRAY_JOB_ID: '7',
      SLURM_ARRAY_TASK_ID: '3',
    };
    const child = spawn('bash', [script], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    child.kill(signal);
    const [code] = (await once(child, 'close')) as [number];
    return { code, requeued: existsSync(LOG) ? readFileSync(LOG, 'utf8').trim() : '' };
  };
  expect(await endedBy('SIGUSR1')).toEqual({ code: 0, requeued: 'requeue 7_3' });
  expect(await endedBy('SIGTERM')).toEqual({ code: 130, requeued: '' });
});
