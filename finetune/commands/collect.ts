/** `policyloop finetune collect <config>`: collects training data from many runs over tasks and proposers. */
import type { Argv } from 'yargs';
import { type Arguments, common, configArguments, kinds } from '../../src/base/command.js';
import type { CommandContext } from '../../src/base/context.js';
import type { CollectionSummary } from '../../src/studies/collection/collect.js';
import type { BulkRunLine } from '../../src/studies/display.js';
import type { PlanProgress } from '../../src/studies/play.js';

export const options = (y: Argv) =>
  configArguments(
    y,
    'Config file of the collection, or the name of a bundled one',
    'key=value, e.g. runs=100 experiment.iterations=5',
  )
    .option('jobs', { ...kinds.number, describe: 'Runs to play at once (default: one per core)' })
    .option('slurm', common.slurm)
    .option('part', common.part)
    .option('quiet', common.quiet)
    .option('json', { ...kinds.flag, describe: 'A JSON line for each run; the last line is the result' })
    .example('$0 finetune collect collection.yaml', 'plays the missing runs; with a higher runs=, more runs');

type Args = Arguments<typeof options>;

/** One line per run, then the summary; while Slurm plays the runs, their progress. */
export type Output = BulkRunLine | CollectionSummary | PlanProgress;

export const finishing =
  'finishing the running iterations; the same command resumes (Ctrl-C again stops at once)';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { collect } = await import('../../src/studies/collection/collect.js');
  const { partOf } = await import('../../src/studies/part.js');
  return collect({ ...args, part: partOf(args.part) }, context);
}
