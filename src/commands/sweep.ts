/** `policyloop sweep`: many runs of one config, each with different values of some keys. */
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds, manyRunOptions } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      ...commonOptions.config,
      describe: `${commonOptions.config.describe}; its \`sweep\` section can define what to vary`,
    })
    .positional('overrides', {
      ...commonOptions.overrides,
      describe:
        'Changes to the config: key=value, or several values: key=a,b,c, seed=1..10 or key=choice(a,b); to draw settings at random, add sweep.method=random sweep.samples=20',
    })
    .options(manyRunOptions)
    .option('baselines', {
      ...kinds.flag,
      describe: 'Also run baselines with the same budget, and say which differences are significant',
    })
    .option('dry-run', {
      type: 'boolean',
      describe: 'List the settings and seeds, and estimate calls, tokens and cost, without running anything',
    })
    .option('open', commonOptions.open)
    .example(
      "$0 sweep cartpole-semantic model.temperature=0.2,0.7,1 seed=1..10 'candidates=choice(1,4)'",
      'a grid of 6 settings with 10 seeds; run it again to continue',
    )
    .example(
      '$0 sweep cartpole-semantic --baselines environment=CartPole-v1,Acrobot-v1 seed=1..10',
      'is the model better than random search, hill climbing, CMA-ES and a Gaussian process?',
    )
    .example(
      "$0 sweep cartpole-numeric 'model.sigma=loguniform(0.1,3)' seed=1..8 sweep.method=random sweep.samples=16",
      '16 random settings',
    );

export const finishingText =
  'finishing pending work (run the same command to continue; press Ctrl-C again to stop immediately)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { parsePart } = await import('../studies/part.js');
  const part = parsePart(args.part);
  requireCount('--jobs', args.jobs, 1);
  const { runSweep } = await import('../studies/sweep/sweep.js');
  return runSweep({ ...args, part }, context);
}
