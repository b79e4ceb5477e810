/** Plays episodes with an agent, many side by side: each turn asks for the replies of all that go on. */
import type { Action, BoxSpace, Environment, Observation, TextInfo } from '../environments/environment.js';
import { estimatePromptTokens } from '../prompting/token-estimate.js';
import { createGenerator, deriveSeeds, type RandomGenerator } from '../random/generator.js';
import { type Agent, defaultAskAgain, type Moment } from './agent.js';
import { type Choice, listedChoices } from './choices.js';
import type { Fallback } from './settings.js';
import { type Conversation, type Exchange, messagesOf, type Reply, type Speaker } from './speaker.js';

export interface Turn<R extends Reply = Reply> extends Exchange<R> {
  /** Absent where the reply named none and no step was taken: the model was asked again, or gave up. */
  readonly action?: Action;
  /** Whether the reply named the action. */
  readonly valid: boolean;
  /** The reward of the step; 0 where there was none. */
  readonly reward: number;
}

export interface Game<R extends Reply = Reply> {
  readonly turns: readonly Turn<R>[];
  /** Undiscounted sum of the rewards. */
  readonly return: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** What was to be seen at the end, as the model would have been shown it. */
  readonly last: string;
  /** Of a text world, at the end. */
  readonly info: TextInfo | undefined;
}

export interface GameSetting<R extends Reply> {
  /** One for each episode that is played at the same time. */
  readonly environments: readonly Environment[];
  readonly agent: Agent;
  readonly speaker: Speaker<R>;
  /** Turns before the present one that the model is shown. */
  readonly history: number;
  /** Tokens that a prompt may have; the oldest turns that make it longer are left out. */
  readonly historyTokens?: number | undefined;
  readonly fallback: Fallback;
  /** How often a model is asked again in a row. Default: 2. */
  readonly asks?: number | undefined;
  /** Turns after which an episode is cut, beside the environment's own limit. */
  readonly maxTurns: number;
}

/** Seeds of an episode: where it starts, and what is sampled. Episodes with the same start meet the same. */
export interface GameSeeds {
  readonly start: number;
  readonly sampling: number;
}

/** One episode for each pair of seeds, in their order. */
export async function playGames<R extends Reply>(
  setting: GameSetting<R>,
  seeds: readonly GameSeeds[],
): Promise<readonly Game<R>[]> {
  const games: RunningGame<R>[] = [];
  for (let first = 0; first < seeds.length; first += setting.environments.length) {
    const wave = seeds
      .slice(first, first + setting.environments.length)
      .map((one, i) => new RunningGame(setting, setting.environments[i]!, one, first + i));
    games.push(...wave);
    let running = wave;
    while (running.length > 0) {
      const replies = await setting.speaker.reply(running.map((game) => game.conversation()));
      for (const [i, game] of running.entries()) game.take(replies[i]!);
      running = running.filter((game) => !game.ended);
    }
  }
  return games.map((game) => game.result());
}

class RunningGame<R extends Reply> {
  readonly #setting: GameSetting<R>;
  readonly #environment: Environment;
  readonly #number: number;
  readonly #seed: number;
  readonly #random: RandomGenerator;
  readonly #turns: Turn<R>[] = [];
  #choices: readonly Choice[] | undefined;
  #info: TextInfo | undefined;
  #message = '';
  #steps = 0;
  /** Replies in a row that named no action. */
  #unclear = 0;
  #terminated = false;
  #truncated = false;

  constructor(
    setting: GameSetting<R>,
    environment: Environment,
    { start, sampling }: GameSeeds,
    number: number,
  ) {
    this.#setting = setting;
    this.#environment = environment;
    this.#number = number;
    this.#seed = sampling;
    this.#random = createGenerator(sampling, [1]);
    this.#see(environment.reset(start));
  }

  get ended(): boolean {
    return this.#terminated || this.#truncated;
  }

  conversation(): Conversation<R> {
    const turn = this.#turns.length;
    const before = this.#shown();
    return {
      system: this.#setting.agent.systemPrompt(),
      before,
      whole: before.length === turn,
      message: this.#message,
      // Models take seeds below 2^31.
      seed: deriveSeeds(this.#seed, [0, turn], 1)[0]! >>> 1,
      choices: this.#choices,
      game: this.#number,
      turn,
    };
  }

  take(reply: R): void {
    const { agent, fallback, asks = 2, maxTurns } = this.#setting;
    const message = this.#message;
    const named = agent.extractAction(reply.text, this.#choices);
    const valid = named !== undefined;
    this.#unclear = valid ? 0 : this.#unclear + 1;
    const isAsked = !valid && fallback === 'ask-again' && this.#unclear <= asks;
    const action = named ?? (isAsked ? undefined : this.#fallback());
    if (action === undefined) {
      this.#turns.push({ message, reply, valid, reward: 0 });
      if (isAsked) this.#message = agent.askAgain?.(this.#choices) ?? defaultAskAgain(this.#choices);
      else this.#terminated = true;
    } else {
      const step = this.#environment.step(action);
      this.#turns.push({ message, reply, action, valid, reward: step.reward });
      this.#unclear = 0;
      this.#steps++;
      this.#terminated = step.terminated;
      this.#truncated = step.truncated;
      this.#see(step.observation, step.reward);
    }
    this.#truncated ||= this.#turns.length >= maxTurns && !this.#terminated;
  }

  #see(observation: Observation, reward?: number): void {
    const { agent } = this.#setting;
    const info = this.#environment.info?.();
    this.#info = info;
    this.#choices = agent.choices?.(info) ?? listedChoices(this.#environment.actionSpace, undefined, info);
    const moment: Moment = { choices: this.#choices, info, steps: this.#steps, reward };
    this.#message = agent.formatObservation(observation, moment);
  }

  /** The latest turns that may be shown: so many, and as many as the budget of tokens holds. */
  #shown(): readonly Turn<R>[] {
    const { agent, history, historyTokens, speaker } = this.#setting;
    let shown = history === 0 ? [] : this.#turns.slice(-history);
    if (historyTokens === undefined) return shown;
    const count = (before: readonly Turn<R>[]) => {
      const messages = messagesOf({ system: agent.systemPrompt(), before, message: this.#message });
      return speaker.count?.(messages) ?? estimatePromptTokens(messages);
    };
    let [fewest, most] = [0, shown.length];
    while (fewest < most) {
      const middle = Math.ceil((fewest + most) / 2);
      if (count(shown.slice(shown.length - middle)) <= historyTokens) fewest = middle;
      else most = middle - 1;
    }
    shown = shown.slice(shown.length - fewest);
    return shown;
  }

  /** Undefined where the episode ends, or the actions can't be drawn from. */
  #fallback(): Action | undefined {
    const { fallback } = this.#setting;
    if (fallback === 'end') return undefined;
    const space = this.#environment.actionSpace;
    const pick = (count: number) => (fallback === 'first' ? 0 : this.#random.integers(0, count));
    if (space.kind === 'tuple') return space.spaces.map(({ n, start = 0 }) => start + pick(n));
    if (space.kind === 'box') return fallback === 'first' ? undefined : randomVector(space, this.#random);
    const { length } = this.#choices ?? [];
    return length === 0 ? undefined : this.#choices![pick(length)]!.action;
  }

  result(): Game<R> {
    return {
      turns: this.#turns,
      return: this.#turns.reduce((sum, { reward }) => sum + reward, 0),
      terminated: this.#terminated,
      truncated: this.#truncated,
      last: this.#message,
      info: this.#info,
    };
  }
}

/** Uniform within the bounds; undefined where there are none. */
function randomVector({ low, high }: BoxSpace, random: RandomGenerator): readonly number[] | undefined {
  const vector = low.map((from, i) => from + (high[i]! - from) * random.random());
  return vector.every((value) => Number.isFinite(value)) ? vector : undefined;
}
