/** `policyloop finetune rl <config>`: reinforcement learning. */
import type { Argv } from 'yargs';
import { type Arguments, configArguments, trainingOptions } from '../../src/base/command.js';
import type { CommandContext } from '../../src/base/context.js';

export const options = (y: Argv) =>
  trainingOptions(
    configArguments(
      y,
      'Config file, or the name of a bundled one',
      'key=value, e.g. updates=20 reward.shuffle=true output=tuned/2',
    ),
  )
    .example(
      '$0 finetune rl rl/bandit output=tuned/bandit',
      'learns which of eight arms pays, within a minute',
    )
    .example('$0 finetune rl rl/proposer-mountaincar', 'the embedded model learns to propose policies')
    .example('$0 finetune rl mine.yaml', 'trains, or resumes from the checkpoint in its output');

export const finishingText =
  'finishing this update, then writing a checkpoint from which the same command resumes (Ctrl-C again stops at once)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { loadRlKind } = await import('../rl/kinds/kinds.js');
  const { train } = await loadRlKind(args.config, context.cwd);
  return train(args, context);
}
