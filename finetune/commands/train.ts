/** `policyloop finetune train <config>`: supervised training. */
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../src/base/command.js';
import type { CommandContext } from '../../src/base/context.js';
import type { HandedTraining } from '../train/on-slurm.js';
import type { TrainingSummary } from '../train/train.js';
import type { Metric } from '../train/trainer.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config file of the training, or the name of a ready one',
    })
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [],
      describe: 'key=value, e.g. epochs=1 method.rank=16 output=tuned-2',
    })
    .option('finish', {
      ...kinds.flag,
      describe: 'Make no more steps: write the result of the checkpoint',
    })
    .option('slurm', {
      type: 'boolean',
      describe:
        'Hand it to Slurm (slurm.time=… and the like as key=value); while it trains there, tell how far it is',
    })
    .option('open', { ...common.open, describe: 'Open its page, which grows, in the browser' })
    .option('quiet', common.quiet)
    .option('json', {
      ...kinds.flag,
      describe: 'Events as JSON lines; the last line is the result',
    })
    .example(
      '$0 finetune train tune.yaml',
      'trains, or goes on from the checkpoint of an interrupted training',
    )
    .example(
      '$0 finetune train tune.yaml output=quick epochs=1',
      'with overrides: paths are relative to the file',
    );

type Args = Arguments<typeof options>;

/** Metrics as they are measured, then the result. */
export type Output = Metric | TrainingSummary | HandedTraining;

export const finishing = 'writing a checkpoint; the same command goes on from it';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { train } = await import('../train/train.js');
  if (args.slurm !== true) return train(args, context);
  const { trainOnSlurm, withoutSlurm } = await import('../train/on-slurm.js');
  const { loadTrainConfig } = await import('../train/train-config.js');
  const overrides = withoutSlurm(args.overrides);
  const { output } = loadTrainConfig(args.config, overrides, context.cwd);
  const isLeft = await trainOnSlurm(output, args, context);
  return isLeft ? 0 : train({ ...args, overrides }, context);
}
