/** Forecasts a training run: estimates its memory, and extrapolates its tokens and duration from trial updates. */
import { UserError } from '../../src/base/errors.js';
import { machineMemory } from '../../src/base/machine-memory.js';
import { formatBytes, formatCompact, formatDuration } from '../../src/format/numbers.js';
import { deriveSeeds } from '../../src/random/generator.js';
import { largest } from '../../src/statistics/descriptive.js';
import { exampleLength } from '../engine/batch.js';
import { freshState } from '../engine/checkpoint.js';
import { estimateMemory, type MemoryEstimate } from '../train/memory-estimate.js';
import { type OpenedLearning, openLearning, type PlannedLearning } from './assemble.js';
import type { Group } from './learning/episode.js';
import { playAndLearn } from './online.js';
import { answeringOf, evaluationSize, isProposer, promptField, turnsOf } from './rl-config.js';

export interface Forecast {
  /** Estimated peak memory of an update, in bytes. */
  readonly memory: number;
  readonly free: number;
  /** Estimated maximum number of sampled tokens, including evaluations. */
  readonly mostSampledTokens: number;
  /** Expected number of sampled tokens, extrapolated from the trial. */
  readonly sampledTokens: number;
  readonly episodes: number;
  readonly seconds: number;
  /** Number of episodes in the trial: as many as in an update, or up to 16 if that would take too long. */
  readonly tried: number;
  readonly remedy: string;
}

/** Maximum number of episodes played first, to estimate the memory and duration of a whole update. */
const tried = 16;

/** Try a whole update only if it is expected to take at most this many seconds. */
const longestTrial = 30;

interface Tried {
  readonly episodes: number;
  readonly tokens: number;
  readonly sampling: number;
  readonly learning: number;
}

/** @throws UserError if the model or environment can't be used */
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
    // Don't time the first update, because it allocates memory.
    await tryUpdate(learning, starts.length, size, milliseconds);
    const few = await tryUpdate(learning, starts.length, size, milliseconds);
    const learned = groups * groupSize;
    const isShort = ((few.sampling + few.learning) * learned) / few.episodes <= longestTrial;
    const one = isShort ? await tryUpdate(learning, groups, groupSize, milliseconds) : few;
    const evaluated =
      (1 + Math.ceil(updates / evaluation.every)) * evaluationSize(config) * turnsOf(config).evaluated;
    const episodes = updates * learned + evaluated;
    const [sampling, training] = [one.sampling / one.episodes, one.learning / one.episodes];
    const sampledTokens = (episodes * one.tokens) / one.episodes;
    const seconds = sampling * episodes + training * updates * learned;
    // The token limit counts only the tokens of updates; evaluations sample more tokens in proportion.
    const mostTokens = ((limits.tokens ?? Number.POSITIVE_INFINITY) * episodes) / (updates * learned);
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

async function tryUpdate(
  learning: OpenedLearning,
  groups: number,
  groupSize: number,
  milliseconds: () => number,
): Promise<Tried> {
  const parameters = learning.parameters.map((one) => ({ ...one, values: one.values.slice() }));
  const run = { ...learning, settings: { ...learning.settings, groups, groupSize } };
  const started = milliseconds();
  const step = await playAndLearn(run, freshState(parameters), 0, { milliseconds });
  const all = (milliseconds() - started) / 1000;
  return {
    episodes: groups * groupSize,
    tokens: step.sampledTokens,
    sampling: step.samplingSeconds,
    learning: all - step.samplingSeconds,
  };
}

/** @throws UserError if an episode exceeds the model's context */
function memoryOf(
  played: readonly Group[],
  { config, decoder }: PlannedLearning,
  trainable: Parameters<typeof estimateMemory>[0]['trainable'],
): MemoryEstimate {
  const sequences = played.flat().flatMap((episode) => episode.sequences);
  const longest = largest(sequences.map(exampleLength));
  if (longest > decoder.contextTokens)
    throw new UserError({
      field: promptField(config),
      message: `a prompt and its reply have ${longest} tokens, more than the model's context of ${decoder.contextTokens}`,
      remedy: isProposer(config)
        ? 'lower experiment.memory.tokens or experiment.memory.best'
        : 'lower agent.history, or set agent.historyTokens',
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
  return estimateMemory({ config: decoder, trainable, training, sessions: 1, settings });
}

/** @param played unit of the counts: `episodes` for an agent, `answers` for a proposer */
export function describedForecast(found: Forecast, played: string): string {
  return [
    `memory      about ${formatBytes(found.memory)} at the peak of an update, ${formatBytes(found.free)} free${found.memory > found.free ? `, which may not be enough; remedy: ${found.remedy}` : ''}`,
    `${played.padEnd(12)}${formatCompact(found.episodes)}, including evaluations`,
    `tokens      about ${formatCompact(found.sampledTokens)} to sample, at most ${formatCompact(found.mostSampledTokens)}`,
    `time        about ${formatDuration(1000 * found.seconds)} (from ${found.tried} ${played} in a trial update)`,
  ].join('\n');
}
