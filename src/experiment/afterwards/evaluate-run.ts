/** Evaluates a run's policy, or a program file, on seeds that the run's evaluations don't use. */
import { basename } from 'node:path';
import type { CommandContext } from '../../base/context.js';
import { replaceFile } from '../../base/files/files.js';
import { changesSince } from '../../base/modules/sources.js';
import { confirmationSeeds } from '../../base/random/seeds.js';
import { warningText } from '../../base/text/progress.js';
import { evaluationModules } from '../../config/config.js';
import { returnRange } from '../../environments/catalogue/known-bounds.js';
import type { ParameterVector } from '../../policies/policy.js';
import { type Evaluation, evaluate } from '../../rollout/evaluation.js';
import { svgAnimation } from '../../rollout/pictures/svg-animation.js';
import { openTask } from '../../rollout/task.js';
import type { Confirmation } from '../../runs/events.js';
import { meanInterval95 } from '../../statistics/bootstrap.js';
import {
  interquartileMean,
  largest,
  mean,
  smallest,
  standardDeviation,
} from '../../statistics/descriptive.js';
import { drawEpisode, openDrawable } from '../animations.js';
import {
  openPlayedPolicy,
  type PlayedPolicy,
  type PolicyRequest,
  rethrowFaults,
} from '../programs/program-file.js';
import { closeEnvironment, workersFor } from '../setup/assemble.js';

interface EvaluationRequest extends PolicyRequest {
  readonly episodes: number;
  /** Root seed of the episodes (default: the run's); never yields a seed of the run's evaluations. */
  readonly seed?: number | undefined;
  readonly workers?: number | undefined;
  /** SVG file for an animation of the first episode. */
  readonly picture?: string | undefined;
}

/** Output of `evaluate --json`. */
export interface EvaluationFigures
  extends Pick<Confirmation, 'parameters' | 'program' | 'episodes' | 'mean' | 'ci95'> {
  readonly run: string;
  /** Iteration of the evaluated policy; null for a program file. */
  readonly iteration: number | null;
  readonly standardDeviation: number;
  /** Interquartile mean. */
  readonly iqm: number;
  readonly min: number;
  readonly max: number;
  /** Mean episode length, in steps. */
  readonly meanLength: number;
  readonly returns: readonly number[];
}

/** Evaluates a policy; warns if a module that affects its return has changed since the run. */
export async function evaluateRun(
  request: EvaluationRequest,
  context: CommandContext,
): Promise<{ readonly environment: string; readonly figures: EvaluationFigures }> {
  const policy = await openPlayedPolicy(request, context);
  const { entry, file, run } = policy;
  const { parameters, program } = entry;
  const { manifest } = run;
  const seeds = confirmationSeeds(request.seed ?? manifest.seed, 'inspection', request.episodes);
  const { returns, lengths } = await rethrowFaults(file ?? '', () =>
    play(run, parameters, seeds, request.workers, context),
  );
  const { picture } = request;
  if (picture !== undefined) await rethrowFaults(file ?? '', () => drawPicture(policy, seeds[0]!, picture));
  for (const module of changesSince(manifest.modules, evaluationModules(run.config))) {
    context.note(warningText(`${module} has changed since the run, so the policy may score differently`));
  }
  const range = returnRange(run.config.environment, run.config.evaluation);
  const figures = {
    run: request.run,
    iteration: file === undefined ? entry.iteration : null,
    episodes: returns.length,
    mean: mean(returns),
    ci95: meanInterval95(returns, range, 'student'),
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

const pictureWidth = 480; // pixels

async function drawPicture(
  { entry, file, run: { config, family, manifest } }: PlayedPolicy,
  seed: number,
  picture: string,
): Promise<void> {
  const environment = await openDrawable(config, '--picture');
  await family.prepare?.();
  try {
    const policyName = file && basename(file);
    const setup = { config, family, environment, seed: manifest.seed, policyName };
    const { animation } = drawEpisode(setup, entry, { kind: 'seed', seed });
    replaceFile(picture, svgAnimation(animation, pictureWidth));
  } finally {
    environment.close?.();
  }
}

async function play(
  { config, family }: PlayedPolicy['run'],
  parameters: ParameterVector,
  seeds: readonly number[],
  requestedCount: number | undefined,
  { env, stop }: Pick<CommandContext, 'env' | 'stop'>,
): Promise<Evaluation> {
  const { environment: task, evaluation } = config;
  const count = requestedCount ?? evaluation.workers;
  const environment = await openTask(task, evaluation.reward, env, count === 'auto' ? 1 : count);
  const workers = workersFor({ ...config, evaluation: { ...evaluation, workers: count } });
  const setup = { environment, family, workers, maxSteps: evaluation.maxSteps, record: 'none' } as const;
  try {
    return await evaluate(setup, parameters, seeds, stop.finish);
  } finally {
    await closeEnvironment({ environment, workers });
  }
}
