import type { RandomGenerator } from '../../random/generator.js';
import type { Task, TaskStep, TextInfo, TextSpace } from '../environment.js';
import type { TextGame } from './text-game.js';

/** A text world as a task. Action: any text; an inadmissible one changes nothing. Reward: the increase in score. */
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
    const before = this.#game.score;
    const { text } = this.#game.step(command);
    const { score, won, lost } = this.#game;
    return { observation: text, reward: score - before, terminated: won || lost };
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
