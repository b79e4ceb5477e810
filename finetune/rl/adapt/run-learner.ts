/** Trains a run's adapter every few iterations: rewards → advantages → optimizer steps → adapter. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { append } from '../../../src/base/append.js';
import type { AdaptConfig } from '../../../src/config/learning/adapt.js';
import { type ObjectiveSettings, objectiveSchema } from '../../../src/config/learning/objective.js';
import type { AdaptingConfig, Learner, ObservedIteration } from '../../../src/experiment/learner.js';
import { deriveSeeds } from '../../../src/random/generator.js';
import { learningSeed } from '../../../src/random/seeds.js';
import type { Adaptation } from '../../../src/runs/events.js';
import { runFiles } from '../../../src/runs/reader.js';
import { largest, mean, standardDeviation } from '../../../src/statistics/descriptive.js';
import type { CheckpointOwner, TrainingState } from '../../engine/checkpoint.js';
import { writeAdapter } from '../../engine/first-values.js';
import { zeroMoments } from '../../engine/optimisers.js';
import type { LoraSettings } from '../../engine/trainable.js';
import type { Parameter } from '../../engine/training-session.js';
import type { PolicyObjective, Sampled } from '../../train/objectives/sampled.js';
import { isFlat } from '../advantages.js';
import { credited } from '../credit.js';
import { type ImprovementSettings, improve, readBefore, type Sessions } from '../improvement.js';
import { identityOf } from '../online.js';
import { type RewardedGroup, type Rewarding, rewardedGroups } from './groups.js';
import { LearnerStates } from './states.js';

/** Everything a `RunLearner` needs. */
export interface LearnerParts {
  readonly config: AdaptingConfig;
  /** Directory of the run. */
  readonly run: string;
  readonly lora: LoraSettings;
  /** Initial values; never modified. */
  readonly parameters: readonly Parameter[];
  readonly objective: PolicyObjective;
  readonly sessions: Sessions;
  /** True if the KL divergence from the initial policy is penalized. */
  readonly refers: boolean;
  readonly threads: number;
  readonly rewarding: Omit<Rewarding, 'shuffle'>;
  readonly milliseconds: () => number;
  readonly close: () => Promise<void>;
}

/** The objective to train. Imitation is implemented as REINFORCE on the answers to imitate, each with advantage 1. */
export function objectiveOf({ objective }: AdaptConfig): ObjectiveSettings {
  if (objective.kind !== 'imitation') return objective;
  return objectiveSchema.parse({ kind: 'reinforce', importance: { kind: 'none' } });
}

export class RunLearner implements Learner {
  readonly #parts: LearnerParts;
  readonly #states: LearnerStates;
  readonly #owner: CheckpointOwner;
  readonly #state: TrainingState;
  /** Groups since the last update. */
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
    this.#state = found?.state ?? firstState(parameters);
    // A killed process may have left a newer or incomplete adapter.
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
    return this.#parts.close();
  }

  async #update(iteration: number, groups: readonly RewardedGroup[]): Promise<Adaptation> {
    const { config, milliseconds } = this.#parts;
    const started = milliseconds();
    const before = this.#state.step;
    // Groups with equal rewards teach nothing; dropping them keeps them from diluting the others (DAPO).
    const telling = groups.filter(({ rewards }) => !isFlat(rewards));
    const sequences = await this.#credited(telling);
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

  /** The answers to train on, with their advantages. */
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
    // Sequences in which constraints left no choice have nothing to train.
    return sampled.filter(({ trained }) => trained?.includes(true) !== false);
  }

  #improve(sequences: readonly Sampled[]) {
    const { objective, sessions } = this.#parts;
    return improve(sessions, objective, this.#state, sequences, this.#settings);
  }

  get #settings(): ImprovementSettings {
    const { adapt, iterations, seed } = this.#parts.config;
    const { batchTokens, epochs, learningRate, maxGradientNorm, weightDecay } = adapt;
    return {
      ...{ batchTokens, epochs, minibatches: 1, learningRate, maxGradientNorm, seed: learningSeed(seed) },
      objective: objectiveOf(adapt),
      schedule: { kind: 'constant', warmupSteps: 0, totalSteps: iterations * epochs, floor: 0 },
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

/** The answer with the highest reward; on ties, the first. */
function bestOf({ episodes, rewards }: RewardedGroup): RewardedGroup {
  const best = rewards.indexOf(largest(rewards));
  return { episodes: [episodes[best]!], rewards: [rewards[best]!] };
}

/** Initial state. Copies the values, because the originals also serve as the reference. */
const firstState = (parameters: readonly Parameter[]): TrainingState => ({
  parameters: parameters.map((parameter) => ({ ...parameter, values: parameter.values.slice() })),
  moments: parameters.map(zeroMoments),
  ...{ step: 0, best: undefined, evaluationsWithoutGain: 0 },
});

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
