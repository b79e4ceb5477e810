import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { untilAborted } from '../base/abortable.js';
import type { Action, Environment } from '../environments/environment.js';
import {
  EnvironmentError,
  type EpisodeBatch,
  isRemote,
  type RemoteEnvironment,
} from '../environments/remote/remote-environment.js';
import {
  type ParameterVector,
  type Policy,
  type PolicyFamily,
  policyForEpisode,
  programsOf,
} from '../policies/policy.js';
import { mean } from '../statistics/descriptive.js';
import {
  actionsOf,
  type EpisodeRecord,
  type EpisodeTask,
  emptyTrajectory,
  type PlayedEpisode,
  RunningEpisode,
} from './episode.js';
import type { EvaluationWorkers } from './evaluation-workers.js';
import type { Observations } from './player-thread.js';
import type { BufferEntry } from './replay-buffer.js';

/** Time after which an episode yields to the event loop, which handles stop signals. */
const maxTurnMs = 50;

/** Number of steps between clock reads, which take about as long as a step of the fastest environments. */
const clockStride = 16;

/** Plays episodes, yielding to the event loop from time to time, even in the middle of an episode. */
class YieldingPlayer {
  readonly #signal: AbortSignal | undefined;
  #turnStart = performance.now();
  #steps = 0;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
  }

  /** Plays one episode like `rollout`. @throws the signal's reason when aborted */
  async play(
    environment: Environment,
    policy: Policy,
    { seed, record }: EpisodeTask,
    maxSteps: number,
  ): Promise<PlayedEpisode> {
    const episode = new RunningEpisode(environment.reset(seed), record ? emptyTrajectory() : undefined);
    const act = policyForEpisode(policy, seed);
    while (!episode.ended) {
      const action = act(episode.observation);
      episode.addStep(action, environment.step(action), maxSteps);
      if (++this.#steps % clockStride !== 0 || performance.now() - this.#turnStart < maxTurnMs) continue;
      await yieldToEventLoop();
      this.#signal?.throwIfAborted();
      this.#turnStart = performance.now();
    }
    return episode.result();
  }
}

/** The outcome of playing one policy on a list of episode seeds. */
export interface Evaluation extends Pick<BufferEntry, 'returns' | 'lengths' | 'score'> {
  /** Trajectories of the recorded episodes. */
  readonly episodes: readonly Omit<EpisodeRecord, 'iteration' | 'candidate'>[];
}

/** Everything that an evaluation needs besides parameters and seeds. */
export interface EvaluationSetup {
  readonly environment: Environment | RemoteEnvironment;
  readonly family: PolicyFamily;
  /** Maximum number of steps per episode; the environment's own limit also applies. */
  readonly maxSteps: number;
  readonly record: 'none' | 'first' | 'all';
  /** Threads that play programs, and other policies if that saves time or the number of threads is set. */
  readonly workers?: EvaluationWorkers | undefined;
}

/**
 * Plays one episode per seed; the results are in the order of the seeds and don't depend on which thread plays them.
 * @throws EnvironmentError if an environment or a reward module fails, or a return is NaN or too large; ProgramFault if
 * a program fails; UserError if a policy module fails; the signal's reason if aborted
 */
export async function evaluate(
  setup: EvaluationSetup,
  parameters: ParameterVector,
  seeds: readonly number[],
  signal?: AbortSignal,
): Promise<Evaluation> {
  const tasks = seeds.map((seed, i) => ({ seed, record: shouldRecord(i, setup) }));
  signal?.throwIfAborted();
  const played = await untilAborted(play(setup, parameters, tasks, signal), signal);
  for (const [i, episode] of played.entries()) requireValidReturn(episode.return, setup, seeds[i]!);
  const returns = played.map((episode) => episode.return);
  return {
    returns,
    lengths: played.map(({ length }) => length),
    score: mean(returns),
    episodes: played.flatMap(({ trajectory, terminated, truncated }, episode) =>
      trajectory === undefined
        ? []
        : [{ episode, seed: seeds[episode]!, ...trajectory, terminated, truncated }],
    ),
  };
}

/** True if the trajectory of this episode should be recorded. @param episode index within the evaluation */
export const shouldRecord = (episode: number, { record }: Pick<EvaluationSetup, 'record'>): boolean =>
  record === 'all' || (record === 'first' && episode === 0);

/** Maximum absolute value of a return; means and variances of larger returns could overflow. */
const maxReturn = 1e150;

function requireValidReturn(value: number, { environment }: EvaluationSetup, seed: number): void {
  if (Math.abs(value) <= maxReturn) return;
  throw new EnvironmentError(
    'invalid',
    `${environment.id}: the return of an episode (seed ${seed}) is ${value}\n  expected: a number between -1e150 and 1e150`,
  );
}

/** An evaluation as a replay buffer entry, with its trajectories. */
export interface EvaluatedPolicy {
  readonly entry: BufferEntry;
  readonly episodes: readonly EpisodeRecord[];
}

export async function evaluatePolicy(
  setup: EvaluationSetup,
  parameters: ParameterVector,
  seeds: readonly number[],
  place: Pick<BufferEntry, 'iteration' | 'group' | 'candidate' | 'source' | 'by' | 'revises'>,
  signal?: AbortSignal,
): Promise<EvaluatedPolicy> {
  const { episodes, ...results } = await evaluate(setup, parameters, seeds, signal);
  const { iteration, candidate } = place;
  return {
    entry: { ...place, parameters, ...results },
    episodes: episodes.map((episode) => ({ iteration, candidate, ...episode })),
  };
}

async function play(
  { environment, family, maxSteps, workers }: EvaluationSetup,
  parameters: ParameterVector,
  tasks: readonly EpisodeTask[],
  signal: AbortSignal | undefined,
): Promise<readonly PlayedEpisode[]> {
  const program = programsOf(family)?.program(parameters).source;
  // A program may block its thread for seconds, so run it in a worker, which can be stopped.
  if (!isRemote(environment) && workers?.isNeeded)
    return workers.play({ parameters, program }, tasks, signal);
  await family.prepare?.();
  if (isRemote(environment))
    return playRemotely(environment, family.build(parameters), tasks, maxSteps, signal);
  const policy = family.build(parameters);
  const played: PlayedEpisode[] = [];
  const player = new YieldingPlayer(signal);
  for (const task of tasks) {
    if (workers?.areWorthwhile(tasks.length - played.length)) {
      return [...played, ...(await workers.play({ parameters }, tasks.slice(played.length), signal))];
    }
    const start = performance.now();
    played.push(await player.play(environment, policy, task, maxSteps));
    workers?.recordTime(performance.now() - start);
  }
  return played;
}

/** The actions that a policy chooses for recorded observations, by episode. @throws like `EvaluationWorkers.actions` */
export async function actionsOn(
  { family, workers }: Pick<EvaluationSetup, 'family' | 'workers'>,
  parameters: ParameterVector,
  episodes: Observations,
): Promise<readonly (readonly Action[])[]> {
  const program = programsOf(family)?.program(parameters).source;
  if (workers?.isNeeded) return workers.actions({ parameters, program }, episodes);
  await family.prepare?.();
  return actionsOf(family.build(parameters), episodes);
}

/** Plays many episodes at a time, with the same results as `rollout`. */
async function playRemotely(
  environment: RemoteEnvironment,
  policy: Policy,
  tasks: readonly EpisodeTask[],
  maxSteps: number,
  signal: AbortSignal | undefined,
): Promise<readonly PlayedEpisode[]> {
  const { batches } = environment;
  const played: PlayedEpisode[] = Array.from({ length: tasks.length });
  const episodesPerBatch = Math.ceil(tasks.length / batches.length);
  let next = 0;
  let failed = false;
  const isOver = () => failed || signal?.aborted === true;
  const playInBatch = async (batch: EpisodeBatch): Promise<void> => {
    while (next < tasks.length && !isOver()) {
      const firstIndex = next;
      next += Math.min(batch.slotCount, episodesPerBatch);
      const episodes = await playBatch(batch, policy, tasks.slice(firstIndex, next), maxSteps, isOver);
      for (const [i, episode] of episodes.entries()) played[firstIndex + i] = episode;
    }
  };
  try {
    await Promise.all(batches.map(playInBatch));
  } catch (error) {
    failed = true;
    throw error;
  }
  signal?.throwIfAborted();
  return played;
}

/** Plays episodes in lockstep. @param tasks at most one per slot of the batch */
async function playBatch(
  batch: EpisodeBatch,
  policy: Policy,
  tasks: readonly EpisodeTask[],
  maxSteps: number,
  isOver: () => boolean,
): Promise<readonly PlayedEpisode[]> {
  const observations = await batch.reset(tasks.map(({ seed }) => seed));
  const episodes = tasks.map(
    ({ record }, slot) => new RunningEpisode(observations[slot]!, record ? emptyTrajectory() : undefined),
  );
  const policies = tasks.map(({ seed }) => policyForEpisode(policy, seed));
  let slots = [...episodes.keys()];
  while (slots.length > 0 && !isOver()) {
    const moves = slots.map((slot) => ({ slot, action: policies[slot]!(episodes[slot]!.observation) }));
    const steps = await batch.step(moves);
    for (const [i, { slot, action }] of moves.entries()) episodes[slot]!.addStep(action, steps[i]!, maxSteps);
    slots = slots.filter((slot) => !episodes[slot]!.ended);
  }
  return episodes.map((episode) => episode.result());
}
