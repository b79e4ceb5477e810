import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { checkPageOptions, openPage } from '../base/open-page.js';

export const options = (y: Argv) =>
  y
    .positional('runs', commonOptions.runs)
    .option('runs-dir', commonOptions.runsDir)
    .option('by', {
      ...kinds.text,
      describe: 'Config keys that define the groups, e.g. model (default: all relevant keys except the seed)',
    })
    .option('against', {
      ...kinds.text,
      describe: 'Name of a group to compare the others with (default: compare all pairs)',
    })
    .option('target', {
      ...kinds.number,
      describe: "Target return for comparing learning speed (default: the configs' target)",
    })
    .option('unfinished', { ...kinds.flag, describe: 'Include unfinished runs' })
    .option('format', {
      ...kinds.text,
      choices: ['markdown', 'latex', 'csv'] as const,
      describe: 'Print only the figures, as tables for a paper or a spreadsheet',
    })
    .option('html', {
      ...kinds.text,
      describe: 'Write a page with learning curves and intervals to this file',
    })
    .option('open', commonOptions.open)
    .option('json', commonOptions.json)
    .example('$0 compare buffers/cartpole-llm buffers/cartpole-cma-es', 'two directories of runs')
    .example(
      "$0 compare 'cartpole-*' --by model,prompts.set --html cartpole.html",
      'group by two keys and write a page',
    )
    .example('$0 compare cooking-llm cooking-random', 'two players, compared game by game')
    .example(
      '$0 compare buffers/sweep-1a2b3c4d5e --by model --target 475',
      'the runs of a sweep by model, with a target',
    );

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  if (args.target !== undefined && !Number.isFinite(args.target)) {
    throw new UserError({ field: '--target', message: 'must be a number', value: args.target });
  }
  checkPageOptions(args, context.cwd);
  const by = args.by === undefined ? undefined : keysOf(args.by);
  const { comparePlays } = await import('../agents/compare-plays.js');
  const playComparison = comparePlays(args, context);
  if (playComparison !== undefined) {
    context.print(playComparison);
    return 0;
  }
  const { compareRuns } = await import('../studies/comparison/compare.js');
  context.print(compareRuns({ ...args, by }, context));
  if (args.open) await openPage(resolve(context.cwd, args.html!), context);
  return 0;
}

function keysOf(list: string): readonly string[] {
  const keys = [...new Set(list.split(',').map((key) => key.trim()))].filter((key) => key !== '');
  if (keys.length > 0) return keys;
  throw new UserError({
    field: '--by',
    message: 'must contain at least one key',
    hint: 'write, for example, --by model,prompts.set',
  });
}
