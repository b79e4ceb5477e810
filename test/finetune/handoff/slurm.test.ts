/** The Slurm script against stand-ins for Slurm and the training. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type Queue, slurmScript } from '../../../finetune/handoff/texts.js';
import { temporaryDirectory } from '../../support/experiments.js';

const machines = { strategy: 'multi_gpu', nodes: 2, gpusPerNode: 4, perDevice: 1 } as const;
const queue: Queue = { name: 'tune', time: '1:00:00', partition: 'gpu', account: undefined, seeds: 1 };

const commands = {
  srun: `echo "srun $*" >> "$LOG"
while [ "\${1#--}" != "$1" ]; do shift; done
SLURM_NODEID=0 exec "$@"`,
  scontrol: `if [ "$1" = show ]; then printf 'node-a\\nnode-b\\n'; else echo "scontrol $*" >> "$LOG"; fi`,
  // Takes a step of 50 ms ten times; saves and ends when it is asked to, as train.py does.
  accelerate: `echo "accelerate $*" >> "$LOG"
while [ "$1" != --output_dir ]; do shift; done
output="$2"
if [ -n "\${TRAINING_CODE:-}" ]; then exit "$TRAINING_CODE"; fi
saved=$(ls "$output" | grep -c checkpoint || true)
: > started
for step in 1 2 3 4 5 6 7 8 9 10; do
  if [ "\${HASTE:-no}" = yes ]; then break; fi
  if [ -e "$output/stop-requested" ]; then
    if [ "\${TRAINING_SAVES:-yes}" = yes ]; then
      mkdir -p "$output/checkpoint-$((saved + 1))"
      : > "$output/checkpoint-$((saved + 1))/trainer_state.json"
    fi
    exit 0
  fi
  if [ "\${TRAINING_WAITS:-no}" = yes ]; then while [ ! -e "$output/stop-requested" ]; do sleep 0.02; done; fi
  sleep 0.05
done
: > "$output/finished.json"`,
} as const;

const running: ChildProcess[] = [];
afterEach(() => {
  for (const child of running.splice(0)) child.kill('SIGKILL');
});

function cluster(changes: Partial<Queue> = {}, seed = 3) {
  const folder = join(temporaryDirectory(), `it's a folder`);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  for (const [name, body] of Object.entries(commands)) {
    const file = join(folder, 'bin', name);
    writeFileSync(file, `#!/bin/bash\n${body}\n`);
    chmodSync(file, 0o755);
  }
  writeFileSync(join(folder, 'train.py'), '');
  writeFileSync(join(folder, 'slurm.sh'), slurmScript('sft', machines, { ...queue, ...changes }, seed));
  const submit = (env: Readonly<Record<string, string>> = {}) => {
    const child = spawn('bash', [join(folder, 'slurm.sh')], {
      // Slurm runs a copy of the script from a directory of its own.
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}`,
        LOG: join(folder, 'log'),
        SLURM_SUBMIT_DIR: folder,
        SLURM_JOB_ID: '77',
        SLURM_JOB_NODELIST: 'node-[a-b]',
        SLURM_CPUS_PER_TASK: '32',
        ...env,
      },
    });
    running.push(child);
    let errors = '';
    child.stderr.on('data', (chunk: Buffer) => {
      errors += chunk.toString();
    });
    const ended = once(child, 'close').then(([code]) => ({ code: code as number, errors }));
    return { child, ended };
  };
  const started = async () => {
    while (!existsSync(join(folder, 'started'))) await new Promise((resolve) => setTimeout(resolve, 10));
  };
  const log = () => readFileSync(join(folder, 'log'), 'utf8').trimEnd().split('\n');
  return { folder, submit, started, log };
}

describe('slurm.sh', () => {
  it('requests nodes, GPUs, time and account in #SBATCH lines', () => {
    const lines = slurmScript('dpo', machines, { ...queue, account: 'lab', seeds: 4 }, 3)
      .split('\n')
      .filter((line) => line.startsWith('#SBATCH'));
    expect(lines).toEqual(
      expect.arrayContaining([
        '#SBATCH --nodes=2',
        '#SBATCH --ntasks-per-node=1',
        '#SBATCH --gpus-per-node=4',
        '#SBATCH --time=1:00:00',
        '#SBATCH --partition=gpu',
        '#SBATCH --account=lab',
        '#SBATCH --requeue',
        '#SBATCH --open-mode=append',
        '#SBATCH --signal=B:USR1@120',
        '#SBATCH --array=0-3',
      ]),
    );
  });

  it('launches the training with the first node as the main process', async () => {
    const { submit, log } = cluster();
    expect(await submit({ HASTE: 'yes' }).ended).toEqual({ code: 0, errors: '' });
    expect(log().filter((line) => line.startsWith('scontrol'))).toEqual([]);
    expect(log().at(-1)).toBe(
      'accelerate launch --config_file accelerate.yaml --machine_rank 0 --main_process_ip node-a ' +
        '--main_process_port 20077 train.py --config sft.yaml --seed 3 --data_seed 3 --output_dir output',
    );
  });

  it('saves a checkpoint and requeues near the time limit; a second run finishes, a third does nothing', async () => {
    const { folder, submit, started, log } = cluster();
    const first = submit({ TRAINING_WAITS: 'yes' });
    await started();
    first.child.kill('SIGUSR1');
    expect(await first.ended).toEqual({ code: 0, errors: '' });
    expect(existsSync(join(folder, 'output', 'checkpoint-1', 'trainer_state.json'))).toBe(true);
    expect(log().at(-1)).toBe('scontrol requeue 77');

    // The request of the first stretch doesn't stop the second.
    expect(await submit().ended).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, 'output', 'finished.json'))).toBe(true);
    expect(log().filter((line) => line.startsWith('scontrol'))).toHaveLength(1);
    const launches = log().length;
    expect(await submit().ended).toMatchObject({ code: 0 });
    expect(log()).toHaveLength(launches);
  });

  it('trains the seed of its array task and requeues only that task', async () => {
    const { folder, submit, started, log } = cluster({ seeds: 3 });
    const task = submit({
      SLURM_ARRAY_JOB_ID: '75',
      SLURM_ARRAY_TASK_ID: '2',
      TRAINING_WAITS: 'yes',
    });
    await started();
    task.child.kill('SIGUSR1');
    expect(await task.ended).toMatchObject({ code: 0 });
    expect(log().at(-1)).toBe('scontrol requeue 75_2');
    expect(log().at(-2)).toMatch(/--seed 5 --data_seed 5 --output_dir output\/seed-5$/);
    expect(existsSync(join(folder, 'output', 'seed-5', 'checkpoint-1'))).toBe(true);
  });

  it('fails without a new checkpoint instead of restarting forever', async () => {
    const { submit, started, log } = cluster();
    const job = submit({ TRAINING_WAITS: 'yes', TRAINING_SAVES: 'no' });
    await started();
    job.child.kill('SIGUSR1');
    expect(await job.ended).toMatchObject({
      code: 1,
      errors: expect.stringContaining('no new checkpoint') as string,
    });
    expect(log().some((line) => line.startsWith('scontrol'))).toBe(false);
  });

  it.each([
    ['3', 3],
    ['0', 1],
  ])(
    'fails and does not requeue if the training exits with %s before it is finished',
    async (given, code) => {
      const { submit, log } = cluster();
      expect(await submit({ TRAINING_CODE: given }).ended).toMatchObject({ code });
      expect(log().some((line) => line.startsWith('scontrol'))).toBe(false);
    },
  );

  it('reads environment.sh, even if it uses unset variables', async () => {
    const { folder, submit, log } = cluster();
    writeFileSync(join(folder, 'environment.sh'), 'echo "environment $NOT_SET" >> "$LOG"\n');
    expect(await submit({ HASTE: 'yes' }).ended).toMatchObject({ code: 0 });
    expect(log()[0]).toBe('environment ');
  });

  it('says how to submit it if the submit directory is wrong', async () => {
    const { submit } = cluster();
    expect(await submit({ SLURM_SUBMIT_DIR: '/' }).ended).toMatchObject({
      code: 2,
      errors: expect.stringContaining('submit from the folder') as string,
    });
  });
});
