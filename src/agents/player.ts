/** Plays episodes with an agent, many in parallel: each turn requests replies for all unfinished games at once. */
import { append } from '../base/append.js';
import { createGenerator, deriveSeeds, type RandomGenerator } from '../base/random/generator.js';
import type {
  Action,
  BoxSpace,
  Environment,
  EnvironmentSpec,
  Observation,
  Step,
  TextInfo,
} from '../environments/environment.js';
import type { EpisodeBatch, RemoteEnvironment } from '../environments/remote/remote-environment.js';
import { estimatePromptTokens } from '../prompting/token-estimate.js';
import type { Agent, TurnContext } from './agent.js';
import type { Choice } from './reading.js';
import type { Fallback } from './settings.js';
import { type Conversation, type Exchange, messagesOf, type Reply, type Speaker } from './speaker.js';

export interface Turn<R extends Reply = Reply> extends Exchange<R> {
  /** Absent if no step was taken: the reply named no action, and the model was asked again or the episode ended. */
  readonly action?: Action;
  readonly valid: boolean;
  /** Reward of the step; 0 if there was none. */
  readonly reward: number;
}

export interface Game<R extends Reply = Reply> {
  readonly turns: readonly Turn<R>[];
  /** Undiscounted sum of the rewards. */
  readonly return: number;
  readonly terminated: boolean;
  readonly truncated: boolean;
  /** The latest message for the model, usually the final observation. */
  readonly last: string;
  /** The task in a text world: the stated objective or, failing that, the first observation. Undefined elsewhere. */
  readonly objective: string | undefined;
  readonly info: TextInfo | undefined;
}

export interface GameSetup<R extends Reply> {
  readonly arena: Arena;
  readonly agent: Agent;
  readonly speaker: Speaker<R>;
  readonly history: number;
  /** Maximum prompt length in tokens; the oldest turns are dropped to stay within it. */
  readonly historyTokens?: number | undefined;
  readonly fallback: Fallback;
  /** Maximum number of consecutive retries. Default: 2. */
  readonly asks?: number | undefined;
  readonly maxTurns: number;
}

/** Seeds for an episode's initial state and for sampling. Episodes with the same `start` begin the same way. */
export interface GameSeeds {
  readonly start: number;
  readonly sampling: number;
}

/** Plays one episode per pair of seeds, in order. If the speaker stops, omits the current batch and all later ones. */
export async function playGames<R extends Reply>(
  setup: GameSetup<R>,
  seeds: readonly GameSeeds[],
): Promise<readonly Game<R>[]> {
  const { batch } = setup.arena;
  const games: RunningGame<R>[] = [];
  for (let firstIndex = 0; firstIndex < seeds.length; firstIndex += batch.slotCount) {
    const waveSeeds = seeds.slice(firstIndex, firstIndex + batch.slotCount);
    const observations = await batch.reset(waveSeeds.map(({ start }) => start));
    const wave = waveSeeds.map(
      ({ sampling }, slot) => new RunningGame(setup, slot, firstIndex + slot, sampling, observations[slot]!),
    );
    let runningGames = wave;
    while (runningGames.length > 0) {
      const replies = await setup.speaker.reply(runningGames.map((game) => game.conversation()));
      if (replies === undefined) return games.map((game) => game.result());
      const actingGames = runningGames.flatMap((game, i) => {
        const action = game.handleReply(replies[i]!);
        return action === undefined ? [] : [{ game, action }];
      });
      const moves = actingGames.map(({ game, action }) => ({ slot: game.slot, action }));
      const steps = moves.length === 0 ? [] : await batch.step(moves);
      for (const [i, { game, action }] of actingGames.entries()) game.addStep(action, steps[i]!);
      runningGames = runningGames.filter((game) => !game.ended);
    }
    append(games, wave);
  }
  return games.map((game) => game.result());
}

class RunningGame<R extends Reply> {
  readonly slot: number;
  readonly #setup: GameSetup<R>;
  readonly #gameIndex: number;
  readonly #seed: number;
  readonly #random: RandomGenerator;
  readonly #objective: string | undefined;
  readonly #turns: Turn<R>[] = [];
  #choices: readonly Choice[] | undefined;
  #info: TextInfo | undefined;
  #message = '';
  #steps = 0;
  /** Number of replies that named no action since the last step. */
  #unclearCount = 0;
  /** The exchange that led to the step in progress, and whether its reply was valid. */
  #pendingTurn: Pick<Turn<R>, 'message' | 'reply' | 'valid'> | undefined;
  #terminated = false;
  #truncated = false;

  constructor(setup: GameSetup<R>, slot: number, number: number, seed: number, observation: Observation) {
    this.slot = slot;
    this.#setup = setup;
    this.#gameIndex = number;
    this.#seed = seed;
    this.#random = createGenerator(seed, [1]);
    const objective = setup.arena.batch.objective?.(slot);
    const isStated = objective === undefined || mentions(observation, objective);
    this.#objective = objective ?? (isTextWorld(setup.arena) ? String(observation) : undefined);
    this.#observe(isStated ? observation : `${objective}\n${observation}`);
  }

  get ended(): boolean {
    return this.#terminated || this.#truncated;
  }

  conversation(): Conversation<R> {
    const turn = this.#turns.length;
    const before = this.#shownTurns();
    return {
      system: this.#system(before),
      before,
      isComplete: before.length === turn,
      message: this.#message,
      // `GenerateOptions` requires seeds below 2^31.
      seed: deriveSeeds(this.#seed, [0, turn], 1)[0]! >>> 1,
      choices: this.#choices,
      game: this.#gameIndex,
      turn,
    };
  }

  /** @returns the action to take; undefined if the model is asked again or the episode ends */
  handleReply(reply: R): Action | undefined {
    const { agent, asks = 2, fallback } = this.#setup;
    const message = this.#message;
    const namedAction = agent.extractAction(reply.text, this.#choices);
    const valid = namedAction !== undefined;
    this.#unclearCount = valid ? 0 : this.#unclearCount + 1;
    const isAsked = !valid && fallback === 'ask-again' && this.#unclearCount <= asks;
    const action = namedAction ?? (isAsked ? undefined : this.#fallback());
    if (action !== undefined) {
      this.#pendingTurn = { message, reply, valid };
      return action;
    }
    if (isAsked) this.#message = agent.askAgain(this.#choices);
    else this.#terminated = true;
    this.#add({ message, reply, valid, reward: 0 });
    return undefined;
  }

  addStep(action: Action, { observation, reward, terminated, truncated }: Step): void {
    this.#unclearCount = 0;
    this.#steps++;
    this.#terminated = terminated;
    this.#truncated = truncated;
    this.#observe(observation, reward);
    this.#add({ ...this.#pendingTurn!, action, reward });
  }

  #add(turn: Turn<R>): void {
    this.#turns.push(turn);
    this.#truncated ||= this.#turns.length >= this.#setup.maxTurns && !this.#terminated;
  }

  #observe(observation: Observation, reward?: number): void {
    const { agent, arena } = this.#setup;
    const info = arena.batch.info?.(this.slot);
    this.#info = info;
    this.#choices = agent.choices(info);
    const turnContext: TurnContext = { choices: this.#choices, info, steps: this.#steps, reward };
    this.#message = agent.formatObservation(observation, turnContext);
  }

  /** Returns the system prompt; includes the objective if the first turn, which states it, is no longer shown. */
  #system(before: readonly Turn<R>[]): string {
    const isComplete = before.length === this.#turns.length;
    return this.#setup.agent.systemPrompt(isComplete ? undefined : this.#objective);
  }

  /** Selects the latest turns that fit `history` and the token limit. Retries since the last step are always shown. */
  #shownTurns(): readonly Turn<R>[] {
    const { history, historyTokens, speaker } = this.#setup;
    const maxShown = Math.max(history, this.#unclearCount);
    let turns = maxShown === 0 ? [] : this.#turns.slice(-maxShown);
    if (historyTokens === undefined) return turns;
    const countTokens = (before: readonly Turn<R>[]) => {
      const messages = messagesOf({ system: this.#system(before), before, message: this.#message });
      return speaker.count?.(messages) ?? estimatePromptTokens(messages);
    };
    let [low, high] = [Math.min(this.#unclearCount, turns.length), turns.length];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (countTokens(turns.slice(turns.length - middle)) <= historyTokens) low = middle;
      else high = middle - 1;
    }
    turns = turns.slice(turns.length - low);
    return turns;
  }

  /** Chooses the fallback action; undefined (which ends the episode) for `end`, or if no action can be chosen. */
  #fallback(): Action | undefined {
    const { fallback } = this.#setup;
    if (fallback === 'end') return undefined;
    const space = this.#setup.arena.actionSpace;
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

/** True for text observations with free-text actions; the first observation then states the task. */
const isTextWorld = ({ actionSpace, observationSpace }: Arena): boolean =>
  observationSpace.kind === 'text' && actionSpace.kind === 'text' && actionSpace.choices === undefined;

/** True if the observation contains the objective; white space of any length counts as one space. */
const mentions = (observation: Observation, objective: string): boolean =>
  oneLine(String(observation)).includes(oneLine(objective));
const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** Draws a vector uniformly within the bounds; undefined if a bound is infinite. */
function randomVector({ low, high }: BoxSpace, random: RandomGenerator): readonly number[] | undefined {
  const vector = low.map((from, i) => from + (high[i]! - from) * random.random());
  return vector.every((value) => Number.isFinite(value)) ? vector : undefined;
}

/** An environment in which agents play games in parallel, in this process or in another program. */
export interface Arena extends EnvironmentSpec {
  readonly batch: EpisodeBatch;
  close(): void | Promise<void>;
}

export function localArena(environments: readonly Environment[]): Arena {
  const [first] = environments;
  const { id, observationSpace, actionSpace, maxSteps, info, gold, objective } = first!;
  return {
    id,
    observationSpace,
    actionSpace,
    ...(maxSteps !== undefined && { maxSteps }),
    batch: {
      slotCount: environments.length,
      reset: async (seeds) => seeds.map((seed, slot) => environments[slot]!.reset(seed)),
      step: async (moves) => moves.map(({ slot, action }) => environments[slot]!.step(action)),
      ...(info && { info: (slot) => environments[slot]!.info!() }),
      ...(objective && { objective: (slot) => environments[slot]!.objective!() }),
      ...(gold && { gold: async (slot) => environments[slot]!.gold!() ?? [] }),
    },
    close() {
      for (const environment of environments) environment.close?.();
    },
  };
}

/** Wraps the first batch of a remote environment. */
export const remoteArena = (environment: RemoteEnvironment): Arena => ({
  ...environment,
  batch: environment.batches[0]!,
});
