import type { Action, Observation, Step } from '../environments/environment.js';
import type { EpisodeBatch, RemoteEnvironment } from '../environments/remote/remote-environment.js';
import type { Policy } from '../policies/policy.js';
import type { EpisodeTask, PlayedEpisode, Trajectory } from './episode.js';

/**
 * Plays one episode for each task: what `rollout` does, many at a time. A batch that is done takes the next tasks.
 * @throws EnvironmentError as soon as one episode fails; what else was played is lost
 */
export async function playRemotely(
  environment: RemoteEnvironment,
  policy: Policy,
  tasks: readonly EpisodeTask[],
  maxSteps: number,
  signal: AbortSignal | undefined,
): Promise<readonly PlayedEpisode[]> {
  const { batches } = environment;
  const played: PlayedEpisode[] = Array.from({ length: tasks.length });
  const share = Math.ceil(tasks.length / batches.length);
  let next = 0;
  let failed = false;
  const ended = () => failed || signal?.aborted === true;
  const serve = async (batch: EpisodeBatch): Promise<void> => {
    while (next < tasks.length && !ended()) {
      const first = next;
      next += Math.min(batch.slots, share, tasks.length - first);
      const episodes = await playBatch(batch, policy, tasks.slice(first, next), maxSteps, ended);
      for (const [i, episode] of episodes.entries()) played[first + i] = episode;
    }
  };
  try {
    await Promise.all(batches.map(serve));
  } catch (error) {
    failed = true;
    throw error;
  }
  signal?.throwIfAborted();
  return played;
}

/** Plays as many episodes as the batch has slots, or fewer, each step of all of them together. */
async function playBatch(
  batch: EpisodeBatch,
  policy: Policy,
  tasks: readonly EpisodeTask[],
  maxSteps: number,
  ended: () => boolean,
): Promise<readonly PlayedEpisode[]> {
  const observations = await batch.reset(tasks.map(({ seed }) => seed));
  const episodes = tasks.map(({ record }, slot) => new RunningEpisode(slot, observations[slot]!, record));
  let running = episodes;
  while (running.length > 0 && !ended()) {
    const moves = running.map(({ slot, observation }) => ({ slot, action: policy(observation) }));
    const steps = await batch.step(moves);
    for (const [i, episode] of running.entries()) episode.take(moves[i]!.action, steps[i]!, maxSteps);
    running = running.filter(({ ended }) => !ended);
  }
  return episodes.map((episode) => episode.result());
}

class RunningEpisode {
  readonly slot: number;
  observation: Observation;
  ended = false;
  readonly #trajectory: Trajectory | undefined;
  #return = 0;
  #length = 0;
  #terminated = false;
  #truncated = false;

  constructor(slot: number, observation: Observation, record: boolean) {
    this.slot = slot;
    this.observation = observation;
    this.#trajectory = record ? { observations: [observation], actions: [], rewards: [] } : undefined;
  }

  take(action: Action, { observation, reward, terminated, truncated }: Step, maxSteps: number): void {
    this.observation = observation;
    this.#return += reward;
    this.#length++;
    this.#trajectory?.observations.push(observation);
    this.#trajectory?.actions.push(action);
    this.#trajectory?.rewards.push(reward);
    this.#terminated = terminated;
    this.#truncated = truncated || (this.#length >= maxSteps && !terminated);
    this.ended = terminated || this.#truncated;
  }

  result(): PlayedEpisode {
    return {
      return: this.#return,
      length: this.#length,
      terminated: this.#terminated,
      truncated: this.#truncated,
      ...(this.#trajectory && { trajectory: this.#trajectory }),
    };
  }
}
