/** An agent that learns while your program plays: act, assign rewards, end the episode. */
import { resolve } from 'node:path';
import type { Exchange } from '../../src/agents/speaker.js';
import { UserError } from '../../src/base/errors.js';
import { deriveSeeds } from '../../src/base/random/generator.js';
import { parseSettings } from '../../src/base/settings/settings.js';
import type { Action, Observation } from '../../src/environments/environment.js';
import { requireRuntime } from '../../src/models/local/engine/find-devices.js';
import { modelDirectory } from '../../src/models/local/settings.js';
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

type ConfigKeys =
  | 'method'
  | 'seed'
  | 'epochs'
  | 'minibatches'
  | 'learningRate'
  | 'maxGradientNorm'
  | 'batchTokens'
  | 'device'
  | 'threads';

/** The settings of `finetune rl` that apply here. The objective is always PPO. */
export interface AgentTraining extends Partial<Pick<RlInput, ConfigKeys>> {
  /** Model directory, or GGUF file if the method is `lora`; `package:models/tiny-bytes` suits the method `scratch`. */
  readonly model: string;
  /** Episodes per update. Default: 16. */
  readonly batch?: number;
  readonly objective?: Omit<Extract<RlInput['objective'], { kind: 'ppo' }>, 'kind'>;
  readonly agent?: Pick<NonNullable<RlInput['agent']>, 'history' | 'maxTokens' | 'temperature'>;
  /** Reward added for each reply without an action. Default: 0. */
  readonly invalid?: number;
}

/** Statistics of an update and its episodes; see `PolicyUpdateFigures`. */
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

/** First spawn key for sampling. */
const sampleStream = 20;

/**
 * Opens a model that acts and learns by PPO. The same settings, observations and rewards give the same actions.
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
  return new TrainedAgent(functions, config, await openTrainer(planLearning(config)));
}

export class TrainedAgent<A extends Action = Action> {
  readonly #functions: AgentFunctions<A>;
  readonly #config: RlConfig;
  readonly #trainer: OpenedTrainer;
  #turns: (Exchange<SampledReply> & { reward: number; valid: boolean })[] = [];
  #batch: Episode[] = [];
  #episodes = 0;

  constructor(functions: AgentFunctions<A>, config: RlConfig, trainer: OpenedTrainer) {
    this.#functions = functions;
    this.#config = config;
    this.#trainer = trainer;
    trainer.sampler.refresh(trainer.parameters);
  }

  /** @returns the action in the model's reply; undefined if there is none */
  async act(observation: Observation): Promise<A | undefined> {
    const { agent, seed } = this.#config;
    const turn = this.#turns.length;
    const before = agent.history === 0 ? [] : this.#turns.slice(-agent.history);
    const message = this.#functions.formatObservation(observation);
    const [reply] = await this.#trainer.sampler.reply([
      {
        system: this.#functions.systemPrompt?.() ?? '',
        before,
        isComplete: before.length === turn,
        message,
        choices: undefined,
        game: this.#episodes,
        turn,
        // Seeds are below 2³¹, as in runs (see `GenerateOptions`).
        seed: deriveSeeds(seed, [sampleStream, this.#episodes, turn], 1)[0]! >>> 1,
      },
    ]);
    const action = this.#functions.extractAction(reply!.text);
    this.#turns.push({ message, reply: reply!, reward: 0, valid: action !== undefined });
    return action;
  }

  /**
   * Adds to the reward of the last reply.
   * @throws UserError if the episode has no reply yet
   */
  assignReward(reward: number): void {
    const lastTurn = this.#turns.at(-1);
    if (lastTurn === undefined)
      throw new UserError({ field: 'assignReward', message: 'this episode has no reply yet' });
    lastTurn.reward += reward;
  }

  /**
   * Ends the episode and adds it to the batch. Once the batch is full, the model learns from it.
   * @param truncated true if a limit cut the episode off, so more reward might have followed
   * @throws UserError if the episode has no reply yet, training diverges, or memory runs out
   */
  async endEpisode(truncated = false): Promise<EndedEpisode> {
    const turns = this.#turns;
    if (turns.length === 0)
      throw new UserError({ field: 'endEpisode', message: 'this episode has no reply yet' });
    this.#turns = [];
    this.#episodes++;
    const episode = { return: turns.reduce((sum, { reward }) => sum + reward, 0), turns: turns.length };
    this.#batch.push(episodeOf({ turns, truncated }));
    if (this.#batch.length < this.#config.groups) return episode;
    const groups = this.#batch.map((one) => [one]);
    this.#batch = [];
    // PPO never shuffles returns, so the seed of the shuffling doesn't matter.
    const figures = await learnFrom(this.#trainer, this.#trainer.state, groups, 0);
    this.#trainer.sampler.refresh(this.#trainer.state.parameters);
    return { ...episode, update: { number: this.#trainer.state.step, ...figures } };
  }

  /**
   * Writes the current model: its adapter if the method is `lora`, otherwise all weights.
   * @param output directory to write `adapter` or `model` into
   * @returns the path of that `adapter` or `model`, for `model.adapter` or `model.path` in a config
   */
  save(output: string): Promise<string> {
    const { decoder, method } = planLearning({ ...this.#config, output });
    const parameters = modelParameters(decoder, this.#trainer.trainable, this.#trainer.state.parameters);
    return writeResult({ model: this.#config.model, method, output }, parameters);
  }

  /** Releases the model. */
  close(): Promise<void> {
    return this.#trainer.close();
  }
}
