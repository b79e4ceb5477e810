/** What a training of a numeric policy will take, by one update that is tried. */
import { playEpisodes, type Start } from './algorithms/episodes.js';
import type { LearnerState } from './learner.js';
import type { NumericConfig } from './numeric-config.js';
import { finalSeeds, type Training, update, withTraining } from './train-numeric.js';

export interface NumericForecast {
  /** Parameters of the policy and the value function. */
  readonly parameters: number;
  /** Steps of the environment in all updates: in each about as many as in the one that was tried. */
  readonly steps: number;
  /** In them. */
  readonly episodes: number;
  /** With evaluations, without the baselines. */
  readonly seconds: number;
  /** Where every episode lasts as long as the environment lets it; null where that sets no limit. */
  readonly most: { readonly steps: number; readonly seconds: number } | null;
  /** Bytes of the program after that update. */
  readonly memory: number;
}

/** Steps that are tried: a whole batch where it is as short. */
const triedSteps = 2000;

/** @param meters a monotonic clock, and the memory of the process in bytes */
export async function forecastNumeric(
  config: NumericConfig,
  { memory, milliseconds }: { milliseconds(): number; memory(): number },
): Promise<NumericForecast> {
  return withTraining(config, {}, async (tried) => {
    const { environments, learner } = tried;
    const state = learner.initial();
    const small = { ...tried, config: { ...config, batchSteps: Math.min(config.batchSteps, triedSteps) } };
    // The first one makes room.
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

/** Steps of all updates, and evaluations, where episodes have a length: each is played to its end. */
function stepsOf(config: NumericConfig, length: number): { steps: number; evaluations: number } {
  const unlimited = Number.POSITIVE_INFINITY;
  const episodes = Math.min(Math.ceil(config.batchSteps / length), config.batchEpisodes ?? unlimited);
  const all = Math.min(config.updates * episodes, config.maxEpisodes ?? unlimited);
  return {
    steps: Math.round(all * length),
    evaluations: Math.ceil(all / episodes / config.evaluation.every) + 1,
  };
}

/** Seconds of a step of the environment with the most probable actions. */
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
