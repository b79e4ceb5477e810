/** `policyloop finetune evaluate`: plays the same experiments with the base and the tuned model, and compares them. */
import type { Argv } from 'yargs';
import { type Arguments, common, kinds, studyOptions } from '../../src/base/command.js';
import { type CommandContext, requireCount } from '../../src/base/context.js';
import type { StudyRunLine } from '../../src/studies/display.js';
import type { PlanProgress } from '../../src/studies/play.js';
import type { EvaluationSummary } from '../evaluate/play.js';

export const options = (y: Argv) =>
  studyOptions(
    y
      .positional('overrides', {
        type: 'string',
        array: true,
        default: [],
        describe: 'key=value for all configs, e.g. iterations=50 model.temperature=1',
      })
      .option('tuned', {
        ...kinds.text,
        demandOption: true,
        describe: 'Directory of an adapter, a model, or a training; or ollama:NAME, openai:NAME, a control',
      })
      .option('base', {
        ...kinds.text,
        describe: 'The model to compare it with (default: the one that it was trained from)',
      })
      .option('configs', {
        ...kinds.text,
        array: true,
        demandOption: true,
        describe: 'Experiments that all models play: files, or names of ready ones',
      })
      .option('control', {
        ...kinds.text,
        array: true,
        default: [],
        describe: 'Baseline searches with the same budget, e.g. random hill-climb:sigma=2 cma-es',
      })
      .option('repeats', {
        ...kinds.number,
        default: 10,
        describe: 'Seeds that everything is played with; fewer than 6 give no verdict',
      })
      .option('trained-on', {
        ...kinds.text,
        describe: 'Environments it was trained in, ID,… or none (default: from its lineage)',
      })
      .option('open', common.open),
  ).example(
    '$0 finetune evaluate --tuned tuned --configs cartpole-numeric acrobot-numeric --control random iterations=50',
    'plays both with the tuned model, its base, and random search; the same command resumes',
  );

type Args = Arguments<typeof options>;

/** One line per run, then the results; while Slurm plays the runs, their progress. */
export type Output = StudyRunLine | EvaluationSummary | PlanProgress;

export const finishing = 'finishing the iteration; the same command resumes (Ctrl-C again stops at once)';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { partOf } = await import('../../src/studies/part.js');
  const { requireJobs } = await import('../../src/studies/plan.js');
  const part = partOf(args.part);
  requireJobs({ ...args, part });
  requireCount('--repeats', args.repeats, 1);
  requireCount('--seed', args.seed, 0);
  const { playEvaluation } = await import('../evaluate/play.js');
  return playEvaluation({ ...args, part }, context);
}
