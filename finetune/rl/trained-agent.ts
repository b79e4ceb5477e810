/** An agent that learns while your program plays: act, assign rewards, end the episode. */
import { resolve } from 'node:path';
import type { Conversation, Exchange } from '../../src/agents/speaker.js';
import { UserError } from '../../src/base/errors.js';
import { deriveSeeds } from '../../src/base/random/generator.js';
import { parseSettings } from '../../src/base/settings/settings.js';
import type { Action, Observation } from '../../src/environments/environment.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { freshState, type TrainingState } from '../engine/checkpoint.js';
import type { SampledReply } from '../engine/sampler.js';
import { writeResult } from '../train/method.js';
import { modelParameters, type OpenedTrainer, openTrainer, planLearning } from './assemble.js';
import { type Episode, episodeOf } from './learning/episode.js';
import { learnFrom } from './online.js';
import { type RlConfig, type RlInput, rlKind } from './rl-config.js';

/** Your functions that connect the model with your environment. */
export interface AgentFunctions<A extends Action = Action> {
  /** System prompt. Default: none. */
  systemPrompt?(): string;
  formatObservation(observation: Observation): string;
  /** Parses the action from a reply; undefined if there is none. */
  extractAction(reply: string): A | undefined;
}

/** The settings of `finetune rl` that apply here. The objective is always PPO. */
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
  /** Model directory, or GGUF file with method `lora`; `package:models/tiny-bytes` suits `method: {kind: 'scratch'}`. */
  readonly model: string;
  /** Episodes per update. Default: 16. */
  readonly batch?: number;
  readonly objective?: Omit<Extract<RlInput['objective'], { kind: 'ppo' }>, 'kind'>;
  readonly agent?: Pick<NonNullable<RlInput['agent']>, 'history' | 'maxTokens' | 'temperature'>;
  /** Reward added for each reply without an action. Default: 0. */
  readonly invalid?: number;
}

/** Statistics of an update and its episodes; see `Improvement`. */
export type AgentUpdate = Awaited<ReturnType<typeof learnFrom>> & {
  /** Number of updates so far, including this one. */
  readonly number: number;
};

/** Result of `endEpisode`. */
export interface EndedEpisode {
  /** Undiscounted sum of the rewards. */
  readonly return: number;
  /** Number of replies. */
  readonly turns: number;
  /** Set if the episode completed a batch, so the model was updated. */
  readonly update?: AgentUpdate;
}

/** First spawn keys for sampling, and for shuffling returns, which PPO never does. */
const streams = { samples: 20, permutation: 21 } as const;

/**
 * Opens a model that acts and learns by PPO. Deterministic: the same settings, observations and rewards give
 * the same actions.
 * @param cwd base directory for a relative model path
 * @throws UserError if the settings are invalid or the model is unusable
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
    ...rest,
    model,
    groups,
    groupSize: 1,
    agent,
    environment: 'custom',
    objective: { kind: 'ppo', ...objective },
    reward: { invalid },
  });
  const config: RlConfig = {
    ...parsed,
    model: modelDirectory(model, cwd, 'model'),
    environment: { id: 'custom', options: {} },
    output: resolve(cwd, 'tuned', 'agent'),
  };
  return new TrainedAgent(functions, new Learner(config, await openTrainer(planLearning(config))));
}

/** The model of one or several agents, and the episodes that it learns from next. */
class Learner {
  readonly config: RlConfig;
  readonly trainer: OpenedTrainer;
  readonly #state: TrainingState;
  #batch: Episode[] = [];
  #updates = 0;
  /** Replies in progress, which an update waits for. */
  readonly #replies = new Set<Promise<unknown>>();
  /** The update in progress, which replies wait for. */
  #update: Promise<AgentUpdate> | undefined;
  agents = 0;

  constructor(config: RlConfig, trainer: OpenedTrainer) {
    this.config = config;
    this.trainer = trainer;
    this.#state = freshState(trainer.parameters);
    trainer.sampler.refresh(trainer.parameters);
  }

  async reply(conversation: Conversation<SampledReply>): Promise<SampledReply> {
    while (this.#update !== undefined) await this.#update;
    const replying = this.trainer.sampler.reply([conversation]);
    this.#replies.add(replying);
    try {
      return (await replying)[0]!;
    } finally {
      this.#replies.delete(replying);
    }
  }

  /** @returns the update, if this episode completes a batch */
  async add(episode: Episode): Promise<AgentUpdate | undefined> {
    while (this.#update !== undefined) await this.#update;
    this.#batch.push(episode);
    if (this.#batch.length < this.config.groups) return undefined;
    const groups = this.#batch.map((one) => [one]);
    this.#batch = [];
    this.#update = this.#learn(groups);
    try {
      return await this.#update;
    } finally {
      this.#update = undefined;
    }
  }

  async #learn(groups: readonly (readonly Episode[])[]): Promise<AgentUpdate> {
    await Promise.allSettled(this.#replies);
    const permutation = deriveSeeds(this.config.seed, [streams.permutation, this.#updates], 1)[0]!;
    const learned = await learnFrom(this.trainer, this.#state, groups, permutation);
    this.trainer.sampler.refresh(this.#state.parameters);
    this.#updates++;
    return { number: this.#updates, ...learned };
  }

  save(output: string): Promise<string> {
    const { decoder, method } = planLearning({ ...this.config, output });
    const parameters = modelParameters(decoder, this.trainer.trainable, this.#state.parameters);
    return writeResult({ model: this.config.model, method, output }, parameters);
  }
}

export class TrainedAgent<A extends Action = Action> {
  readonly #functions: AgentFunctions<A>;
  readonly #learner: Learner;
  /** 0-based index among the agents of the model. */
  readonly #index: number;
  #turns: (Exchange<SampledReply> & { reward: number; valid: boolean })[] = [];
  #episodes = 0;

  constructor(functions: AgentFunctions<A>, learner: Learner) {
    this.#functions = functions;
    this.#learner = learner;
    this.#index = learner.agents++;
  }

  /**
   * Creates another agent of the same model, with its own episodes, to play a game in parallel or another role in the
   * same game.
   * Agents that act at the same time share forward passes, and their episodes form common batches.
   * @param functions default: this agent's functions
   */
  another(): TrainedAgent<A>;
  another<B extends Action>(functions: AgentFunctions<B>): TrainedAgent<B>;
  another(functions: AgentFunctions = this.#functions): TrainedAgent {
    return new TrainedAgent(functions, this.#learner);
  }

  /** @returns the action in the model's reply; undefined if there is none */
  async act(observation: Observation): Promise<A | undefined> {
    const { agent, seed } = this.#learner.config;
    const turn = this.#turns.length;
    const before = agent.history === 0 ? [] : this.#turns.slice(-agent.history);
    const message = this.#functions.formatObservation(observation);
    const place = [streams.samples, this.#episodes, turn, ...(this.#index === 0 ? [] : [this.#index])];
    const reply = await this.#learner.reply({
      system: this.#functions.systemPrompt?.() ?? '',
      before,
      whole: before.length === turn,
      message,
      choices: undefined,
      game: this.#episodes,
      turn,
      // `GenerateOptions` requires seeds below 2³¹.
      seed: deriveSeeds(seed, place, 1)[0]! >>> 1,
    });
    const action = this.#functions.extractAction(reply.text);
    this.#turns.push({ message, reply, reward: 0, valid: action !== undefined });
    return action;
  }

  /**
   * Adds to the reward of the last reply.
   * @throws UserError if the episode has no reply yet, or the reward isn't finite
   */
  assignReward(reward: number): void {
    const last = this.#turns.at(-1);
    if (last === undefined)
      throw new UserError({ field: 'assignReward', message: 'this episode has no reply yet' });
    if (!Number.isFinite(reward))
      throw new UserError({
        field: 'assignReward',
        value: String(reward),
        message: 'must be a finite number',
      });
    last.reward += reward;
  }

  /**
   * Ends the episode and adds it to the batch. Once the batch is full, the model learns from it.
   * @param truncated true if a limit cut the episode off, so more reward might have followed
   * @throws UserError if the episode has no reply yet, or training diverges
   */
  async endEpisode(truncated = false): Promise<EndedEpisode> {
    const turns = this.#turns;
    if (turns.length === 0)
      throw new UserError({ field: 'endEpisode', message: 'this episode has no reply yet' });
    this.#turns = [];
    this.#episodes++;
    const update = await this.#learner.add(episodeOf({ turns, truncated }));
    const ended = { return: turns.reduce((sum, { reward }) => sum + reward, 0), turns: turns.length };
    return update === undefined ? ended : { ...ended, update };
  }

  /**
   * Writes the current model: its adapter if the method is `lora`, otherwise all weights.
   * @param output directory to write `adapter` or `model` into
   * @returns its path, for `model.adapter` or `model.path` in a config
   */
  save(output: string): Promise<string> {
    return this.#learner.save(output);
  }

  /** Releases the model, for all its agents. */
  close(): Promise<void> {
    return this.#learner.trainer.close();
  }
}
