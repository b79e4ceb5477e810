import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import { checkPageOptions, openPage } from '../base/open-page.js';

export const options = (y: Argv) =>
  y
    .positional('sources', {
      type: 'string',
      array: true,
      demandOption: true,
      describe:
        "Runs, directories of runs, or another system's evaluations: a .csv or .jsonl file with the columns `parameters` and `returns` (or `return`, the mean)",
    })
    .option('environment', { ...kinds.text, describe: 'Environment for the files, as in a config' })
    .option('policy', {
      ...kinds.text,
      describe:
        "Kind of the policies in a file, as in a config: linear (a weight per action for each observation component, then the biases), '{kind: linear, bias: false}', …",
    })
    .option('runs-dir', commonOptions.runsDir)
    .option('episodes', {
      ...kinds.number,
      default: 20,
      describe: 'Fresh episodes per policy to choose the best; figures and verdicts use ten times as many',
    })
    .option('seed', { ...kinds.number, default: 0, describe: 'Seed of the fresh episodes and the searches' })
    .option('searches', {
      ...kinds.number,
      default: 3,
      describe:
        'Repeats of random search and of a Gaussian process, each with at most as many evaluations as the audited run or file (not for programs); 0: none',
    })
    .option('html', { ...kinds.text, describe: 'Write a page with curves to this file' })
    .option('open', commonOptions.open)
    .option('quiet', commonOptions.quiet)
    .option('json', { ...kinds.flag, describe: 'Print a JSON line per run or file' })
    .example('$0 audit cartpole', 'are the best results of a run luck?')
    .example(
      '$0 audit theirs.csv --environment MountainCar-v0 --policy linear --html audit.html',
      "another system's evaluations",
    );

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  requireCount('--episodes', args.episodes, 2);
  requireCount('--seed', args.seed, 0);
  requireCount('--searches', args.searches, 0);
  checkPageOptions(args, context.cwd);
  const { runAudit } = await import('../studies/audit/run-audit.js');
  context.print(await runAudit(args, context));
  if (args.open) await openPage(resolve(context.cwd, args.html!), context);
  return 0;
}
