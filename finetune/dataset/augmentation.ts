/**
 * Symmetries of policy classes: the same policy in an environment with reordered or negated observations and renamed
 * actions. Returns do not change, so an evaluation of parameters is one of the transformed parameters, too.
 */

import { UserError } from '../../src/base/errors.js';
import { Prompter } from '../../src/experiment/prompter.js';
import type { ParameterVector, PolicyFamily } from '../../src/policies/policy.js';
import { createGenerator, type RandomGenerator, shuffled } from '../../src/random/generator.js';
import { type BufferEntry, createReplayBuffer } from '../../src/rollout/replay-buffer.js';
import { largest, smallest } from '../../src/statistics/descriptive.js';
import { promptHash } from './example.js';
import type { SourceRun, Step } from './source-run.js';

/** A place takes the value that stood at `from`, times `sign`. */
export interface Moved {
  readonly from: number;
  readonly sign: 1 | -1;
}

export type Symmetry =
  /** Observation i of the other environment is `observations[i]` of this one, output a is `outputs[a]`. */
  | { readonly kind: 'linear'; readonly observations: readonly Moved[]; readonly outputs: readonly Moved[] }
  /** Another basis of the subspace that weights are projected from: its column j is `coordinates[j]` of this one. */
  | { readonly kind: 'projected'; readonly coordinates: readonly Moved[] }
  /** State s of the other environment is `states[s]` of this one, and its action a is `actions[a]`. */
  | { readonly kind: 'table'; readonly states: readonly number[]; readonly actions: readonly number[] };

/**
 * Draws a symmetry of a policy class, each equally likely. Signs flip only where the parameters' range is symmetric
 * about 0; those of outputs only where an output is the action itself, since a flip would reverse an argmax.
 */
export function drawSymmetry({ parameters, description }: PolicyFamily, random: RandomGenerator): Symmetry {
  const flips = parameters.low === -parameters.high;
  const moved = (count: number, flip: boolean): readonly Moved[] =>
    shuffled(Array(count).keys(), random).map((from) => ({
      from,
      sign: flip && random.random() < 0.5 ? -1 : 1,
    }));
  if (description.kind === 'module') throw unknownSymmetries(`of the policy ${description.name}`);
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
  if (description.kind === 'mlp') throw unknownSymmetries('of a network');
  const { observations, outputs, discrete } = description;
  return {
    kind: 'linear',
    observations: moved(observations, flips),
    outputs: moved(outputs, flips && !discrete),
  };
}

const unknownSymmetries = (whose: string) =>
  new UserError({
    message: `the symmetries ${whose} are not known`,
    remedy: 'leave augmentation out for runs of this policy',
  });

/** The parameters of the same policy in the other environment. */
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

/** Adding 0 turns -0 into 0: they are written alike, but are not equal. */
const signed = (sign: number, value: number): number => sign * value + 0;

/** Prompt sets that do not mention the environment: a symmetry leaves them true. */
const silentSets = ['numeric', 'compact'];

/**
 * Makes the copies `1 … count` of a run, as if it had been made in transformed environments. `seed`, the run's own seed
 * and the number of the copy fix each symmetry: a run that is made again is copied the same way.
 * @param warp whether the prompts of copies tell of their returns on another scale, too
 * @throws UserError when the run's prompts mention its environment, or can't be rendered again
 */
export function augmented(run: SourceRun, count: number, seed: number, warp = false): readonly SourceRun[] {
  return Array.from({ length: count }, (_, i) => {
    const random = createGenerator(seed, [run.manifest.seed, i + 1]);
    const symmetry = drawSymmetry(run.family, random);
    const scale = warp ? drawScale(run.recorded.entries, random) : identity;
    return { ...transformedRun(run, symmetry, scale), copy: i + 1 };
  });
}

/** A monotone map of scores. */
export type Scale = (score: number) => number;

const identity: Scale = (score) => score;

/** Largest exponent of a scale; its smallest one is the reciprocal. */
const largestExponent = 5;

/**
 * Draws how returns are told: which candidate wins is the same on every monotone scale. From the lowest to the highest
 * score of the run, a power of the way from either end, its exponent log-uniform.
 */
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

/**
 * The run with all its parameters transformed, and its prompts rendered from them by the code and the templates that
 * serve. Reasons are left out, since they describe the parameters before.
 * @param scale of the scores that the prompts tell
 */
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
    const told = recorded.entries.slice(shown, end).map((entry) => ({ ...entry, score: scale(entry.score) }));
    buffer.append(told);
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
    message: `the prompt templates of ${name} are gone or broken, so its prompts can't be rendered again`,
    value: config.prompts.set,
    remedy: 'restore them, leave this run out, or leave --augment out',
  });
}

function requireSilentPrompts({ name, config: { demonstrations, prompts, memory } }: SourceRun): void {
  const refuse = (field: string, value: unknown, message: string, alternatives: readonly string[]) => {
    throw new UserError({
      field: '--augment',
      message: `${message}: ${name} has ${field}`,
      value,
      alternatives,
      remedy: 'leave such runs out, or leave --augment out',
    });
  };
  if (!silentSets.includes(prompts.set)) {
    const message =
      'prompts that tell of the environment would be untrue with its observations and actions moved';
    refuse('prompts.set', prompts.set, message, silentSets);
  }
  if (memory.trajectories !== 'none') {
    const message = 'trajectories tell of observations and actions, which copies would move';
    refuse('memory.trajectories', memory.trajectories, message, ['none']);
  }
  if (demonstrations !== undefined) {
    const message = 'demonstrations are observations and actions, which copies would move';
    refuse('demonstrations', demonstrations.from, message, ['none']);
  }
  if (prompts.conversation !== 'fresh' && prompts.conversation.turns > 1) {
    const message = 'a conversation holds earlier replies, which can not be rendered again';
    refuse('prompts.conversation', prompts.conversation, message, ['fresh']);
  }
}
