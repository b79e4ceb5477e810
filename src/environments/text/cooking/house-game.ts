/** A house with a task: goals that each count once, mistakes that end the game, and the game's texts. */
import { append } from '../../../base/append.js';
import type { TextGame, TextTurn } from '../text-game.js';
import { House } from './house.js';
import { directions, type HouseAction, type HousePlan, type Location } from './plan.js';

/** Example: `a coin, an apple and a knife`. */
function inWords(names: readonly string[]): string {
  const words = names.map((name) => `${'aeiou'.includes(name[0]!) ? 'an' : 'a'} ${name}`);
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)!}`;
}

/** The thing's name with its cut and cooking, e.g. `diced fried carrot`. */
function thingName({ plan, cuts, cooked }: House, thing: number): string {
  const { name } = plan.things[thing]!;
  const cut = cuts[thing]! === 'uncut' ? '' : `${cuts[thing]!} `;
  const heat = cooked[thing]! === 'raw' ? '' : `${cooked[thing]!} `;
  return cut + heat + name;
}

function roomText(house: House): string {
  const { plan, room } = house;
  const sentences = [`You are in the ${plan.rooms[room]!.name}.`];
  const inRoom = house.placesHere;
  if (inRoom.length > 0) {
    const verb = inRoom.length > 1 ? 'are' : 'is';
    sentences.push(`Here ${verb} ${inWords(inRoom.map((place) => placeName(house, place)))}.`);
  }
  for (const place of inRoom) append(sentences, contentsText(house, place));
  const floor = thingsOf(house, (at) => at.kind === 'floor' && at.room === room);
  if (floor.length > 0) sentences.push(`On the floor ${lies(house, floor)}.`);
  return [...sentences, ...exitTexts(house)].join(' ');
}

function placeName({ plan, places }: House, place: number): string {
  const { name, kind } = plan.places[place]!;
  return kind === 'surface' || places[place] === 'open' ? name : `${places[place]!} ${name}`;
}

function contentsText(house: House, place: number): string[] {
  if (house.places[place] !== 'open') return [];
  const { name, kind } = house.plan.places[place]!;
  const inside = thingsOf(house, (at) => at.kind === 'place' && at.place === place);
  const word = kind === 'surface' ? 'On' : 'In';
  if (inside.length > 0) return [`${word} the ${name} ${lies(house, inside)}.`];
  return kind === 'surface' ? [] : [`The ${name} is empty.`];
}

function thingsOf({ things }: House, isThere: (at: Location) => boolean): number[] {
  const found: number[] = [];
  for (let thing = 0; thing < things.length; thing++) if (isThere(things[thing]!)) found.push(thing);
  return found;
}

const lies = (house: House, things: readonly number[]): string =>
  `${things.length > 1 ? 'are' : 'is'} ${inWords(things.map((thing) => thingName(house, thing)))}`;

function exitTexts({ plan, room, doorsOpen }: House): string[] {
  return directions.flatMap((direction) => {
    const exit = plan.rooms[room]!.exits[direction];
    if (exit === undefined) return [];
    if (exit.door === undefined) return [`A way leads ${direction}.`];
    const state = doorsOpen[exit.door]! ? 'open' : 'closed';
    return [`To the ${direction} is ${inWords([`${state} ${plan.doors[exit.door]!.name}`])}.`];
  });
}

function inventoryText(house: House): string {
  const things = thingsOf(house, ({ kind }) => kind === 'carried');
  const names = things.map((thing) => thingName(house, thing));
  return `You carry ${names.length === 0 ? 'nothing' : inWords(names)}.`;
}

function responseTo(house: House, action: HouseAction): string {
  const { plan } = house;
  const thing = 'thing' in action ? plan.things[action.thing]!.name : '';
  const place = 'place' in action ? plan.places[action.place]!.name : '';
  switch (action.kind) {
    case 'look':
    case 'go':
      return roomText(house);
    case 'inventory':
      return inventoryText(house);
    case 'prepare':
      return 'You make the meal and hold it in your hands.';
    case 'open-door':
    case 'close-door': {
      const { door } = plan.rooms[house.room]!.exits[action.direction]!;
      return `You ${action.kind === 'open-door' ? 'open' : 'close'} the ${plan.doors[door!]!.name}.`;
    }
    case 'open':
      return [`You open the ${place}.`, ...contentsText(house, action.place)].join(' ');
    case 'close':
      return `You close the ${place}.`;
    case 'pick-up':
      return `You take the ${thing} from the floor.`;
    case 'take':
      return `You take the ${thing} from the ${place}.`;
    case 'drop':
      return `You drop the ${thing}.`;
    case 'put':
      return `You put the ${thing} ${plan.places[action.place]!.kind === 'surface' ? 'on' : 'in'} the ${place}.`;
    case 'eat':
      return `You eat the ${thing}.`;
    case 'read':
      return plan.things[action.thing]!.text!;
    case 'cut':
      return `The ${thing} is ${action.cut} now.`;
    case 'cook':
      return `The ${thing} is ${house.cooked[action.thing]!} now.`;
  }
}

export interface HouseTask {
  readonly plan: HousePlan;
  readonly objective: string;
  /** Each goal earns the same share of the score when it is first reached. */
  readonly goals: readonly ((house: House) => boolean)[];
  /** Conditions that lose the game, each with a text that explains why. */
  readonly mistakes: readonly { readonly holds: (house: House) => boolean; readonly text: string }[];
  /** Explains why the task refuses an action that the house allows; undefined if it doesn't refuse. */
  refuses(house: House, action: HouseAction): string | undefined;
  after(house: House, action: HouseAction): void;
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
    const action = this.#house.actionOf(command);
    if (action === undefined) return { text: "You can't do that now.", understood: false };
    const refusal = this.#task.refuses(this.#house, action);
    if (refusal !== undefined) return { text: refusal, understood: false };
    this.#moves++;
    this.#house.do(action);
    this.#task.after(this.#house, action);
    this.#admissible = undefined;
    const before = this.score;
    this.#judge();
    const texts = [responseTo(this.#house, action)];
    if (this.score > before) texts.push('Your score went up.');
    if (this.#mistake !== undefined) texts.push(`${this.#mistake} You have lost.`);
    else if (this.won) texts.push('You have won.');
    return { text: texts.join(' '), understood: true };
  }

  #allowed(): readonly string[] {
    const texts: string[] = [];
    for (const { text, action } of this.#house.possible())
      if (text !== texts.at(-1) && !this.#task.refuses(this.#house, action)) texts.push(text);
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
