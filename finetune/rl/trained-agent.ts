/** An agent that learns while a program of the user plays: act, assign rewards, end the episode. */
import { resolve } from 'node:path';
import type { Exchange } from '../../src/agents/speaker.js';
import { UserError } from '../../src/base/errors.js';
import type { Action, Observation } from '../../src/environments/environment.js';
import { requireRuntime } from '../../src/models/local/engine/require-runtime.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { deriveSeeds } from '../../src/random/generator.js';
import { parseSettings } from '../../src/settings/settings.js';
import type { TrainingState } from '../engine/checkpoint.js';
import { writeResult } from '../train/method.js';
import { modelParameters, type OpenedTrainer, openTrainer, planLearning } from './assemble.js';
import { type Episode, episodeOf } from './learning/episode.js';
import type { SampledReply } from './learning/reply.js';
import { freshState, learnFrom } from './online.js';
import { type RlConfig, type RlInput, rlKind } from './rl-config.js';

/** The functions that make an agent of a model. */
export interface AgentFunctions<A extends Action = Action> {
  /** What the model is told once; nothing where it is left out. */
  systemPrompt?(): string;
  formatObservation(observation: Observation): string;
  /** The action that a reply names; undefined where it names none. */
  extractAction(reply: string): A | undefined;
}

/** Settings of `finetune rl`, whose objective is PPO. */
export interface AgentTraining
  extends Partial<
    Pick<
      RlInput,
      | 'method'
      | 'seed'
      | 'epochs'
      | 'minibatches'
      | 'learningRate'
      | 'maxGradientNorm'
      | 'batchTokens'
      | 'device'
      | 'threads'
    >
  > {
  /** Directory of the model; `package:models/tiny-bytes` is a small one for `method: {kind: 'scratch'}`. */
  readonly model: string;
  /** Episodes that an update learns from. Default: 16. */
  readonly batch?: number;
  readonly objective?: Omit<Extract<RlInput['objective'], { kind: 'ppo' }>, 'kind'>;
  readonly agent?: Pick<NonNullable<RlInput['agent']>, 'history' | 'maxTokens' | 'temperature'>;
  /** Added for each reply that names no action. Default: 0. */
  readonly invalid?: number;
}

/** What an update learnt from and did; see `Improvement`. */
export type AgentUpdate = Awaited<ReturnType<typeof learnFrom>> & {
  /** Updates so far, this one included. */
  readonly number: number;
};

/** What `endEpisode` returns. */
export interface EndedEpisode {
  /** Undiscounted sum of the rewards. */
  readonly return: number;
  /** Replies. */
  readonly turns: number;
  /** Present where the episode filled the batch, so that the model has learnt. */
  readonly update?: AgentUpdate;
}

/** First spawn keys of what is sampled, and of the control that shuffles nothing here. */
const streams = { samples: 20, permutation: 21 } as const;

/**
 * Opens a model that acts and learns by PPO. Equal settings, observations and rewards give equal actions.
 * @param cwd what a relative path of the model is relative to
 * @throws UserError for what is wrong with the settings, or a model that can't be used
 */
export async function openTrainedAgent<A extends Action>(
  functions: AgentFunctions<A>,
  training: AgentTraining,
  cwd: string,
): Promise<TrainedAgent<A>> {
  requireRuntime();
  const { agent, batch: groups = 16, invalid = 0, model, objective, ...rest } = training;
  if (!Number.isInteger(groups) || groups < 1)
    throw new UserError({ field: 'batch', value: groups, message: 'must be a whole number of at least 1' });
  const parsed = parseSettings(rlKind, {
    ...{ ...rest, model, groups, groupSize: 1, agent, environment: 'custom' },
    ...{ objective: { kind: 'ppo', ...objective }, reward: { invalid } },
  });
  const config: RlConfig = {
    ...parsed,
    model: modelDirectory(model, cwd, 'model'),
    environment: { id: 'custom', options: {} },
    output: resolve(cwd, 'tuned', 'agent'),
  };
  return new TrainedAgent(functions, config, await openTrainer(planLearning(config)));
}

export class TrainedAgent<A extends Action = Action> {
  readonly #functions: AgentFunctions<A>;
  readonly #config: RlConfig;
  readonly #trainer: OpenedTrainer;
  readonly #state: TrainingState;
  #turns: (Exchange<SampledReply> & { reward: number; valid: boolean })[] = [];
  #batch: Episode[] = [];
  #episodes = 0;
  #updates = 0;

  constructor(functions: AgentFunctions<A>, config: RlConfig, trainer: OpenedTrainer) {
    this.#functions = functions;
    this.#config = config;
    this.#trainer = trainer;
    this.#state = freshState(trainer.parameters);
    trainer.sampler.refresh(trainer.parameters);
  }

  /** @returns the action that the model's reply names; undefined where it names none */
  async act(observation: Observation): Promise<A | undefined> {
    const { agent, seed } = this.#config;
    const turn = this.#turns.length;
    const before = agent.history === 0 ? [] : this.#turns.slice(-agent.history);
    const message = this.#functions.formatObservation(observation);
    const [reply] = await this.#trainer.sampler.reply([
      {
        ...{ system: this.#functions.systemPrompt?.() ?? '', before, whole: before.length === turn, message },
        ...{ choices: undefined, game: this.#episodes, turn },
        // Models take seeds below 2^31.
        seed: deriveSeeds(seed, [streams.samples, this.#episodes, turn], 1)[0]! >>> 1,
      },
    ]);
    const action = this.#functions.extractAction(reply!.text);
    this.#turns.push({ message, reply: reply!, reward: 0, valid: action !== undefined });
    return action;
  }

  /** Adds to what the last reply earns. @throws UserError before there is one */
  assignReward(reward: number): void {
    const last = this.#turns.at(-1);
    if (last === undefined)
      throw new UserError({
        field: 'assignReward',
        message: 'nothing was done in this episode that earns it',
      });
    if (!Number.isFinite(reward))
      throw new UserError({
        field: 'assignReward',
        value: String(reward),
        message: 'must be a finite number',
      });
    last.reward += reward;
  }

  /**
   * Keeps the episode; the model learns when there is a batch of them.
   * @param truncated whether a limit cut it off, so that more might have been earned
   * @throws UserError for an episode without a turn, or when the training diverges
   */
  async endEpisode(truncated = false): Promise<EndedEpisode> {
    const turns = this.#turns;
    if (turns.length === 0)
      throw new UserError({ field: 'endEpisode', message: 'nothing was done in this episode' });
    this.#turns = [];
    this.#episodes++;
    this.#batch.push(episodeOf({ turns, truncated }));
    const ended = { return: turns.reduce((sum, { reward }) => sum + reward, 0), turns: turns.length };
    return this.#batch.length < this.#config.groups ? ended : { ...ended, update: await this.#learn() };
  }

  async #learn(): Promise<AgentUpdate> {
    const groups = this.#batch.map((episode) => [episode]);
    this.#batch = [];
    const permutation = deriveSeeds(this.#config.seed, [streams.permutation, this.#updates], 1)[0]!;
    const learnt = await learnFrom(this.#trainer, this.#state, groups, permutation);
    this.#trainer.sampler.refresh(this.#state.parameters);
    this.#updates++;
    return { number: this.#updates, ...learnt };
  }

  /**
   * Writes the model as it is now: the weights, or the adapter of `method: lora`.
   * @param output directory that `adapter` or `model` is written into
   * @returns the path of it, which `model.adapter` or `model.path` of a config takes
   */
  save(output: string): Promise<string> {
    const { decoder, method } = planLearning({ ...this.#config, output });
    const parameters = modelParameters(decoder, this.#trainer.trainable, this.#state.parameters);
    return writeResult({ model: this.#config.model, method, output }, parameters);
  }

  /** Frees the model. */
  close(): Promise<void> {
    return this.#trainer.close();
  }
}
