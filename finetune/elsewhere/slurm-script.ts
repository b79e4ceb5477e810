/** `slurm.sh` of the folder. */
import { UserError } from '../../src/base/errors.js';
import type { Machines } from './accelerate.js';
import { fillTemplate } from './texts.js';
import type { TrlTrainer } from './trl-settings.js';

export interface Queue {
  /** Name of the job: letters, digits, `_.-`. */
  readonly name: string;
  /** Time limit of one stretch, as Slurm writes it. */
  readonly time: string;
  readonly partition: string | undefined;
  readonly account: string | undefined;
  /** Trainings that differ in their seed only: a job array where there are several. */
  readonly seeds: number;
}

/** Seconds before the time limit at which Slurm tells the script: time for one step and its checkpoint. */
export const noticeSeconds = 120;

/** Cores a device, for reading data. */
const coresPerGpu = 8;

/**
 * Before its time is up the job receives USR1, asks the training to stop, and goes back into the queue once there is a
 * new checkpoint: without that guard a training slower than its time limit would begin anew for ever.
 * @param seed of the first training
 * @throws UserError for values that can't stand in an `#SBATCH` line
 */
export function slurmScript(trainer: TrlTrainer, machines: Machines, queue: Queue, seed: number): string {
  const { name, time, partition, account, seeds } = queue;
  return fillTemplate('slurm.sh', {
    trainer,
    machines,
    seed,
    noticeSeconds,
    cores: machines.gpusPerNode * coresPerGpu,
    name: sbatchValue('--name', name),
    time: slurmTime(time),
    partition: partition === undefined ? undefined : sbatchValue('--partition', partition),
    account: account === undefined ? undefined : sbatchValue('--account', account),
    array: seeds > 1 ? `0-${seeds - 1}` : undefined,
  });
}

/** A value for a line `#SBATCH --option=value`, which no quoting makes safe. */
function sbatchValue(option: string, value: string): string {
  if (/^[\w.:,@+-]+$/.test(value) && !value.startsWith('-')) return value;
  throw new UserError({
    field: option,
    message: 'give one word of letters, digits and _ . : , @ + -',
    value,
  });
}

function slurmTime(value: string): string {
  if (/^(\d+|\d+:\d\d|\d+:\d\d:\d\d|\d+-\d+(:\d\d){0,2})$/.test(value)) return value;
  throw new UserError({
    field: '--time',
    message: 'this is no time limit of Slurm',
    value,
    alternatives: ['90 (minutes)', '4:00:00', '2-12:00:00 (days first)'],
  });
}
