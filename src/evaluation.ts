import type { Environment } from './environments/environment.js';
import type { ParameterVector, PolicyFamily } from './policies/policy.js';
import type { BufferEntry } from './replay-buffer.js';
import { rollout, type Trajectory } from './rollout.js';
import type { EpisodeRecord } from './run-log.js';
import { mean } from './statistics.js';

/** The outcome of playing one policy on a list of episode seeds. */
export interface Evaluation {
  readonly returns: readonly number[];
  readonly lengths: readonly number[];
  /** Mean return. */
  readonly score: number;
  /** Trajectories of the recorded episodes, by columns. */
  readonly episodes: readonly Omit<EpisodeRecord, 'iteration' | 'candidate'>[];
}

/** What an evaluation needs beside the parameters. */
export interface EvaluationSetting {
  readonly environment: Environment;
  readonly family: PolicyFamily;
  /** Steps after which an episode is cut, beside the environment's own limit. */
  readonly maxSteps: number;
  /** Which episodes to record. */
  readonly record: 'none' | 'first' | 'all';
}

/** Plays one episode for each seed. */
export function evaluate(
  setting: EvaluationSetting,
  parameters: ParameterVector,
  seeds: readonly number[],
): Evaluation {
  const { environment, family, maxSteps, record } = setting;
  const policy = family.build(parameters);
  const returns: number[] = [];
  const lengths: number[] = [];
  const episodes: Omit<EpisodeRecord, 'iteration' | 'candidate'>[] = [];
  for (const [episode, seed] of seeds.entries()) {
    const recorded = record === 'all' || (record === 'first' && episode === 0);
    const trajectory: Trajectory | undefined = recorded
      ? { observations: [], actions: [], rewards: [] }
      : undefined;
    const result = rollout(environment, policy, {
      seed,
      maxSteps,
      ...(trajectory && { record: trajectory }),
    });
    returns.push(result.return);
    lengths.push(result.length);
    if (trajectory !== undefined) {
      episodes.push({
        episode,
        seed,
        ...trajectory,
        terminated: result.terminated,
        truncated: result.truncated,
      });
    }
  }
  return { returns, lengths, score: mean(returns), episodes };
}

/** Evaluates a candidate as an entry of the replay buffer, with the trajectories that belong to it. */
export function measure(
  setting: EvaluationSetting,
  parameters: ParameterVector,
  seeds: readonly number[],
  place: Pick<BufferEntry, 'iteration' | 'group' | 'candidate' | 'source'>,
): { readonly entry: BufferEntry; readonly episodes: readonly EpisodeRecord[] } {
  const { returns, lengths, score, episodes } = evaluate(setting, parameters, seeds);
  const { iteration, candidate } = place;
  return {
    entry: { ...place, parameters, returns, lengths, score },
    episodes: episodes.map((episode) => ({ iteration, candidate, ...episode })),
  };
}
