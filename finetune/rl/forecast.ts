/** What a learning will take, forecast before it: memory by estimate, tokens by its config, time by playing a little. */
import { UserError } from '../../src/base/errors.js';
import { formatBytes, formatCompact, formatDuration } from '../../src/format/numbers.js';
import { deriveSeeds } from '../../src/random/generator.js';
import { exampleLength } from '../engine/batch.js';
import { estimateMemory, type MemoryEstimate, machineMemory } from '../train/memory-estimate.js';
import { openLearning, type PlannedLearning } from './assemble.js';
import type { Group } from './learning/episode.js';
import { answeringOf, evaluationSize, turnsOf } from './learning-config.js';

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
  readonly remedy: string;
}

/** Episodes that are played to measure. */
const tried = 16;

/** Time of an update over that of reading as many tokens as it samples: forward, backward, the optimizer. */
const updateShare = 1;

/** @throws UserError when model or environment can't be used */
export async function forecast(plan: PlannedLearning, milliseconds: () => number): Promise<Forecast> {
  const { config } = plan;
  const learning = await openLearning(plan);
  try {
    const { evaluation, groups, groupSize, limits, seed, updates } = config;
    learning.sampler.refresh(learning.parameters);
    const size = Math.min(groupSize, tried);
    const starts = deriveSeeds(seed, [0], Math.max(1, Math.floor(tried / size)));
    const play = () => learning.task.play(learning.sampler, starts, size, seed);
    // The first one also makes room.
    await play();
    const started = milliseconds();
    const played = await play();
    const perEpisode = (milliseconds() - started) / 1000 / (starts.length * size);
    const learnt = updates * groups * groupSize;
    const evaluated =
      (2 + Math.floor(updates / evaluation.every)) * evaluationSize(config) * turnsOf(config).evaluated;
    const episodes = learnt + evaluated;
    const all = played.flat();
    const tokens = all.reduce((sum, episode) => sum + episode.tokens, 0) / all.length;
    const memory = memoryOf(played, plan, learning.trainable);
    const seconds = perEpisode * (episodes + updateShare * learnt);
    return {
      memory: memory.total,
      free: machineMemory().free,
      mostSampledTokens: Math.min(
        limits.tokens ?? Number.POSITIVE_INFINITY,
        episodes * turnsOf(config).most * answeringOf(config).maxTokens,
      ),
      sampledTokens: Math.round(episodes * tokens),
      episodes,
      seconds: Math.min(seconds, 60 * (limits.minutes ?? Number.POSITIVE_INFINITY)),
      remedy: memory.remedy,
    };
  } finally {
    await learning.close();
  }
}

/** Estimated from episodes that were played, as many as an update has. */
function memoryOf(
  played: readonly Group[],
  { config, decoder }: PlannedLearning,
  trainable: Parameters<typeof estimateMemory>[0]['trainable'],
): MemoryEstimate {
  const sequences = played.flat().flatMap((episode) => episode.sequences);
  const longest = Math.max(...sequences.map(exampleLength));
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
    `time        about ${formatDuration(1000 * found.seconds)} at the speed of ${tried} ${played} that were tried`,
  ].join('\n');
}
