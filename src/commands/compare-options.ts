/** Options of `compare`, apart from it so that `--help` loads none of it. */
import type { Argv } from 'yargs';

export const compareOptions = (y: Argv) =>
  y
    .positional('runs', {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'Runs, directories that hold runs (repeats, controls, evaluations), or quoted patterns',
    })
    .option('runs-dir', {
      type: 'string',
      default: 'buffers',
      requiresArg: true,
      describe: 'Directory that holds the runs',
    })
    .option('by', {
      type: 'string',
      requiresArg: true,
      describe: 'Keys of the config that make the groups, e.g. model,prompts.set (default: all but the seed)',
    })
    .option('target', {
      type: 'number',
      requiresArg: true,
      describe: "Return to time runs by (default: the configs' target)",
    })
    .option('unfinished', {
      type: 'boolean',
      default: false,
      describe: 'Count runs that have not come to their end, too',
    })
    .option('csv', { type: 'string', requiresArg: true, describe: 'Write the groups to this file, as CSV' })
    .option('html', {
      type: 'string',
      requiresArg: true,
      describe: 'Write a page with learning curves and intervals to this file',
    })
    .option('json', { type: 'boolean', default: false, describe: 'Print JSON for machines' })
    .example('$0 compare buffers/cartpole-llm buffers/cartpole-cma-es', 'two directories of repeats')
    .example(
      "$0 compare 'cartpole-*' --by model,prompts.set --html cartpole.html",
      'groups by two keys, and a page',
    )
    .example('$0 compare buffers/controls-1a2b3c4d5e --target 475', 'what policyloop controls left behind');
