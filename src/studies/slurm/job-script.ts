/** The script of a job array: every task plays a part of a plan and is requeued when its time runs out. */
import { resolve } from 'node:path';
import type { SlurmConfig } from '../../config/many-runs.js';
import { requireOneLine, shellWord } from '../../format/one-line.js';

/**
 * @param command program and arguments
 * @param part what a task appends to them, in shell syntax
 * @param log folder for the tasks' output
 * @param tasks their numbers, ascending
 * @throws UserError for a text with a line break, which would start a line of its own
 */
export function jobScript(
  {
    command,
    part,
    cwd,
    log,
    name,
    tasks,
  }: {
    readonly command: readonly string[];
    readonly part: string;
    readonly cwd: string;
    readonly log: string;
    readonly name: string;
    readonly tasks: readonly number[];
  },
  slurm: SlurmConfig,
): string {
  requireOneLine({ command, directory: cwd, '--out': log, name, slurm });
  const asked = [
    `job-name=${name}`,
    `array=${numbers(tasks)}${slurm.atOnce === undefined ? '' : `%${slurm.atOnce}`}`,
    `time=${slurm.time}`,
    'ntasks=1',
    `cpus-per-task=${slurm.cpus}`,
    ...(slurm.partition === undefined ? [] : [`partition=${slurm.partition}`]),
    ...(slurm.account === undefined ? [] : [`account=${slurm.account}`]),
    ...(slurm.memory === undefined ? [] : [`mem=${slurm.memory}`]),
    ...(slurm.gpus === undefined ? [] : [`gpus-per-task=${slurm.gpus}`]),
    'requeue',
    'open-mode=append',
    // Not TERM, which `scancel` sends: a cancelled job must not be requeued.
    `signal=B:USR1@${slurm.notice}`,
    `output=${pathForSlurm(log, '/%A_%a.log')}`,
  ];
  return `#!/bin/bash
# Written by policyloop: what is complete is left alone, so that a task may be queued again at any time.
${asked.map((option) => `#SBATCH --${option}`).join('\n')}

cd -- ${shellWord(cwd)} || exit 2
${slurm.setup === undefined ? '' : `. ${shellWord(resolve(cwd, slurm.setup))} || exit 2\n`}
told=
player=
ended=
# What is played is closed.
close_it() {
  ended=1
  if [ -n "$player" ]; then kill -TERM "$player" 2>/dev/null; fi
}
# Slurm tells some time before the time of a task ends: it goes on in the next turn. One that is cancelled does not.
trap 'told=1; close_it' USR1
trap close_it TERM

${command.map(shellWord).join(' ')} ${part} &
player=$!
# The signal may have come before the player's number was known.
if [ -n "$ended" ]; then close_it; fi
wait "$player"
code=$?
if [ -n "$ended" ]; then
  # The first wait ended with the signal.
  wait "$player"
  code=$?
fi
if [ -n "$told" ]; then
  scontrol requeue "\${SLURM_ARRAY_JOB_ID}_\${SLURM_ARRAY_TASK_ID}"
  exit 0
fi
exit "$code"
`;
}

/** Numbers in `sbatch` syntax: `0-3,7`. */
function numbers(tasks: readonly number[]): string {
  const first = tasks.filter((task) => !tasks.includes(task - 1));
  const last = tasks.filter((task) => !tasks.includes(task + 1));
  return first.map((from, i) => (from === last[i] ? String(from) : `${from}-${last[i]}`)).join(',');
}

/**
 * A path in the syntax of an `sbatch` script, with `%` escaped. @param pattern appended to it, in which `%A`
 * and the like are expanded
 */
const pathForSlurm = (path: string, pattern: string) =>
  `"${path.replaceAll('%', '%%').replaceAll(/["\\]/g, '\\$&')}${pattern}"`;
