/** `slurm.sh` of an exported folder. */
import { UserError } from '../../src/base/errors.js';
import type { Machines } from './accelerate.js';
import { fillTemplate } from './texts.js';
import type { TrlTrainer } from './trl-settings.js';

export interface Queue {
  /** Job name; letters, digits and `_.-`. */
  readonly name: string;
  /** Time limit of a single job, in Slurm's format. */
  readonly time: string;
  readonly partition: string | undefined;
  readonly account: string | undefined;
  /** Number of training runs that differ only in their seed; several become a job array. */
  readonly seeds: number;
}

/** Seconds before the time limit at which Slurm signals the script: enough for one step and its checkpoint. */
export const noticeSeconds = 120;

/** CPU cores per GPU, for data loading. */
const coresPerGpu = 8;

/**
 * Creates the script. The job receives USR1 before its time is up, asks the training to stop, and requeues
 * itself if there is a new checkpoint. Without that check, a run that can't reach a checkpoint within the
 * time limit would restart forever.
 * @param seed seed of the first training run
 * @throws UserError for values that can't be used in an `#SBATCH` line
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

/** Validates a value for an `#SBATCH --option=value` line, where quoting doesn't help. */
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
