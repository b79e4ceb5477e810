/** Hands a training to Slurm as one task, which is queued again where its time ends, and goes on from its checkpoint. */
import { type CommandContext, shownPath } from '../../src/base/context.js';
import { slurmOf } from '../../src/config/load.js';
import { trainingFacts } from '../../src/runs/training/trainings.js';
import { isTraining } from '../../src/runs/training-files.js';
import { isAtWork, submit, taskWords } from '../../src/studies/slurm/hand-over.js';

const isOfSlurm = (text: string) => /^slurm[.=]/.test(text);

/** The last line of `--json` of a training that Slurm has. */
export interface HandedTraining {
  readonly status: 'elsewhere';
  /** Steps or updates that are done, of so many; 0 of 0 before it has begun. */
  readonly steps: { readonly done: number; readonly of: number };
  readonly output: string;
}

/** Overrides of the training itself. */
export const withoutSlurm = (overrides: readonly string[]): readonly string[] =>
  overrides.filter((text) => !isOfSlurm(text));

/**
 * Hands the training in `output` over, or tells how far its task is.
 * @returns whether anything is left to Slurm: the training has come to its end otherwise
 * @throws UserError where Slurm is not there, or refuses
 */
export async function trainOnSlurm(
  output: string,
  { json, overrides }: { readonly json: boolean; readonly overrides: readonly string[] },
  context: Pick<CommandContext, 'cwd' | 'note' | 'print' | 'words'>,
): Promise<boolean> {
  const facts = isTraining(output) ? trainingFacts(output) : undefined;
  const progress =
    facts === undefined ? 'not begun' : `${facts.unit} ${facts.steps.done} of ${facts.steps.of}`;
  const told: HandedTraining = {
    status: 'elsewhere',
    steps: facts?.steps ?? { done: 0, of: 0 },
    output: shownPath(output, context.cwd),
  };
  const tell = () => json && context.print(JSON.stringify(told));
  if (await isAtWork(output, progress, context)) {
    tell();
    return true;
  }
  if (facts?.status === 'completed') return false;
  const words = withoutSlurm(taskWords(context)(output));
  const what = facts === undefined ? 'the training' : `the training, from ${progress} on,`;
  const task = { directory: output, words, part: '--quiet --json', tasks: [0], what };
  await submit(task, slurmOf(overrides.filter(isOfSlurm)), context);
  tell();
  return true;
}
