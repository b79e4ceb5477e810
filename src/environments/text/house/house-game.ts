/** A house with a task: goals that count once reached, and mistakes that end the game. */
import type { TextGame, TextTurn } from '../text-game.js';
import type { Deed } from './commands.js';
import { House } from './house.js';
import type { HousePlan } from './plan.js';
import { deedText, roomText } from './words.js';

export interface HouseTask {
  readonly plan: HousePlan;
  /** The player's task. */
  readonly objective: string;
  /** Each goal earns the same share of the score once it first holds. */
  readonly goals: readonly ((house: House) => boolean)[];
  /** Conditions under which the game is lost, each with the text that says why. */
  readonly mistakes: readonly { readonly holds: (house: House) => boolean; readonly text: string }[];
  /** Why the task refuses a deed that the house allows; undefined if it doesn't. */
  refuses?(house: House, deed: Deed): string | undefined;
  /** Task-specific effects of a deed. */
  after?(house: House, deed: Deed): void;
}

export class HouseGame implements TextGame {
  readonly maxScore = 1;
  readonly gold: readonly string[];
  readonly #task: HouseTask;
  readonly #house: House;
  #reached: boolean[] = [];
  #count = 0;
  #mistake: string | undefined;
  #moves = 0;
  #admissible: readonly string[] | undefined;

  /** @param gold commands that win the game */
  constructor(task: HouseTask, gold: readonly string[]) {
    this.#task = task;
    this.gold = gold;
    this.#house = new House(task.plan);
    this.start();
  }

  get admissible(): readonly string[] {
    this.#admissible ??= this.#allowed();
    return this.#admissible;
  }
  get objective(): string {
    return this.#task.objective;
  }
  get score(): number {
    return this.#count / this.#reached.length;
  }
  get won(): boolean {
    return !this.lost && this.#count === this.#reached.length;
  }
  get lost(): boolean {
    return this.#mistake !== undefined;
  }
  get moves(): number {
    return this.#moves;
  }

  start(): string {
    this.#house.reset();
    this.#reached = this.#task.goals.map(() => false);
    this.#count = 0;
    this.#mistake = undefined;
    this.#moves = 0;
    this.#admissible = undefined;
    return `${this.#task.objective}\n${roomText(this.#house)}`;
  }

  step(command: string): TextTurn {
    const deed = this.#house.deedOf(command);
    if (deed === undefined) return { text: "You can't do that now.", understood: false };
    const refusal = this.#task.refuses?.(this.#house, deed);
    if (refusal !== undefined) return { text: refusal, understood: false };
    this.#moves++;
    this.#house.do(deed);
    this.#task.after?.(this.#house, deed);
    this.#admissible = undefined;
    const before = this.score;
    this.#judge();
    const texts = [deedText(this.#house, deed)];
    if (this.score > before) texts.push('Your score went up.');
    if (this.#mistake !== undefined) texts.push(`${this.#mistake} You have lost.`);
    else if (this.won) texts.push('You have won.');
    return { text: texts.join(' '), understood: true };
  }

  #allowed(): readonly string[] {
    const texts: string[] = [];
    for (const { text, deed } of this.#house.possible())
      if (text !== texts.at(-1) && !this.#task.refuses?.(this.#house, deed)) texts.push(text);
    return texts;
  }

  #judge(): void {
    const { goals, mistakes } = this.#task;
    for (let index = 0; index < goals.length; index++) {
      if (this.#reached[index]! || !goals[index]!(this.#house)) continue;
      this.#reached[index] = true;
      this.#count++;
    }
    this.#mistake = mistakes.find(({ holds }) => holds(this.#house))?.text;
  }
}
