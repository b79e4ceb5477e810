/** Forecasts the cost of training a numeric policy from one trial update. */
import { playEpisodes, type Start } from './algorithms/episodes.js';
import type { LearnerState } from './learner.js';
import type { NumericConfig } from './numeric-config.js';
import { finalSeeds, type Training, update, withTraining } from './train-numeric.js';

export interface NumericForecast {
  /** Number of parameters of policy and value function. */
  readonly parameters: number;
  /** Environment steps in all updates, with episodes as long as in the trial. */
  readonly steps: number;
  /** Episodes in all updates. */
  readonly episodes: number;
  /** Includes evaluations, but not the baselines. */
  readonly seconds: number;
  /** Upper limit, with every episode as long as the environment allows; null if it sets no limit. */
  readonly most: { readonly steps: number; readonly seconds: number } | null;
  /** Bytes of the process after the trial. */
  readonly memory: number;
}

/** Steps in the trial, unless a batch is shorter. */
const triedSteps = 2000;

/** @param meters a monotonic clock in milliseconds, and the memory of the process in bytes */
export async function forecastNumeric(
  config: NumericConfig,
  { memory, milliseconds }: { milliseconds(): number; memory(): number },
): Promise<NumericForecast> {
  return withTraining(config, {}, async (tried) => {
    const { environments, learner } = tried;
    const state = learner.initial();
    const small = { ...tried, config: { ...config, batchSteps: Math.min(config.batchSteps, triedSteps) } };
    // Warm-up: the first update allocates memory.
    await update({ ...small, config: { ...config, batchSteps: 1 } }, state);
    const before = { steps: state.steps, episodes: state.episodes };
    const started = milliseconds();
    await update(small, state);
    const each = (milliseconds() - started) / 1000 / (state.steps - before.steps);
    const length = (state.steps - before.steps) / (state.episodes - before.episodes);
    const playing = await timeOfPlay(tried, state, milliseconds);
    const taking = (steps: number) => {
      const total = stepsOf(config, steps);
      return {
        steps: total.steps,
        seconds: each * total.steps + playing * total.evaluations * config.evaluation.episodes * steps,
      };
    };
    const { maxSteps } = environments[0]!;
    return {
      parameters: state.theta.length + state.valueTheta.length,
      ...taking(length),
      episodes: Math.round(taking(length).steps / length),
      most: maxSteps === undefined ? null : taking(maxSteps),
      memory: memory(),
    };
  });
}

/** Total steps and evaluations if every episode takes `length` steps; episodes are always played to the end. */
function stepsOf(config: NumericConfig, length: number): { steps: number; evaluations: number } {
  const unlimited = Number.POSITIVE_INFINITY;
  const episodes = Math.min(Math.ceil(config.batchSteps / length), config.batchEpisodes ?? unlimited);
  const all = Math.min(config.updates * episodes, config.maxEpisodes ?? unlimited);
  return {
    steps: Math.round(all * length),
    evaluations: Math.ceil(all / episodes / config.evaluation.every) + 1,
  };
}

/** Seconds per environment step when playing the most probable actions, measured over one episode. */
async function timeOfPlay(
  training: Training,
  { theta, observed }: LearnerState,
  milliseconds: () => number,
): Promise<number> {
  const started = milliseconds();
  let steps = 0;
  const start = (index: number): Start | undefined =>
    index === 0 ? { seed: finalSeeds(training.config)[0]!, actionSeed: undefined } : undefined;
  const episodes = await playEpisodes(
    training.learner.actor({ theta, observed }),
    training.environments,
    start,
  );
  for (const episode of episodes ?? []) steps += episode.rewards.length;
  return (milliseconds() - started) / 1000 / Math.max(1, steps);
}
