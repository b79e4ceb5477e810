import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import { modulesPlayed } from '../config/config.js';
import { returnRange } from '../environments/catalogue/known-bounds.js';
import { closeEnvironment, workersFor } from '../experiment/assemble.js';
import { apart, formatInterval, formatReturn } from '../format/numbers.js';
import { warningText } from '../format/progress.js';
import { changedSince } from '../modules/sources.js';
import type { ParameterVector } from '../policies/policy.js';
import { confirmationSeeds } from '../random/seeds.js';
import { type Evaluation, evaluate } from '../rollout/evaluation.js';
import { openTask } from '../rollout/task.js';
import { findRun } from '../runs/listing/names.js';
import { choosePolicy, type OpenedRun, readWholeRun } from '../runs/open-run.js';
import { clipped } from '../statistics/bootstrap.js';
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
      describe: 'Seed of the episodes (default: episodes that the run has not used)',
    })
    .option('iteration', { ...kinds.number, describe: 'Evaluate the best candidate of this iteration' })
    .option('workers', common.workers)
    .option('json', common.json)
    .example('$0 evaluate cartpole', 'mean return of the best policy, with its interval')
    .example('$0 evaluate cartpole --iteration 7 --episodes 1000', 'the best of iteration 7, more precisely');

type Args = Arguments<typeof options>;

/** Returns of the policy on fresh seeds, with the interval of their mean. */
export type Output = EvaluationFigures;

/** Evaluates the best policy on seeds that the run has not used. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  requireCount('--episodes', args.episodes, 1);
  requireCount('--workers', args.workers, 1);
  requireCount('--seed', args.seed, 0);

  const { environment, figures } = await evaluateRun(args, context);
  if (args.json) {
    context.print(JSON.stringify(figures));
    return 0;
  }
  const { ci95, episodes, iqm, iteration, max, mean, meanLength, min, standardDeviation } = figures;
  const asText = apart([mean, min, max, iqm]);
  context.print(
    [
      `${environment}, policy of ${iteration === 0 ? 'the warm-up' : `iteration ${iteration}`}, ${episodes} episodes`,
      `mean return  ${asText(mean)}  95 % interval ${formatInterval(ci95)}`,
      `spread       ${asText(min)} … ${asText(max)}, standard deviation ${formatReturn(standardDeviation)}, interquartile mean ${asText(iqm)}`,
      `length       ${formatReturn(meanLength)} steps`,
    ].join('\n'),
  );
  return 0;
}

interface EvaluationRequest {
  readonly run: string;
  readonly runsDir: string;
  readonly episodes: number;
  /** Root seed of the episodes. Defaults to episodes of the run's seed that the run itself never used. */
  readonly seed?: number | undefined;
  /** Defaults to the best policy of the run. */
  readonly iteration?: number | undefined;
  readonly workers?: number | undefined;
}

/** Output of `evaluate --json`. */
export interface EvaluationFigures {
  readonly run: string;
  /** Iteration that the policy comes from. */
  readonly iteration: number;
  readonly episodes: number;
  readonly mean: number;
  /** 95% confidence interval of the mean. */
  readonly ci95: readonly [number, number];
  readonly standardDeviation: number;
  /** Interquartile mean. */
  readonly iqm: number;
  readonly min: number;
  readonly max: number;
  /** In steps. */
  readonly meanLength: number;
  readonly parameters: ParameterVector;
  readonly returns: readonly number[];
}

/** Evaluates one of a run's policies and warns if its modules have changed since. */
export async function evaluateRun(
  request: EvaluationRequest,
  context: CommandContext,
): Promise<{ readonly environment: string; readonly figures: EvaluationFigures }> {
  const run = await readWholeRun(findRun(request.run, { cwd: context.cwd, runsDir: request.runsDir }));
  const { iteration, parameters } = choosePolicy(run, request.iteration ?? 'best');
  const { manifest } = run;
  const seeds = confirmationSeeds(request.seed ?? manifest.seed, 'inspection', request.episodes);
  const { returns, lengths } = await play(run, parameters, seeds, request.workers, context);
  for (const file of changedSince(manifest.modules, modulesPlayed(run.config))) {
    context.note(warningText(`${file} has changed since the run, so its policies may score differently`));
  }
  const centre = mean(returns);
  const range = returnRange(run.config.environment, run.config.evaluation);
  const figures = {
    run: request.run,
    iteration,
    episodes: returns.length,
    mean: centre,
    ci95: clipped(meanInterval95(returns), range, centre),
    standardDeviation: standardDeviation(returns),
    iqm: interquartileMean(returns),
    min: smallest(returns),
    max: largest(returns),
    meanLength: mean(lengths),
    parameters,
    returns,
  };
  return { environment: manifest.environment, figures };
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
