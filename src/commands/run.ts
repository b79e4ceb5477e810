import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';

export const options = (y: Argv) =>
  y
    .positional('config', commonOptions.config)
    .positional('overrides', commonOptions.overrides)
    .option('run-dir', commonOptions.runDir)
    .option('runs-dir', commonOptions.runsDir)
    .option('dry-run', {
      ...kinds.flag,
      describe:
        'Check the config, and print it with all defaults and the first prompt, without calling a model',
    })
    .option('history', {
      ...kinds.number,
      describe: 'With --dry-run: evaluate this many random policies, then show the next prompt',
    })
    .option('workers', commonOptions.workers)
    .option('quiet', commonOptions.quiet)
    .option('json', commonOptions.jsonLines)
    .example('$0 run quickstart', 'solve CartPole-v1 offline with the embedded model')
    .example('$0 run cartpole-semantic --dry-run --history 20', 'the prompt after 20 evaluations')
    .example('$0 run configs/cartpole-semantic.yaml model.name=qwen3:8b iterations=50', 'with overrides');

export const finishingText =
  'finishing pending work (press Ctrl-C again to stop immediately; nothing recorded is lost)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  if (!args.dryRun && args.history !== undefined) {
    throw new UserError({
      field: '--history',
      message: 'only works with --dry-run; a run creates its own history',
      hint: "add --dry-run; to start from another run's replay buffer, set warmup.from=RUN",
    });
  }
  const { runFromConfig } = await import('../studies/run.js');
  return runFromConfig(args, context);
}
