/** `policyloop controls`: random search, hill climbing and CMA-ES on many tasks, with repeats. */
import type { Argv } from 'yargs';
import { type Arguments, kinds, studyOptions } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import type { BaselinesSummary } from '../studies/baselines.js';
import type { StudyRunLine } from '../studies/display.js';
import type { PlanProgress } from '../studies/play.js';

export const options = (y: Argv) =>
  studyOptions(
    y
      .positional('configs', {
        type: 'string',
        array: true,
        demandOption: true,
        describe: 'Config files or names of bundled configs; key=value overrides apply to all of them',
      })
      .option('controls', {
        ...kinds.text,
        describe:
          'Comma-separated baselines; also one-plus-one-es, mix, gp and grid (default: random,hill-climb,cma-es; for programs: random,genetic)',
      })
      .option('iterations', {
        ...kinds.number,
        default: 400,
        describe: 'Iterations per run, after the warm-up',
      })
      .option('candidates', { ...kinds.number, default: 1, describe: 'Proposals per iteration' })
      .option('episodes', { ...kinds.number, default: 20, describe: 'Episodes per evaluation' })
      .option('repeats', {
        ...kinds.number,
        default: 5,
        describe: 'Seeds per task and baseline',
      })
      .option('markdown', {
        ...kinds.text,
        describe: 'Write the table to this file, as Markdown',
      })
      .option('csv', { ...kinds.text, describe: 'Write the table to this file, as CSV' }),
  ).example(
    '$0 controls cartpole-numeric pong-numeric nim-numeric --repeats 10',
    'random search, hill climbing and CMA-ES; run it again to continue, or with more tasks to add them',
  );

type Args = Arguments<typeof options>;

/** One line per run, then the table, or the progress if runs remain. */
export type Output = StudyRunLine | BaselinesSummary | PlanProgress;

export const finishing =
  'finishing the iteration (run the same command to continue; press Ctrl-C again to stop immediately)';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { partOf } = await import('../studies/part.js');
  const { requireJobs } = await import('../studies/plan.js');
  const part = partOf(args.part);
  requireJobs({ ...args, part });
  requireCount('--iterations', args.iterations, 1);
  requireCount('--candidates', args.candidates, 1);
  requireCount('--episodes', args.episodes, 1);
  requireCount('--repeats', args.repeats, 1);
  requireCount('--seed', args.seed, 0);
  const { playBaselines } = await import('../studies/baselines.js');
  return playBaselines({ ...args, part }, context);
}
