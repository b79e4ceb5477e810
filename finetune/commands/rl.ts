/** `policyloop finetune rl <config>`: reinforcement learning. */
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../src/base/command.js';
import type { CommandContext } from '../../src/base/context.js';
import type { RlMetric } from '../rl/events.js';
import type { Forecast } from '../rl/forecast.js';
import type { NumericForecast, NumericSummary } from '../rl/numeric/numeric.js';
import type { NumericMetric } from '../rl/numeric/train-numeric.js';
import type { RlSummary } from '../rl/rl.js';
import type { HandedTraining } from '../train/on-slurm.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config file, or the name of a ready one',
    })
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [],
      describe: 'key=value, e.g. updates=20 reward.shuffle=true output=tuned-2',
    })
    .option('dry-run', {
      ...kinds.flag,
      describe: 'Only forecast memory, tokens and time, by one small update',
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
      describe:
        'Events as JSON lines; the last line is the result, with `meanReward`, or `meanReturn` of a policy of numbers',
    })
    .example('$0 finetune rl rl/bandit output=tuned/bandit', 'a minute: which of eight arms pays?')
    .example('$0 finetune rl rl/proposer-mountaincar', 'the embedded model learns to propose policies')
    .example('$0 finetune rl mine.yaml', 'learns, or goes on from the checkpoint that is there');

type Args = Arguments<typeof options>;

/** Metrics as they are measured, then the result; with `--dry-run`, the forecast. */
export type Output =
  | RlMetric
  | RlSummary
  | NumericMetric
  | NumericSummary
  | Forecast
  | NumericForecast
  | HandedTraining;

export const finishing = 'writing a checkpoint; the same command goes on from it';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  if (args.slurm !== true) return learn(args, context);
  const { trainOnSlurm, withoutSlurm } = await import('../train/on-slurm.js');
  const { isNumericConfig, loadNumericConfig } = await import('../rl/numeric/numeric-config.js');
  const { loadLearningConfig } = await import('../rl/rl-config.js');
  const overrides = withoutSlurm(args.overrides);
  const isNumeric = isNumericConfig(args.config, overrides, context.cwd);
  const { output } = (isNumeric ? loadNumericConfig : loadLearningConfig)(
    args.config,
    overrides,
    context.cwd,
  );
  const isLeft = await trainOnSlurm(output, args, context);
  return isLeft ? 0 : learn({ ...args, overrides }, context);
}

async function learn(args: Args, context: CommandContext): Promise<number> {
  const { isNumericConfig } = await import('../rl/numeric/numeric-config.js');
  if (isNumericConfig(args.config, args.overrides, context.cwd)) {
    const { numeric } = await import('../rl/numeric/numeric.js');
    return numeric(args, context);
  }
  const { rl } = await import('../rl/rl.js');
  return rl(args, context);
}
