/** Plays episodes with an agent, many side by side: each turn asks for the replies of all that go on. */
import { append } from '../base/append.js';
import type { Action, BoxSpace, Observation, Step, TextInfo } from '../environments/environment.js';
import { estimatePromptTokens } from '../prompting/token-estimate.js';
import { createGenerator, deriveSeeds, type RandomGenerator } from '../random/generator.js';
import { type Agent, defaultAskAgain, type Moment } from './agent.js';
import type { Arena } from './arena.js';
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
  /** What a text world told the player to do. */
  readonly objective: string | undefined;
  /** A text world's, at the end. */
  readonly info: TextInfo | undefined;
}

export interface GameSetting<R extends Reply> {
  readonly arena: Arena;
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
  const { batch } = setting.arena;
  const games: RunningGame<R>[] = [];
  for (let first = 0; first < seeds.length; first += batch.slots) {
    const started = seeds.slice(first, first + batch.slots);
    const observations = await batch.reset(started.map(({ start }) => start));
    const wave = started.map(
      ({ sampling }, slot) => new RunningGame(setting, slot, first + slot, sampling, observations[slot]!),
    );
    append(games, wave);
    let running = wave;
    while (running.length > 0) {
      const replies = await setting.speaker.reply(running.map((game) => game.conversation()));
      const acting = running.flatMap((game, i) => {
        const action = game.take(replies[i]!);
        return action === undefined ? [] : [{ game, action }];
      });
      const moves = acting.map(({ game, action }) => ({ slot: game.slot, action }));
      const steps = moves.length === 0 ? [] : await batch.step(moves);
      for (const [i, { game, action }] of acting.entries()) game.stepped(action, steps[i]!);
      running = running.filter((game) => !game.ended);
    }
  }
  return games.map((game) => game.result());
}

class RunningGame<R extends Reply> {
  /** Its place among those that are played at the same time. */
  readonly slot: number;
  readonly #setting: GameSetting<R>;
  readonly #number: number;
  readonly #seed: number;
  readonly #random: RandomGenerator;
  readonly #objective: string | undefined;
  readonly #turns: Turn<R>[] = [];
  #choices: readonly Choice[] | undefined;
  #info: TextInfo | undefined;
  #message = '';
  #steps = 0;
  /** Replies in a row that named no action. */
  #unclear = 0;
  /** The reply that the step follows. */
  #said: Pick<Turn<R>, 'message' | 'reply' | 'valid'> | undefined;
  #terminated = false;
  #truncated = false;

  constructor(
    setting: GameSetting<R>,
    slot: number,
    number: number,
    sampling: number,
    observation: Observation,
  ) {
    this.slot = slot;
    this.#setting = setting;
    this.#number = number;
    this.#seed = sampling;
    this.#random = createGenerator(sampling, [1]);
    const objective = setting.arena.batch.objective?.(slot);
    const isSaid = objective === undefined || says(observation, objective);
    this.#objective = objective ?? (isTextWorld(setting.arena) ? String(observation) : undefined);
    this.#see(isSaid ? observation : `${objective}\n${observation}`);
  }

  get ended(): boolean {
    return this.#terminated || this.#truncated;
  }

  conversation(): Conversation<R> {
    const turn = this.#turns.length;
    const before = this.#shown();
    return {
      system: this.#system(before),
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

  /** @returns the action that follows; undefined where no step does */
  take(reply: R): Action | undefined {
    const { agent, asks = 2, fallback } = this.#setting;
    const message = this.#message;
    const named = agent.extractAction(reply.text, this.#choices);
    const valid = named !== undefined;
    this.#unclear = valid ? 0 : this.#unclear + 1;
    const isAsked = !valid && fallback === 'ask-again' && this.#unclear <= asks;
    const action = named ?? (isAsked ? undefined : this.#fallback());
    if (action !== undefined) {
      this.#said = { message, reply, valid };
      return action;
    }
    if (isAsked) this.#message = agent.askAgain?.(this.#choices) ?? defaultAskAgain(this.#choices);
    else this.#terminated = true;
    this.#add({ message, reply, valid, reward: 0 });
    return undefined;
  }

  /** The step that the last reply led to. */
  stepped(action: Action, { observation, reward, terminated, truncated }: Step): void {
    this.#unclear = 0;
    this.#steps++;
    this.#terminated = terminated;
    this.#truncated = truncated;
    this.#see(observation, reward);
    this.#add({ ...this.#said!, action, reward });
  }

  #add(turn: Turn<R>): void {
    this.#turns.push(turn);
    this.#truncated ||= this.#turns.length >= this.#setting.maxTurns && !this.#terminated;
  }

  #see(observation: Observation, reward?: number): void {
    const { agent, arena } = this.#setting;
    const info = arena.batch.info?.(this.slot);
    this.#info = info;
    this.#choices = agent.choices?.(info) ?? listedChoices(arena.actionSpace, undefined, info);
    const moment: Moment = { choices: this.#choices, info, steps: this.#steps, reward };
    this.#message = agent.formatObservation(observation, moment);
  }

  /** What the first turn says of the task is said here where that turn is not shown. */
  #system(before: readonly Turn<R>[]): string {
    const isWhole = before.length === this.#turns.length;
    return this.#setting.agent.systemPrompt(isWhole ? undefined : this.#objective);
  }

  /**
   * The latest turns that may be shown: so many, and as many as the budget of tokens holds. Replies that named no
   * action since the last step always are: the observation that is asked about stands before them.
   */
  #shown(): readonly Turn<R>[] {
    const { history, historyTokens, speaker } = this.#setting;
    const most = Math.max(history, this.#unclear);
    let shown = most === 0 ? [] : this.#turns.slice(-most);
    if (historyTokens === undefined) return shown;
    const count = (before: readonly Turn<R>[]) => {
      const messages = messagesOf({ system: this.#system(before), before, message: this.#message });
      return speaker.count?.(messages) ?? estimatePromptTokens(messages);
    };
    let [fewest, atMost] = [Math.min(this.#unclear, shown.length), shown.length];
    while (fewest < atMost) {
      const middle = Math.ceil((fewest + atMost) / 2);
      if (count(shown.slice(shown.length - middle)) <= historyTokens) fewest = middle;
      else atMost = middle - 1;
    }
    shown = shown.slice(shown.length - fewest);
    return shown;
  }

  /** Undefined where the episode ends, or the actions can't be drawn from. */
  #fallback(): Action | undefined {
    const { fallback } = this.#setting;
    if (fallback === 'end') return undefined;
    const space = this.#setting.arena.actionSpace;
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
      objective: this.#objective,
      info: this.#info,
    };
  }
}

/** Whether texts are read there, and any may be answered: the first one says what is to be done. */
const isTextWorld = ({ actionSpace, observationSpace }: Arena): boolean =>
  observationSpace.kind === 'text' && actionSpace.kind === 'text' && actionSpace.choices === undefined;

/** Compiled games break their lines elsewhere than their `.json`. */
const says = (observation: Observation, objective: string): boolean =>
  oneLine(String(observation)).includes(oneLine(objective));
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Uniform within the bounds; undefined where there are none. */
function randomVector({ low, high }: BoxSpace, random: RandomGenerator): readonly number[] | undefined {
  const vector = low.map((from, i) => from + (high[i]! - from) * random.random());
  return vector.every((value) => Number.isFinite(value)) ? vector : undefined;
}
