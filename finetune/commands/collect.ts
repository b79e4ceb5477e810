/** `policyloop finetune collect <config>`: runs many tasks with many proposers to collect training data. */
import type { Argv } from 'yargs';
import { type Arguments, common, configArguments, kinds } from '../../src/base/command.js';
import type { CommandContext } from '../../src/base/context.js';

export const options = (y: Argv) =>
  configArguments(
    y,
    'Collection config file, or the name of a bundled one',
    'key=value, e.g. runs=100 experiment.iterations=5',
  )
    .option('jobs', { ...kinds.number, describe: 'Number of parallel runs (default: one per core)' })
    .option('slurm', common.slurm)
    .option('part', common.part)
    .option('quiet', common.quiet)
    .option('json', { ...kinds.flag, describe: 'Print one JSON line per run, then the result' })
    .example('$0 finetune collect collection.yaml', 'completes the collection; a higher runs= adds runs');

type Args = Arguments<typeof options>;

export const finishing =
  'finishing the running iterations; the same command resumes (Ctrl-C again stops at once)';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { collect } = await import('../../src/studies/collection/collect.js');
  const { partOf } = await import('../../src/studies/part.js');
  return collect({ ...args, part: partOf(args.part) }, context);
}
