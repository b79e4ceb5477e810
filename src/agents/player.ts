/** Plays episodes with an agent, many side by side: each turn asks for the replies of all that go on. */
import type { Action, Environment, Observation } from '../environments/environment.js';
import { createGenerator, deriveSeeds, type RandomGenerator } from '../random/generator.js';
import type { Agent } from './agent.js';
import type { Conversation, Exchange, Reply, Speaker } from './speaker.js';

/**
 * What follows a reply that names no action: an action drawn at random, the first one, or the end of the episode, which
 * is given up.
 */
export const fallbacks = ['random', 'first', 'end'] as const;
export type Fallback = (typeof fallbacks)[number];

export interface Turn<R extends Reply = Reply> extends Exchange<R> {
  /** Absent where the reply named none and the episode ended. */
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
}

export interface GameSetting<R extends Reply> {
  /** One for each episode that is played at the same time. */
  readonly environments: readonly Environment[];
  readonly agent: Agent;
  readonly speaker: Speaker<R>;
  /** Turns before the present one that the model is shown. */
  readonly history: number;
  readonly fallback: Fallback;
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
      .map((one, i) => new RunningGame(setting, setting.environments[i]!, one));
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
  readonly #seed: number;
  readonly #random: RandomGenerator;
  readonly #turns: Turn<R>[] = [];
  #observation: Observation;
  #terminated = false;
  #truncated = false;

  constructor(setting: GameSetting<R>, environment: Environment, { start, sampling }: GameSeeds) {
    this.#setting = setting;
    this.#environment = environment;
    this.#seed = sampling;
    this.#random = createGenerator(sampling, [1]);
    this.#observation = environment.reset(start);
  }

  get ended(): boolean {
    return this.#terminated || this.#truncated;
  }

  conversation(): Conversation<R> {
    const { agent, history } = this.#setting;
    const turn = this.#turns.length;
    return {
      system: agent.systemPrompt(),
      before: this.#turns.slice(Math.max(0, turn - history)),
      whole: turn <= history,
      message: agent.formatObservation(this.#observation),
      // Models take seeds below 2^31.
      seed: deriveSeeds(this.#seed, [0, turn], 1)[0]! >>> 1,
    };
  }

  take(reply: R): void {
    const { agent, fallback, maxTurns } = this.#setting;
    const message = agent.formatObservation(this.#observation);
    const named = agent.extractAction(reply.text);
    const valid = named !== undefined;
    const action = named ?? (fallback === 'end' ? undefined : this.#chosen(fallback));
    if (action === undefined) {
      this.#turns.push({ message, reply, valid, reward: 0 });
      this.#terminated = true;
      return;
    }
    const step = this.#environment.step(action);
    this.#turns.push({ message, reply, action, valid, reward: step.reward });
    this.#observation = step.observation;
    this.#terminated = step.terminated;
    this.#truncated = step.truncated || (this.#turns.length >= maxTurns && !step.terminated);
  }

  /** Undefined where the actions can't be listed. */
  #chosen(fallback: 'random' | 'first'): Action | undefined {
    const space = this.#environment.actionSpace;
    const pick = (count: number) => (fallback === 'first' ? 0 : this.#random.integers(0, count));
    switch (space.kind) {
      case 'discrete':
        return (space.start ?? 0) + pick(space.n);
      case 'tuple':
        return space.spaces.map(({ n, start = 0 }) => start + pick(n));
      case 'text':
        return space.choices?.[pick(space.choices.length)];
      case 'box':
        return undefined;
    }
  }

  result(): Game<R> {
    return {
      turns: this.#turns,
      return: this.#turns.reduce((sum, { reward }) => sum + reward, 0),
      terminated: this.#terminated,
      truncated: this.#truncated,
    };
  }
}
