import { UserError } from '../../src/base/errors.js';
import { lastKnown, Prompter } from '../../src/experiment/prompter.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import { remembered } from '../../src/prompting/context/history.js';
import { createGenerator, type RandomGenerator } from '../../src/random/generator.js';
import { type BufferEntry, createReplayBuffer } from '../../src/rollout/replay-buffer.js';
import { evaluatedEach } from '../../src/search/settings.js';
import { type Imitation, promptHash } from './example.js';
import { imitate } from './recipes.js';
import { placeKey, type SourceRun } from './source-run.js';

/**
 * Builds prompts that the run could have had, with an answer that it found later. Draws a target entry, an iteration,
 * and a history of earlier entries with lower scores (see `historyLength`).
 * The answer contains no reason, because the model gave none for this history.
 * @param samples number of prompts to draw; the rare duplicates aren't replaced
 * @throws UserError if the run's prompt templates are missing or broken
 */
export function hindsight(
  run: SourceRun,
  seed: number,
  samples = run.config.iterations,
): readonly Imitation[] {
  const targets = targetsOf(run);
  if (targets.length === 0) return [];
  const random = createGenerator(seed, [run.manifest.seed]);
  return Array.from({ length: samples }, () => {
    const { target, worse, iterations } = random.choice(targets);
    const iteration = random.integers(iterations.first, iterations.last + 1);
    return example(run, target, iteration, draw(worse, historyLength(run, iteration), random));
  });
}

interface Target {
  readonly target: BufferEntry;
  readonly worse: readonly BufferEntry[];
  readonly iterations: { readonly first: number; readonly last: number };
}

function targetsOf(run: SourceRun): readonly Target[] {
  const { entries } = run.recorded;
  const { iterations, pipeline = 1 } = run.config;
  const held = new Set(remembered(entries, run.config.memory));
  const first = warmupLength(run) > 0 ? 1 : 1 + pipeline;
  return entries.flatMap((target, position) => {
    const worse = entries.slice(0, position).filter((entry) => held.has(entry) && entry.score < target.score);
    const groups = Math.floor((worse.length - warmupLength(run)) / keptPerGroup(run));
    const last = groups < 0 ? 0 : Math.min(iterations, groups + pipeline);
    return last < first ? [] : [{ target, worse, iterations: { first, last } }];
  });
}

const warmupLength = ({ recorded }: SourceRun) =>
  recorded.entries.filter(({ iteration }) => iteration === 0).length;

/** Number of evaluations per iteration that the memory keeps. */
const keptPerGroup = ({ config }: SourceRun) =>
  config.memory.ofGroup === undefined ? evaluatedEach(config) : 1;

/** Number of evaluations that an iteration's prompt can show if all earlier proposals were valid. */
function historyLength(run: SourceRun, iteration: number): number {
  return warmupLength(run) + lastKnown(run.config, iteration) * keptPerGroup(run);
}

/** Draws `count` of the items without replacement and keeps their order. */
function draw<T>(items: readonly T[], count: number, random: RandomGenerator): readonly T[] {
  const positions = items.map((_, i) => i);
  for (let i = 0; i < count; i++) {
    const j = random.integers(i, positions.length);
    [positions[i], positions[j]] = [positions[j]!, positions[i]!];
  }
  return positions
    .slice(0, count)
    .toSorted((a, b) => a - b)
    .map((position) => items[position]!);
}

function example(
  run: SourceRun,
  entry: BufferEntry,
  iteration: number,
  history: readonly BufferEntry[],
): Imitation {
  const prompt = renderPrompt(run, iteration, history);
  const { best } = createReplayBuffer(history);
  const step = {
    iteration,
    prompt,
    promptHash: promptHash(prompt),
    history: history.length,
    incumbent: best,
  };
  return imitate(run, 'hindsight', step, { entry, reply: '' });
}

/** Renders an iteration's prompt as if `history` were all evaluations so far, beginning with the warm-up. */
export function renderPrompt(
  run: SourceRun,
  iteration: number,
  history: readonly BufferEntry[],
): readonly ChatMessage[] {
  const { config, demonstrations, environment, family, prompts, recorded } = run;
  if (prompts === undefined) {
    throw new UserError({
      field: '--recipe',
      message: `the prompt templates of ${run.name} are missing or broken`,
      value: config.prompts.set,
      remedy: 'restore them, exclude this run, or use a recipe that keeps the logged prompts (improvement)',
    });
  }
  const warmup = warmupLength(run);
  const size = keptPerGroup(run);
  const entries = history.map((entry, i): BufferEntry => {
    if (i < warmup) return { ...entry, iteration: 0, group: 0, candidate: i };
    const group = 1 + Math.floor((i - warmup) / size);
    return { ...entry, iteration: group, group, candidate: (i - warmup) % size };
  });
  const renamed = new Map(history.map((entry, i) => [placeKey(entry), entries[i]!]));
  const episodes = [...recorded.episodes].flatMap((episode) => {
    const entry = renamed.get(placeKey(episode));
    return entry === undefined
      ? []
      : [{ ...episode, iteration: entry.iteration, candidate: entry.candidate }];
  });
  const prompter = new Prompter({
    config,
    environment,
    family,
    prompts,
    demonstrations,
    buffer: createReplayBuffer(entries),
    recorded: { episodes, calls: [], iteration: iteration - 1 },
  });
  return prompter.messages(iteration);
}
