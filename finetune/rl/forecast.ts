/** What a learning will take, forecast before it: memory by estimate, tokens by its config, time by a small update. */

import { UserError } from '../../src/base/errors.js';
import { formatBytes, formatCompact, formatDuration } from '../../src/format/numbers.js';
import { deriveSeeds } from '../../src/random/generator.js';
import { largest } from '../../src/statistics/descriptive.js';
import { exampleLength } from '../engine/batch.js';
import { zeroMoments } from '../engine/optimisers.js';
import { estimateMemory, type MemoryEstimate, machineMemory } from '../train/memory-estimate.js';
import { type OpenedLearning, openLearning, type PlannedLearning } from './assemble.js';
import type { Group } from './learning/episode.js';
import { answeringOf, evaluationSize, turnsOf } from './learning-config.js';
import { playAndLearn } from './online.js';

export interface Forecast {
  /** In bytes, at the peak of an update. */
  readonly memory: number;
  readonly free: number;
  /** The most tokens that can be sampled, evaluations included. */
  readonly mostSampledTokens: number;
  /** As many as were sampled in the episodes that were tried, for all of them. */
  readonly sampledTokens: number;
  readonly episodes: number;
  readonly seconds: number;
  /** Episodes that were tried: all of an update, or a few where that takes long. */
  readonly tried: number;
  readonly remedy: string;
}

/** Episodes that are played to estimate memory, and how long a whole update will take. */
const tried = 16;

/** A whole update is tried where it takes less than this, in seconds. */
const longestTrial = 30;

/** What an update took, in seconds. */
interface Tried {
  readonly episodes: number;
  readonly tokens: number;
  readonly sampling: number;
  readonly learning: number;
}

/**
 * @param meters a monotonic clock, and the memory of the process in bytes
 * @throws UserError when model or environment can't be used
 */
export async function forecast(
  plan: PlannedLearning,
  { memory: used, milliseconds }: { milliseconds(): number; memory(): number },
): Promise<Forecast> {
  const { config } = plan;
  const learning = await openLearning(plan);
  try {
    const { evaluation, groups, groupSize, limits, seed, updates } = config;
    learning.sampler.refresh(learning.parameters);
    const size = Math.min(groupSize, tried);
    const starts = deriveSeeds(seed, [0], Math.max(1, Math.floor(tried / size)));
    const memory = memoryOf(
      await learning.task.play(learning.sampler, starts, size, seed),
      plan,
      learning.trainable,
    );
    // The first one makes room.
    await tryUpdate(learning, starts.length, size, milliseconds);
    const few = await tryUpdate(learning, starts.length, size, milliseconds);
    const learnt = groups * groupSize;
    const isShort = ((few.sampling + few.learning) * learnt) / few.episodes <= longestTrial;
    const one = isShort ? await tryUpdate(learning, groups, groupSize, milliseconds) : few;
    const evaluated =
      (1 + Math.ceil(updates / evaluation.every)) * evaluationSize(config) * turnsOf(config).evaluated;
    const episodes = updates * learnt + evaluated;
    const [sampling, training] = [one.sampling / one.episodes, one.learning / one.episodes];
    const sampledTokens = (episodes * one.tokens) / one.episodes;
    const seconds = sampling * episodes + training * updates * learnt;
    const mostTokens = limits.tokens ?? Number.POSITIVE_INFINITY;
    return {
      memory: Math.max(memory.total, used()),
      free: machineMemory().free,
      mostSampledTokens: Math.min(
        mostTokens,
        episodes * turnsOf(config).most * answeringOf(config).maxTokens,
      ),
      sampledTokens: Math.round(Math.min(sampledTokens, mostTokens)),
      episodes,
      seconds: Math.min(
        seconds * Math.min(1, mostTokens / sampledTokens),
        60 * (limits.minutes ?? Number.POSITIVE_INFINITY),
      ),
      tried: one.episodes,
      remedy: memory.remedy,
    };
  } finally {
    await learning.close();
  }
}

/** Plays and learns once, as the learning will; nothing of it is kept. */
async function tryUpdate(
  learning: OpenedLearning,
  groups: number,
  groupSize: number,
  milliseconds: () => number,
): Promise<Tried> {
  const parameters = learning.parameters.map((one) => ({ ...one, values: one.values.slice() }));
  const state = { parameters, moments: parameters.map(zeroMoments), step: 0, evaluationsWithoutGain: 0 };
  const run = { ...learning, settings: { ...learning.settings, groups, groupSize } };
  const started = milliseconds();
  const step = await playAndLearn(run, { ...state, best: undefined }, 0, { milliseconds });
  const all = (milliseconds() - started) / 1000;
  return {
    episodes: groups * groupSize,
    tokens: step.sampledTokens,
    sampling: step.samplingSeconds,
    learning: all - step.samplingSeconds,
  };
}

/** Estimated from episodes that were played, as many as an update has. */
function memoryOf(
  played: readonly Group[],
  { config, decoder }: PlannedLearning,
  trainable: Parameters<typeof estimateMemory>[0]['trainable'],
): MemoryEstimate {
  const sequences = played.flat().flatMap((episode) => episode.sequences);
  const longest = largest(sequences.map(exampleLength));
  if (longest > decoder.contextTokens)
    throw new UserError({
      field: 'agent.history',
      value: longest,
      message: `an episode has more tokens than the context of ${decoder.contextTokens}`,
      remedy: 'show fewer turns (agent.history)',
    });
  const wanted = config.groups * config.groupSize;
  const copies = Math.ceil(wanted / played.flat().length);
  const training = Array.from({ length: copies }, () => sequences)
    .flat()
    .map((sequence) => ({ ...sequence, weight: 1 }));
  const settings = {
    ...({ packing: 'rows', batchTokens: config.batchTokens, seed: 0 } as const),
    batchExamples: training.length,
  };
  return estimateMemory({ config: decoder, trainable, training, validated: false, settings });
}

/** @param played what is counted: episodes of an agent, answers of a proposer */
export function describedForecast(found: Forecast, played: string): string {
  return [
    `memory      about ${formatBytes(found.memory)} at the peak of an update, ${formatBytes(found.free)} free${found.memory > found.free ? `: it may run out; ${found.remedy}` : ''}`,
    `${played.padEnd(12)}${formatCompact(found.episodes)}, evaluations included`,
    `tokens      about ${formatCompact(found.sampledTokens)} to sample, ${formatCompact(found.mostSampledTokens)} at the most`,
    `time        about ${formatDuration(1000 * found.seconds)} at the speed of ${found.tried} ${played} that were tried, and learnt from`,
  ].join('\n');
}
