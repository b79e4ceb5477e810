/** Evaluates a run's policy, or a program file, on seeds that the run's evaluations don't use. */
import type { CommandContext } from '../../base/context.js';
import { modulesPlayed } from '../../config/config.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import { warningText } from '../../format/progress.js';
import { changedSince } from '../../modules/sources.js';
import type { ParameterVector } from '../../policies/policy.js';
import { confirmationSeeds } from '../../random/seeds.js';
import { type Evaluation, evaluate } from '../../rollout/evaluation.js';
import { openTask } from '../../rollout/task.js';
import { choosePolicy } from '../../runs/open-run.js';
import { clipped } from '../../statistics/bootstrap.js';
import {
  interquartileMean,
  largest,
  mean,
  smallest,
  standardDeviation,
} from '../../statistics/descriptive.js';
import { meanInterval95 } from '../../statistics/distributions.js';
import { closeEnvironment, workersFor } from '../assemble.js';
import { faultsInFile, openPlayedPolicy, type PlayedPolicy } from '../programs/program-file.js';

interface EvaluationRequest {
  /** A run, or a program file. */
  readonly run: string;
  readonly runsDir: string;
  /** Environment to play; required for a program file, invalid for a run. */
  readonly environment?: string | undefined;
  readonly episodes: number;
  /** Root seed of the episodes (default: the run's); never yields a seed of the run's evaluations. */
  readonly seed?: number | undefined;
  /** Defaults to the iteration of the run's best policy. */
  readonly iteration?: number | undefined;
  readonly workers?: number | undefined;
}

/** Output of `evaluate --json`. */
export interface EvaluationFigures {
  readonly run: string;
  /** Iteration of the evaluated policy; null for a program file. */
  readonly iteration: number | null;
  readonly episodes: number;
  readonly mean: number;
  /** 95% confidence interval of the mean. */
  readonly ci95: readonly [number, number];
  readonly standardDeviation: number;
  /** Interquartile mean. */
  readonly iqm: number;
  readonly min: number;
  readonly max: number;
  /** Mean episode length, in steps. */
  readonly meanLength: number;
  readonly parameters: ParameterVector;
  /** Source of a program; `parameters` then holds the hash of its structure and its constants. */
  readonly program?: string;
  readonly returns: readonly number[];
}

/** Evaluates a policy; warns if a module that affects its return has changed since the run. */
export async function evaluateRun(
  request: EvaluationRequest,
  context: CommandContext,
): Promise<{ readonly environment: string; readonly figures: EvaluationFigures }> {
  const { entry, file, run } = await openPlayedPolicy(request, context, (opened) =>
    choosePolicy(opened, request.iteration ?? 'best'),
  );
  const { parameters, program } = entry;
  const { manifest } = run;
  const seeds = confirmationSeeds(request.seed ?? manifest.seed, 'inspection', request.episodes);
  const { returns, lengths } = await faultsInFile(file ?? '', () =>
    play(run, parameters, seeds, request.workers, context),
  );
  for (const module of changedSince(manifest.modules, modulesPlayed(run.config))) {
    context.note(warningText(`${module} has changed since the run, so the policy may score differently`));
  }
  const centre = mean(returns);
  const range = returnRange(run.config.environment, run.config.evaluation);
  const figures = {
    run: request.run,
    iteration: file === undefined ? entry.iteration : null,
    episodes: returns.length,
    mean: centre,
    ci95: clipped(meanInterval95(returns), range, centre),
    standardDeviation: standardDeviation(returns),
    iqm: interquartileMean(returns),
    min: smallest(returns),
    max: largest(returns),
    meanLength: mean(lengths),
    parameters,
    ...(program !== undefined && { program }),
    returns,
  };
  return { environment: manifest.environment, figures };
}

async function play(
  { config, family }: PlayedPolicy['run'],
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
