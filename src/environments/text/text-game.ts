/** Games played with text commands, and how they are split into folds. */
import { createHash } from 'node:crypto';
import type { RandomGenerator } from '../../base/random/generator.js';
import type { Task, TaskStep, TextInfo, TextSpace } from '../environment.js';

/** Games are assigned to folds by their descriptions, so no description occurs in two folds. */
export const folds = ['train', 'dev', 'test'] as const;
type Fold = (typeof folds)[number];

/** Assigns about 80% of descriptions to `train`, 10% to `dev` and 10% to `test`. */
export function foldOf(description: string): Fold {
  const bucket = createHash('sha256').update(description).digest()[0]! % 10;
  if (bucket === 8) return 'dev';
  return bucket === 9 ? 'test' : 'train';
}

/** If each draw belongs to the fold with probability 0.1, the probability that all draws miss it is below 10^-40. */
const maxDraws = 1000;

/** Draws until a description belongs to the fold. @throws Error after 1000 draws, if descriptions vary too little */
export function drawInFold<T>(fold: Fold, draw: () => T, describe: (drawn: T) => string): T {
  for (let tries = 0; tries < maxDraws; tries++) {
    const drawn = draw();
    if (foldOf(describe(drawn)) === fold) return drawn;
  }
  throw new Error(`none of ${maxDraws} draws belongs to the fold ${fold}`);
}

/** A game played with text commands: cooking, or a TextWorld file. */
export interface TextGame extends TextInfo {
  /** Restarts the game. @returns the first observation, which states the task if it is known */
  start(): string;
  /** Executes a command. A command that isn't understood leaves the world unchanged. */
  step(command: string): TextTurn;
  /** The player's task, as stated in the first observation; undefined if unknown. */
  readonly objective?: string | undefined;
  /** Commands that win from the start; undefined if unknown. */
  readonly gold: readonly string[] | undefined;
}

export interface TextTurn {
  readonly text: string;
  /** False if the command is unknown or impossible now; a compiled game without its `.json` doesn't report this. */
  readonly understood: boolean;
}

/** A text game as a task. Any string is an action; impossible commands have no effect. Reward: gain in score. */
export class TextGameTask implements Task<string> {
  readonly observationSpace: TextSpace = { kind: 'text' };
  readonly actionSpace: TextSpace = { kind: 'text' };
  readonly #draw: (random: RandomGenerator) => TextGame;
  #game!: TextGame;

  /** @param draw creates the game of an episode */
  constructor(draw: (random: RandomGenerator) => TextGame) {
    this.#draw = draw;
  }

  reset(random: RandomGenerator): string {
    this.#game = this.#draw(random);
    return this.#game.start();
  }

  step(command: string): TaskStep {
    const previousScore = this.#game.score;
    const { text } = this.#game.step(command);
    const { score, won, lost } = this.#game;
    return { observation: text, reward: score - previousScore, terminated: won || lost };
  }

  info(): TextInfo {
    const { score, maxScore, won, lost, moves, admissible } = this.#game;
    return { score, maxScore, won, lost, moves, admissible };
  }

  gold(): readonly string[] | undefined {
    return this.#game.gold;
  }

  objective(): string | undefined {
    return this.#game.objective;
  }
}
