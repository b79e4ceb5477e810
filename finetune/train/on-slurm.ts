/** Submits a training run to Slurm as one task, which is requeued at its time limit. */
import { type CommandContext, shownPath } from '../../src/base/context.js';
import { slurmOf } from '../../src/config/load.js';
import { readTraining } from '../../src/runs/training/trainings.js';
import { isTraining } from '../../src/runs/training-files.js';
import { isAtWork, submit, taskWords } from '../../src/studies/slurm.js';
import type { TrainingArguments } from './session.js';
import type { ConfigSource } from './train-config.js';

const isOfSlurm = (text: string) => /^slurm[.=]/.test(text);

/** Last line of `--json` output for a run submitted to Slurm. */
interface HandedTraining {
  readonly status: 'elsewhere';
  /** Completed and planned steps or updates; both are 0 before the start. */
  readonly steps: { readonly done: number; readonly of: number };
  readonly output: string;
}

export const withoutSlurm = (overrides: readonly string[]): readonly string[] =>
  overrides.filter((text) => !isOfSlurm(text));

/** Trains here; with `slurm`, submits the task or reports its progress. @throws UserError if submitting fails */
export async function onSlurm<T extends TrainingArguments & { readonly slurm?: boolean | undefined }>(
  args: T,
  context: CommandContext,
  load: (...source: ConfigSource) => { readonly output: string },
  train: (args: T) => Promise<number>,
): Promise<number> {
  if (args.slurm !== true) return train(args);
  const overrides = withoutSlurm(args.overrides);
  const { output } = load(args.config, overrides, context.cwd);
  const isLeft = await submitted(output, args, context);
  return isLeft ? 0 : train({ ...args, overrides });
}

/** Returns false, without submitting anything, if training is complete. */
async function submitted(
  output: string,
  { json, overrides }: { readonly json: boolean; readonly overrides: readonly string[] },
  context: Pick<CommandContext, 'cwd' | 'note' | 'print' | 'words'>,
): Promise<boolean> {
  const facts = isTraining(output) ? readTraining(output) : undefined;
  const progress =
    facts === undefined ? 'not started' : `${facts.unit} ${facts.steps.done} of ${facts.steps.of}`;
  const submitted: HandedTraining = {
    status: 'elsewhere',
    steps: facts?.steps ?? { done: 0, of: 0 },
    output: shownPath(output, context.cwd),
  };
  const report = () => json && context.print(JSON.stringify(submitted));
  if (await isAtWork(output, progress, context)) {
    report();
    return true;
  }
  if (facts?.status === 'completed') return false;
  const words = withoutSlurm(taskWords(context)(output));
  const what = facts === undefined ? 'the training run' : `the training run, from ${progress},`;
  const task = { directory: output, words, part: '--quiet --json', tasks: [0], what };
  await submit(task, slurmOf(overrides.filter(isOfSlurm)), context);
  report();
  return true;
}
