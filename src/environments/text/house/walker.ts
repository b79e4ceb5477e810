/** Walks through a house with full knowledge of it to find commands that win. */
import { House } from './house.js';
import { type Direction, directions, type HousePlan } from './plan.js';

export class Walker {
  readonly commands: string[] = [];
  readonly #house: House;

  constructor(plan: HousePlan) {
    this.#house = new House(plan);
  }

  get room(): number {
    return this.#house.room;
  }

  /** Takes the shortest route, opening doors on the way. */
  goTo(room: number): void {
    for (const direction of this.#way(room)) {
      const door = this.#house.plan.rooms[this.#house.room]!.exits[direction]!.door;
      if (door !== undefined && !this.#house.doorsOpen[door]!)
        this.say(`open ${this.#house.plan.doors[door]!.name}`);
      this.say(`go ${direction}`);
    }
  }

  /** Goes to the place, unlocking and opening it if necessary. */
  open(place: number): void {
    const { name, room, key } = this.#house.plan.places[place]!;
    if (this.#house.places[place] === 'locked') {
      this.fetch(key!);
      this.goTo(room);
      this.say(`unlock ${name} with ${this.#house.plan.things[key!]!.name}`);
    }
    this.goTo(room);
    if (this.#house.places[place] === 'closed') this.say(`open ${name}`);
  }

  /** Takes the thing, wherever it is. */
  fetch(thing: number): void {
    const { name } = this.#house.plan.things[thing]!;
    const at = this.#house.things[thing]!;
    if (at.kind === 'place') {
      this.open(at.place);
      this.say(`take ${name} from ${this.#house.plan.places[at.place]!.name}`);
    } else if (at.kind === 'floor') {
      this.goTo(at.room);
      this.say(`take ${name}`);
    }
  }

  /** Puts a carried thing where it belongs. */
  putAway(thing: number, place: number): void {
    this.open(place);
    const { name, kind } = this.#house.plan.places[place]!;
    this.say(`put ${this.#house.plan.things[thing]!.name} ${kind === 'surface' ? 'on' : 'in'} ${name}`);
  }

  /** Executes a command. @throws Error if it is not possible, which is a bug in the world */
  say(command: string): void {
    const deed = this.#house.deedOf(command);
    if (deed === undefined)
      throw new Error(`the gold path of a text world says ${command}, which is not possible`);
    this.#house.do(deed);
    this.commands.push(command);
  }

  #way(goal: number): Direction[] {
    const from = new Map<number, { readonly room: number; readonly direction: Direction } | undefined>([
      [this.#house.room, undefined],
    ]);
    for (const room of from.keys()) {
      for (const direction of directions) {
        const exit = this.#house.plan.rooms[room]!.exits[direction];
        if (exit !== undefined && !from.has(exit.room)) from.set(exit.room, { room, direction });
      }
    }
    const way: Direction[] = [];
    for (let step = from.get(goal); step !== undefined; step = from.get(step.room))
      way.unshift(step.direction);
    return way;
  }
}
