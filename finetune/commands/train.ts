/** `policyloop finetune train <config>`: supervised training. */
import type { Argv } from 'yargs';
import { type Arguments, configArguments, trainingOptions } from '../../src/base/command.js';
import type { CommandContext } from '../../src/base/context.js';

export const options = (y: Argv) =>
  trainingOptions(
    configArguments(
      y,
      'Training config file, or the name of a bundled one',
      'key=value, e.g. epochs=1 method.rank=16 output=tuned/2',
    ),
  )
    .example('$0 finetune train tune.yaml', 'trains, or resumes an interrupted run')
    .example(
      '$0 finetune train tune.yaml output=quick epochs=1',
      'with overrides, whose paths are relative to the working directory',
    );

export const finishingText =
  'finishing this step or validation (the final validation stops now), then writing a checkpoint from which the same command resumes (Ctrl-C again drops the step)';

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { train } = await import('../train/train.js');
  return train(args, context);
}
