import type { EpisodeBatch, RemoteEnvironment } from '../environments/remote/remote-environment.js';
import type { Policy } from '../policies/policy.js';
import { type EpisodeTask, emptyTrajectory, type PlayedEpisode, RunningEpisode } from './episode.js';

/**
 * Plays one episode for each task as `rollout` does, many at a time. A batch that is done takes the next tasks.
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
  const episodes = tasks.map(
    ({ record }, slot) => new RunningEpisode(observations[slot]!, record ? emptyTrajectory() : undefined),
  );
  let slots = [...episodes.keys()];
  while (slots.length > 0 && !ended()) {
    const moves = slots.map((slot) => ({ slot, action: policy(episodes[slot]!.observation) }));
    const steps = await batch.step(moves);
    for (const [i, { slot, action }] of moves.entries()) episodes[slot]!.take(action, steps[i]!, maxSteps);
    slots = slots.filter((slot) => !episodes[slot]!.ended);
  }
  return episodes.map((episode) => episode.result());
}
