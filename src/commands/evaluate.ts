import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { modulesPlayed } from '../config/config.js';
import { type CommandContext, requireCount } from '../context.js';
import { closeEnvironment, workersFor } from '../experiment/assemble.js';
import { choosePolicy } from '../experiment/choose-policy.js';
import { formatInterval, formatReturn } from '../format/numbers.js';
import { warningText } from '../format/progress.js';
import { changedSince } from '../modules/sources.js';
import type { ParameterVector } from '../policies/policy.js';
import { confirmationSeeds } from '../random/seeds.js';
import { type Evaluation, evaluate } from '../rollout/evaluation.js';
import { openTask } from '../rollout/task.js';
import { type OpenedRun, openRun } from '../runs/open-run.js';
import {
  interquartileMean,
  largest,
  mean,
  meanInterval95,
  smallest,
  standardDeviation,
} from '../statistics/descriptive.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.run)
    .option('runs-dir', common.runsDir)
    .option('episodes', { ...kinds.number, default: 100, describe: 'Number of episodes' })
    .option('seed', {
      ...kinds.number,
      describe: 'Seed of the episodes (default: untouched ones of the run)',
    })
    .option('iteration', { ...kinds.number, describe: 'The best candidate of this iteration instead' })
    .option('workers', common.workers)
    .option('json', common.json)
    .example('$0 evaluate cartpole', 'mean return of the best policy, with its interval')
    .example('$0 evaluate cartpole --iteration 7 --episodes 1000', 'the best of iteration 7, more exactly');

type Args = Arguments<typeof options>;

/** `policyloop evaluate <run>`: the best policy on seeds that the run has not used. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireCount('--episodes', args.episodes, 1);
  if (args.workers !== undefined) requireCount('--workers', args.workers, 1);
  if (args.seed !== undefined) requireCount('--seed', args.seed, 0);
  const run = await openRun(args, context);
  const { iteration, parameters } = choosePolicy(run, args.iteration ?? 'best');
  const { manifest } = run;
  const seeds = confirmationSeeds(args.seed ?? manifest.seed, 'inspection', args.episodes);
  const { returns, lengths } = await play(run, parameters, seeds, args.workers, context);
  for (const file of changedSince(manifest.modules, modulesPlayed(run.config))) {
    context.note(
      warningText(`${file} was changed since the run: this is not what its policies were evaluated on`),
    );
  }
  const result = {
    run: args.run,
    iteration,
    episodes: returns.length,
    mean: mean(returns),
    ci95: meanInterval95(returns),
    standardDeviation: standardDeviation(returns),
    iqm: interquartileMean(returns),
    min: smallest(returns),
    max: largest(returns),
    meanLength: mean(lengths),
    parameters,
  };
  if (args.json) {
    context.print(JSON.stringify({ ...result, returns }));
    return 0;
  }
  context.print(
    [
      `${manifest.environment}, the policy of ${iteration === 0 ? 'the warm-up' : `iteration ${iteration}`}, ${result.episodes} episodes`,
      `mean return  ${formatReturn(result.mean)}  95 % interval ${formatInterval(result.ci95)}`,
      `spread       ${formatReturn(result.min)} … ${formatReturn(result.max)}, standard deviation ${formatReturn(result.standardDeviation)}, interquartile mean ${formatReturn(result.iqm)}`,
      `length       ${formatReturn(result.meanLength)} steps`,
    ].join('\n'),
  );
  return 0;
}

async function play(
  { config, family }: OpenedRun,
  parameters: ParameterVector,
  seeds: readonly number[],
  chosen: number | undefined,
  { env, stop }: Pick<CommandContext, 'env' | 'stop'>,
): Promise<Evaluation> {
  const { evaluation } = config;
  const count = chosen ?? evaluation.workers;
  const environment = await openTask(
    config.environment,
    evaluation.reward,
    env,
    count === 'auto' ? 1 : count,
  );
  const workers = workersFor({ ...config, evaluation: { ...evaluation, workers: count } });
  const setting = { environment, family, workers, maxSteps: evaluation.maxSteps, record: 'none' } as const;
  try {
    return await evaluate(setting, parameters, seeds, stop.finish);
  } finally {
    await closeEnvironment({ environment, workers });
  }
}
