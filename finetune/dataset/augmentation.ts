/**
 * Augmentation by symmetries of policy classes: returns don't change if observations are reordered or negated,
 * or actions renamed, so an evaluation of a parameter vector also holds for its transformed copy.
 */
import { UserError } from '../../src/base/errors.js';
import { Prompter } from '../../src/experiment/prompter.js';
import type { ParameterVector, PolicyFamily } from '../../src/policies/policy.js';
import { createGenerator, type RandomGenerator, shuffled } from '../../src/random/generator.js';
import { type BufferEntry, createReplayBuffer } from '../../src/rollout/replay-buffer.js';
import { largest, smallest } from '../../src/statistics/descriptive.js';
import { promptHash } from './example.js';
import type { SourceRun, Step } from './source-run.js';

/** The value at position `from`, times `sign`. */
export interface Moved {
  readonly from: number;
  readonly sign: 1 | -1;
}

export type Symmetry =
  /** Observation i of the transformed environment is `observations[i]` of the original; the same holds for outputs. */
  | { readonly kind: 'linear'; readonly observations: readonly Moved[]; readonly outputs: readonly Moved[] }
  /** Changes the basis that weights are projected from: new column j is the old column `coordinates[j]`. */
  | { readonly kind: 'projected'; readonly coordinates: readonly Moved[] }
  /** State s of the transformed environment is `states[s]` of the original, and its action a is `actions[a]`. */
  | { readonly kind: 'table'; readonly states: readonly number[]; readonly actions: readonly number[] };

/**
 * Draws a symmetry uniformly. Signs flip only if parameter bounds are symmetric, and output signs only if outputs are
 * continuous actions.
 * @throws UserError for networks without a projection, programs and custom policies
 */
export function drawSymmetry({ parameters, description }: PolicyFamily, random: RandomGenerator): Symmetry {
  const flips = parameters.low === -parameters.high;
  const moved = (count: number, flip: boolean): readonly Moved[] =>
    shuffled(Array(count).keys(), random).map((from) => ({
      from,
      sign: flip && random.random() < 0.5 ? -1 : 1,
    }));
  if (description.kind === 'module') throw unknownSymmetries(`of the policy ${description.name}`);
  if (description.kind === 'program') throw unknownSymmetries('of programs');
  if (description.kind === 'q-table') {
    const { states, actions } = description;
    return {
      kind: 'table',
      states: shuffled(Array(states).keys(), random),
      actions: shuffled(actions.keys(), random),
    };
  }
  if (description.projection !== undefined) {
    return { kind: 'projected', coordinates: moved(parameters.count, flips) };
  }
  if (description.kind === 'mlp') throw unknownSymmetries('of networks without a projection');
  const { observations, outputs, discrete } = description;
  return {
    kind: 'linear',
    observations: moved(observations, flips),
    outputs: moved(outputs, flips && !discrete),
  };
}

const unknownSymmetries = (whose: string) =>
  new UserError({ message: `the symmetries ${whose} are unknown`, remedy: 'omit --augment' });

export function transformed(
  parameters: ParameterVector,
  symmetry: Symmetry,
  family: Pick<PolicyFamily, 'parameters' | 'description'>,
): ParameterVector {
  switch (symmetry.kind) {
    case 'projected':
      return symmetry.coordinates.map(({ from, sign }) => signed(sign, parameters[from]!));
    case 'linear': {
      const { observations, outputs } = symmetry;
      const rows: readonly Moved[] =
        parameters.length > observations.length * outputs.length
          ? [...observations, { from: observations.length, sign: 1 }]
          : observations;
      return rows.flatMap((row) =>
        outputs.map(({ from, sign }) =>
          signed(row.sign * sign, parameters[row.from * outputs.length + from]!),
        ),
      );
    }
    case 'table':
      return transformedTable(parameters, symmetry, family);
  }
}

function transformedTable(
  parameters: ParameterVector,
  { states, actions }: Extract<Symmetry, { kind: 'table' }>,
  { parameters: { low }, description }: Pick<PolicyFamily, 'parameters' | 'description'>,
): ParameterVector {
  if (description.kind === 'q-table' && description.form === 'values')
    return states.flatMap((state) => actions.map((action) => parameters[state * actions.length + action]!));
  const called = new Map(actions.map((action, name) => [low + action, low + name]));
  return states.map((state) => called.get(parameters[state]!)!);
}

/** Adds 0 to turn −0 into 0, because the two print the same but aren't the same value. */
const signed = (sign: number, value: number): number => sign * value + 0;

/** Prompt sets that don't mention the environment, so their prompts stay correct after a transformation. */
const silentSets = ['numeric', 'compact'];

/**
 * Makes copies 1 … `count` of a run, each determined by `seed`, the run's seed and the copy's number.
 * @param warp if true, the copies' prompts also show returns on another scale
 * @throws UserError if the run's prompts mention its environment or can't be rendered, or no symmetries are known
 */
export function augmented(run: SourceRun, count: number, seed: number, warp = false): readonly SourceRun[] {
  return Array.from({ length: count }, (_, i) => {
    const random = createGenerator(seed, [run.manifest.seed, i + 1]);
    const symmetry = drawSymmetry(run.family, random);
    const scale = warp ? drawScale(run.recorded.entries, random) : identity;
    return { ...transformedRun(run, symmetry, scale), copy: i + 1 };
  });
}

export type Scale = (score: number) => number;

const identity: Scale = (score) => score;

/** Largest exponent of a scale; the smallest is its reciprocal. */
const largestExponent = 5;

/** Draws a monotone scale: a power of the relative distance from the lowest or highest score. */
export function drawScale(entries: readonly Pick<BufferEntry, 'score'>[], random: RandomGenerator): Scale {
  const limit = Math.log(largestExponent);
  const exponent = Math.exp(random.uniform(-limit, limit));
  const fromTop = random.random() < 0.5;
  const scores = entries.map(({ score }) => score);
  const [low, high] = [smallest(scores), largest(scores)];
  const span = high - low;
  if (!(span > 0)) return identity;
  return (score) => {
    const way = (score - low) / span;
    return low + span * (fromTop ? 1 - (1 - way) ** exponent : way ** exponent);
  };
}

/** Transforms all parameters and renders the prompts again. Drops replies, whose reasons describe the original. */
export function transformedRun(run: SourceRun, symmetry: Symmetry, scale: Scale = identity): SourceRun {
  requireSilentPrompts(run);
  const images = new Map<BufferEntry, BufferEntry>(
    run.recorded.entries.map((entry) => [
      entry,
      { ...entry, parameters: transformed(entry.parameters, symmetry, run.family) },
    ]),
  );
  const recorded = { ...run.recorded, entries: [...images.values()] };
  return {
    ...run,
    recorded,
    steps: renderedSteps({ ...run, recorded }, (entry) => images.get(entry)!, scale),
  };
}

function renderedSteps(
  run: SourceRun,
  image: (entry: BufferEntry) => BufferEntry,
  scale: Scale,
): readonly Step[] {
  const { config, environment, family, recorded } = run;
  const prompts = requirePrompts(run);
  const buffer = createReplayBuffer();
  const unplayed = { ...recorded, entries: [], episodes: [], calls: [], events: [], iteration: 0 };
  const prompter = new Prompter({
    ...{ config, demonstrations: [], environment, family, prompts },
    ...{ buffer, recorded: unplayed },
  });
  let shown = 0;
  return run.steps.map((step) => {
    const end = recorded.entries.findIndex(({ iteration }) => iteration >= step.iteration);
    const rescaled = recorded.entries
      .slice(shown, end)
      .map((entry) => ({ ...entry, score: scale(entry.score) }));
    buffer.append(rescaled);
    shown = end;
    const prompt = prompter.messages(step.iteration);
    return {
      ...step,
      prompt,
      promptHash: promptHash(prompt),
      promptTokens: undefined,
      incumbent: step.incumbent && image(step.incumbent),
      proposals: step.proposals.map(({ entry }) => ({ entry: image(entry), reply: '' })),
    };
  });
}

function requirePrompts({ prompts, name, config }: SourceRun) {
  if (prompts !== undefined) return prompts;
  throw new UserError({
    field: '--augment',
    message: `the prompt templates of ${name} are missing or broken`,
    value: config.prompts.set,
    remedy: 'restore them, exclude this run, or omit --augment',
  });
}

function requireSilentPrompts({ name, config: { demonstrations, prompts, memory } }: SourceRun): void {
  const refuse = (field: string, value: unknown, message: string, alternatives: readonly string[]) => {
    throw new UserError({
      field: '--augment',
      message: `${message}: ${name} sets ${field}`,
      value,
      alternatives,
      remedy: 'exclude such runs, or omit --augment',
    });
  };
  if (!silentSets.includes(prompts.set)) {
    const message = 'prompts that describe the environment would be wrong in augmented copies';
    refuse('prompts.set', prompts.set, message, silentSets);
  }
  if (memory.trajectories !== 'none') {
    const message =
      'augmented copies change observations and actions, but trajectories would show the original ones';
    refuse('memory.trajectories', memory.trajectories, message, ['none']);
  }
  if (demonstrations !== undefined) {
    const message =
      'augmented copies change observations and actions, but demonstrations would show the original ones';
    refuse('demonstrations', demonstrations.from, message, ['none']);
  }
  if (prompts.conversation !== 'fresh' && prompts.conversation.turns > 1) {
    const message = "earlier replies of a conversation can't be rendered again";
    refuse('prompts.conversation', prompts.conversation, message, ['fresh']);
  }
}
