/** `slurm.sh` and `run.sh` of the folder. */
import type { Machines } from './accelerate.js';
import { sbatchValue, slurmTime } from './shell-text.js';
import { marks } from './training-script.js';
import { places, type TrlTrainer } from './trl-settings.js';

export interface Queue {
  /** Of the job; letters, digits, `_.-`. */
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

/** `run.sh`: the training on this machine. */
export function runScript(trainer: TrlTrainer): string {
  return `#!/bin/bash
# Trains on this machine, going on from the last checkpoint in the output directory. Arguments are passed on:
#   ./run.sh --per_device_train_batch_size 2 --gradient_accumulation_steps 4
set -euo pipefail
cd -- "$(dirname -- "\${BASH_SOURCE[0]}")"
exec accelerate launch --config_file ${places.accelerate} train.py --config ${trainer}.yaml "$@"
`;
}

/**
 * Before its time is up the job is told by USR1, asks the training to stop, and is put back into the queue once there
 * is a new checkpoint: without that guard a training slower than its time limit would begin anew for ever.
 * @param seed of the first training
 * @throws UserError for values that can't stand in an `#SBATCH` line
 */
export function slurmScript(trainer: TrlTrainer, machines: Machines, queue: Queue, seed: number): string {
  const { seeds } = queue;
  const options = [
    `job-name=${sbatchValue('--name', queue.name)}`,
    `nodes=${machines.nodes}`,
    'ntasks-per-node=1',
    `gpus-per-node=${machines.gpusPerNode}`,
    `cpus-per-task=${machines.gpusPerNode * coresPerGpu}`,
    `time=${slurmTime(queue.time)}`,
    ...(queue.partition === undefined ? [] : [`partition=${sbatchValue('--partition', queue.partition)}`]),
    ...(queue.account === undefined ? [] : [`account=${sbatchValue('--account', queue.account)}`]),
    'requeue',
    'open-mode=append',
    `signal=B:USR1@${noticeSeconds}`,
    ...(seeds > 1 ? [`array=0-${seeds - 1}`] : []),
    `output=%x-${seeds > 1 ? '%A_%a' : '%j'}.log`,
  ];
  const output =
    seeds > 1
      ? `seed=$((${seed} + SLURM_ARRAY_TASK_ID))
output="${places.output}/seed-$seed"
job="\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}"`
      : `seed=${seed}
output=${places.output}
job="$SLURM_JOB_ID"`;
  return `#!/bin/bash
# Trains on a Slurm cluster. From the folder that holds this file:  sbatch slurm.sh
${options.map((option) => `#SBATCH --${option}`).join('\n')}

# Modules, a virtual environment, HF_HOME: whatever this cluster needs goes into environment.sh.
cd -- "\${SLURM_SUBMIT_DIR:?submit this file with sbatch}" || exit 2
if [ ! -f train.py ]; then
  echo "there is no train.py in $PWD: submit from the folder that holds slurm.sh" >&2
  exit 2
fi
# shellcheck source=/dev/null
if [ -f environment.sh ]; then . ./environment.sh; fi
set -euo pipefail

${output}

if [ -f "$output/${marks.finished}" ]; then
  echo "this training is finished: $output"
  exit 0
fi
mkdir -p -- "$output"
rm -f -- "$output/${marks.stop}"

newest_checkpoint() {
  find "$output" -maxdepth 2 -path '*/checkpoint-*/trainer_state.json' | sort -V | tail -n 1
}
before=$(newest_checkpoint)

read -r MASTER_ADDR < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
MASTER_PORT=$((20000 + SLURM_JOB_ID % 20000))
export MASTER_ADDR MASTER_PORT
export SRUN_CPUS_PER_TASK="\${SLURM_CPUS_PER_TASK:-1}"

signals=0
ask_to_stop() {
  signals=$((signals + 1))
  echo 'the time is nearly up: asking the training for a checkpoint'
  : > "$output/${marks.stop}"
}
trap ask_to_stop USR1

# One launcher a node; what it is to know of its node, it reads from srun's variables.
# shellcheck disable=SC2016
srun --kill-on-bad-exit=1 bash -c '
  exec accelerate launch --config_file ${places.accelerate} \\
    --machine_rank "$SLURM_NODEID" --main_process_ip "$MASTER_ADDR" --main_process_port "$MASTER_PORT" \\
    train.py "$@"
' train --config ${trainer}.yaml --seed "$seed" --data_seed "$seed" --output_dir "$output" &
training=$!

# A signal ends "wait" before the training has ended: wait again.
while :; do
  signals_before=$signals
  code=0
  wait "$training" || code=$?
  if [ "$code" -le 128 ] || [ "$signals" = "$signals_before" ]; then break; fi
done

if [ -f "$output/${marks.finished}" ]; then
  echo "finished: $output"
  exit 0
fi
if [ "$signals" = 0 ]; then
  echo "the training ended with code $code before it was finished" >&2
  exit $((code == 0 ? 1 : code))
fi
if [ "$(newest_checkpoint)" = "$before" ]; then
  echo 'no new checkpoint since the start: give it more time (--time), or save more often (save_steps)' >&2
  exit 1
fi
echo "back into the queue, to go on from $(newest_checkpoint)"
scontrol requeue "$job"
`;
}
