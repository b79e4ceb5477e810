/** Trains a run's adapter every few iterations: rewards → advantages → optimizer steps → adapter. */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { append } from '../../../src/base/append.js';
import { UserError } from '../../../src/base/errors.js';
import type { AdaptConfig } from '../../../src/config/learning/adapt.js';
import { type ObjectiveSettings, objectiveSchema } from '../../../src/config/learning/objective.js';
import type {
  AdaptingConfig,
  Learner,
  ObservedAnswer,
  ObservedIteration,
} from '../../../src/experiment/learner.js';
import type { ChatMessage } from '../../../src/models/language-model.js';
import { createGenerator, deriveSeeds, shuffled } from '../../../src/random/generator.js';
import { learningSeed } from '../../../src/random/seeds.js';
import type { Adaptation } from '../../../src/runs/events.js';
import { runFiles } from '../../../src/runs/reader.js';
import { largest, mean, standardDeviation } from '../../../src/statistics/descriptive.js';
import {
  type CheckpointOwner,
  checkpointThreads,
  freshState,
  readCheckpoint,
  type TrainingState,
  writeCheckpoint,
} from '../../engine/checkpoint.js';
import { writeAdapter } from '../../engine/first-values.js';
import type { LoraSettings } from '../../engine/trainable.js';
import type { Parameter } from '../../engine/training-session.js';
import type { PolicyObjective, Sampled } from '../../train/objectives/sampled.js';
import { isFlat } from '../advantages.js';
import { credited } from '../credit.js';
import { type ImprovementSettings, improve, readBefore, type Sessions } from '../improvement.js';
import { type Episode, episodeOf, type Group } from '../learning/episode.js';
import { identityOf } from '../online.js';
import { type OpenedTerm, rewardsOf } from '../proposer/reward.js';

interface LearnerParts {
  readonly config: AdaptingConfig;
  readonly run: string;
  readonly lora: LoraSettings;
  /** Initial values; never modified. */
  readonly parameters: readonly Parameter[];
  readonly objective: PolicyObjective;
  readonly sessions: Sessions;
  /** True if the objective penalizes the KL divergence from the initial policy. */
  readonly refers: boolean;
  readonly threads: number;
  readonly rewarding: Omit<Rewarding, 'shuffle'>;
  readonly milliseconds: () => number;
}

/** The objective to optimize. Imitation is REINFORCE on the answers to imitate, each with advantage 1. */
export function objectiveOf({ objective }: AdaptConfig): ObjectiveSettings {
  if (objective.kind !== 'imitation') return objective;
  return objectiveSchema.parse({ kind: 'reinforce', importance: { kind: 'none' } });
}

export class RunLearner implements Learner {
  readonly #parts: LearnerParts;
  readonly #states: LearnerStates;
  readonly #owner: CheckpointOwner;
  readonly #state: TrainingState;
  #pending: RewardedGroup[] = [];
  #iteration: number;

  /** @param completed the last complete iteration of the run */
  constructor(parts: LearnerParts, completed: number) {
    const { config, parameters, run, threads } = parts;
    this.#parts = parts;
    this.#states = new LearnerStates(run);
    this.#owner = { identity: identityOf([config.adapt, config.seed], parameters), threads };
    const found = this.#states.restore(completed, parameters, this.#owner.identity);
    this.#iteration = found?.iteration ?? 0;
    // Copy the values, because the originals also serve as the reference.
    this.#state =
      found?.state ?? freshState(parameters.map((one) => ({ ...one, values: one.values.slice() })));
    // A killed process may have left an adapter that is newer than the state, or incomplete.
    rmSync(this.#directory, { recursive: true, force: true });
    if (this.#state.step > 0) this.#writeAdapter();
  }

  get iteration(): number {
    return this.#iteration;
  }

  get adapter(): string | undefined {
    return this.#state.step > 0 ? this.#directory : undefined;
  }

  async observe(observed: ObservedIteration): Promise<Adaptation | undefined> {
    const { adapt, seed } = this.#parts.config;
    const { iteration } = observed;
    const shuffle = adapt.reward.shuffle ? deriveSeeds(learningSeed(seed), [iteration], 1)[0]! : undefined;
    append(this.#pending, rewardedGroups(observed, { ...this.#parts.rewarding, shuffle }));
    this.#iteration = iteration;
    if (iteration % adapt.every !== 0) return undefined;
    const groups = this.#pending;
    this.#pending = [];
    return this.#update(iteration, groups);
  }

  close(): Promise<void> {
    return this.#parts.sessions.close();
  }

  async #update(iteration: number, groups: readonly RewardedGroup[]): Promise<Adaptation> {
    const { config, milliseconds } = this.#parts;
    const started = milliseconds();
    const before = this.#state.step;
    // A group with equal rewards teaches nothing and would only dilute the others (DAPO), so drop it.
    const informative = groups.filter(({ rewards }) => !isFlat(rewards));
    const sequences = await this.#credited(informative);
    const done = sequences.length > 0 ? await this.#improve(sequences) : undefined;
    if (done !== undefined) {
      this.#states.write(iteration, this.#state, this.#owner);
      this.#writeAdapter();
    }
    return {
      update: iteration / config.adapt.every,
      ...figuresOf(groups),
      steps: this.#state.step - before,
      ...(done && {
        ...{ loss: done.loss, gradientNorm: done.gradientNorm, entropy: done.entropy },
        ...(done.kl !== undefined && { kl: done.kl }),
        mismatch: done.mismatch,
      }),
      seconds: (milliseconds() - started) / 1000,
    };
  }

  async #credited(groups: readonly RewardedGroup[]): Promise<readonly Sampled[]> {
    const { config, parameters, refers, sessions } = this.#parts;
    const { advantages: scale, objective } = config.adapt;
    const imitates = objective.kind === 'imitation';
    const kept = imitates ? groups.map(bestOf) : groups;
    const sequences = kept.flatMap(({ episodes }) => episodes.flatMap((episode) => episode.sequences));
    const read = await readBefore(
      sessions,
      this.#state.parameters,
      sequences,
      refers ? parameters : undefined,
      this.#settings,
    );
    const sampled = imitates
      ? sequences.map((sequence) => ({ ...read(sequence), advantages: 1 }))
      : credited(
          kept.map(({ episodes }) => episodes),
          kept.map(({ rewards }) => rewards),
          read,
          { objective: objectiveOf(config.adapt), scale, invalid: 0 },
        );
    // If the answer format forced every token of a sequence, there is nothing to train.
    return sampled.filter(({ trained }) => trained?.includes(true) !== false);
  }

  #improve(sequences: readonly Sampled[]) {
    const { objective, sessions } = this.#parts;
    return improve(sessions, objective, this.#state, sequences, this.#settings);
  }

  get #settings(): ImprovementSettings {
    const { adapt, iterations, seed } = this.#parts.config;
    const { batchTokens, epochs, every, learningRate, maxGradientNorm, weightDecay } = adapt;
    return {
      ...{ batchTokens, epochs, minibatches: 1, learningRate, maxGradientNorm, seed: learningSeed(seed) },
      objective: objectiveOf(adapt),
      schedule: {
        kind: 'constant',
        warmupSteps: 0,
        totalSteps: Math.floor(iterations / every) * epochs,
        floor: 0,
      },
      adamw: { betas: [0.9, 0.999], epsilon: 1e-8, weightDecay },
    };
  }

  get #directory(): string {
    return join(this.#parts.run, runFiles.adapter);
  }

  #writeAdapter(): void {
    const { config, lora } = this.#parts;
    writeAdapter(this.#directory, this.#state.parameters, lora, config.model.path);
  }
}

function bestOf({ episodes, rewards }: RewardedGroup): RewardedGroup {
  const best = rewards.indexOf(largest(rewards));
  return { episodes: [episodes[best]!], rewards: [rewards[best]!] };
}

function figuresOf(groups: readonly RewardedGroup[]) {
  const rewards = groups.map((group) => group.rewards);
  const over = (values: readonly number[]) => (values.length === 0 ? 0 : mean(values));
  return {
    groups: groups.length,
    answers: rewards.flat().length,
    reward: over(rewards.flat()),
    spread: over(rewards.map(standardDeviation)),
    flat: over(rewards.map((group) => (isFlat(group) ? 1 : 0))),
  };
}

interface RewardedGroup {
  readonly episodes: Group;
  readonly rewards: readonly number[];
}

interface Rewarding {
  readonly terms: readonly OpenedTerm[];
  readonly environment: string;
  /** Seed for permuting the rewards within each group; undefined leaves them in place. */
  readonly shuffle: number | undefined;
  readonly encode: (messages: readonly ChatMessage[]) => readonly number[];
}

/** Computes the rewards of the answers to each prompt. Skips prompts with a single answer, which can't be compared. */
export function rewardedGroups(
  { history, prompts }: ObservedIteration,
  { encode, environment, shuffle, terms }: Rewarding,
): readonly RewardedGroup[] {
  const random = shuffle === undefined ? undefined : createGenerator(shuffle);
  return prompts
    .filter(({ answers }) => answers.length > 1)
    .map(({ answers, messages }) => {
      const earned = rewardsOf({ history, candidates: answers, environment }, terms);
      const rewards = random === undefined ? earned : shuffled(earned, random);
      const promptIds = encode(messages);
      return {
        rewards,
        episodes: answers.map((answer, i) => episodeOfAnswer(promptIds, answer, rewards[i]!)),
      };
    });
}

function episodeOfAnswer(
  promptIds: readonly number[],
  { kind, sampled }: ObservedAnswer,
  reward: number,
): Episode {
  const { ids, allowed = ids.map(() => null) } = sampled;
  const reply = { ...sampled, promptIds, allowed };
  return episodeOf({ turns: [{ reply, reward, valid: kind === 'evaluated' }], truncated: false });
}

/** Number of states to keep. An iteration may reach the disk only after the next begins, so a crash can undo two. */
const kept = 3;

const stateFile = /^after-(\d+)\.safetensors$/;

export class LearnerStates {
  readonly #folder: string;

  constructor(run: string) {
    this.#folder = join(run, 'learning');
  }

  /** Number of threads used by the latest update; undefined if its state is missing or unreadable. */
  get threads(): number | undefined {
    const [last] = this.#iterations();
    return last === undefined ? undefined : orNothing(() => checkpointThreads(this.#file(last)));
  }

  write(iteration: number, state: TrainingState, owner: CheckpointOwner): void {
    mkdirSync(this.#folder, { recursive: true });
    writeCheckpoint(this.#file(iteration), state, owner);
    for (const old of this.#iterations().slice(kept)) rmSync(this.#file(old));
  }

  /** The latest usable state up to iteration `completed`; removes later or unusable states, and unfinished files. */
  restore(
    completed: number,
    parameters: readonly Parameter[],
    identity: string,
  ): { readonly iteration: number; readonly state: TrainingState } | undefined {
    if (!existsSync(this.#folder)) return undefined;
    for (const name of readdirSync(this.#folder)) if (!stateFile.test(name)) rmSync(join(this.#folder, name));
    for (const iteration of this.#iterations()) {
      const file = this.#file(iteration);
      const state =
        iteration > completed ? undefined : orNothing(() => readCheckpoint(file, parameters, identity));
      if (state !== undefined) return { iteration, state };
      rmSync(file);
    }
    return undefined;
  }

  #iterations(): readonly number[] {
    if (!existsSync(this.#folder)) return [];
    return readdirSync(this.#folder)
      .flatMap((name) => stateFile.exec(name)?.[1] ?? [])
      .map(Number)
      .toSorted((a, b) => b - a);
  }

  #file = (iteration: number) => join(this.#folder, `after-${iteration}.safetensors`);
}

/** Treats a state that can't be read, e.g. after a system crash, as missing; it is recomputed from the log. */
function orNothing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
