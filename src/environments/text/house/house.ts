/** The state of a house, and a walk through it with full knowledge to find commands that win. */
import {
  type Command,
  type Cut,
  commandsOf,
  type Deed,
  type Direction,
  directions,
  type Heat,
  type HousePlan,
  type Whereabouts,
} from './plan.js';

const carried: Whereabouts = { kind: 'carried' };
const gone: Whereabouts = { kind: 'gone' };

type Cooked = 'raw' | Heat | 'burned';

export class House {
  readonly plan: HousePlan;
  readonly #commands: readonly (readonly Command[])[];
  readonly #byText: readonly ReadonlyMap<string, readonly Deed[]>[];
  readonly #placesOf: readonly (readonly number[])[];
  readonly #dish: number;
  room = 0;
  doorsOpen: boolean[] = [];
  places: ('open' | 'closed' | 'locked')[] = [];
  things: Whereabouts[] = [];
  cuts: (Cut | 'uncut')[] = [];
  cooked: Cooked[] = [];
  #carried = 0;

  constructor(plan: HousePlan) {
    this.plan = plan;
    this.#commands = commandsOf(plan);
    this.#byText = this.#commands.map(deedsByText);
    this.#placesOf = plan.rooms.map((_, room) =>
      plan.places.flatMap((place, index) => (place.room === room ? [index] : [])),
    );
    this.#dish = plan.things.findIndex(({ dish }) => dish);
    this.reset();
  }

  reset(): void {
    const { start, doors, places, things } = this.plan;
    this.room = start;
    this.doorsOpen = doors.map(({ open }) => open);
    this.places = places.map(({ state }) => state ?? 'open');
    this.things = things.map(({ at }) => at);
    this.cuts = things.map(() => 'uncut');
    this.cooked = things.map(() => 'raw');
    this.#carried = this.things.filter(({ kind }) => kind === 'carried').length;
  }

  get placesHere(): readonly number[] {
    return this.#placesOf[this.room]!;
  }

  /** Sorted by text. */
  possible(): readonly Command[] {
    return this.#commands[this.room]!.filter(({ deed }) => this.can(deed));
  }

  /** The deed of a command, if it is currently possible. */
  deedOf(text: string): Deed | undefined {
    // If a thing and a place share a name, two commands have the same text; at most one is possible.
    return this.#byText[this.room]!.get(text)?.find((deed) => this.can(deed));
  }

  isCarried(thing: number): boolean {
    return this.things[thing]!.kind === 'carried';
  }

  isIn(thing: number, place: number): boolean {
    const at = this.things[thing]!;
    return at.kind === 'place' && at.place === place;
  }

  get isFull(): boolean {
    return this.#carried >= this.plan.capacity;
  }

  can(deed: Deed): boolean {
    switch (deed.kind) {
      case 'look':
      case 'inventory':
        return true;
      case 'prepare':
        return this.things[this.#dish]!.kind === 'gone';
      case 'go':
      case 'open-door':
      case 'close-door':
        return this.#canPass(deed);
      case 'open':
        return this.places[deed.place] === 'closed';
      case 'close':
        return this.places[deed.place] === 'open';
      case 'unlock':
        return this.places[deed.place] === 'locked' && this.isCarried(this.plan.places[deed.place]!.key!);
      case 'pick-up': {
        const at = this.things[deed.thing]!;
        return at.kind === 'floor' && at.room === this.room && !this.isFull;
      }
      case 'read':
        return this.isCarried(deed.thing) || this.sees(deed.thing);
      case 'drop':
      case 'eat':
        return this.isCarried(deed.thing);
      case 'cut':
        return this.isCarried(deed.thing) && this.isCarried(deed.tool) && this.cuts[deed.thing] === 'uncut';
      case 'take':
        return this.isIn(deed.thing, deed.place) && this.places[deed.place] === 'open' && !this.isFull;
      case 'put':
        return this.isCarried(deed.thing) && this.places[deed.place] === 'open';
      case 'cook':
        return this.isCarried(deed.thing);
    }
  }

  #canPass({ kind, direction }: Extract<Deed, { direction: unknown }>): boolean {
    const exit = this.plan.rooms[this.room]!.exits[direction];
    if (exit === undefined) return false;
    const open = exit.door === undefined || this.doorsOpen[exit.door]!;
    if (kind === 'go') return open;
    return exit.door !== undefined && open === (kind === 'close-door');
  }

  sees(thing: number): boolean {
    const at = this.things[thing]!;
    if (at.kind === 'floor') return at.room === this.room;
    if (at.kind !== 'place') return false;
    return this.plan.places[at.place]!.room === this.room && this.places[at.place] === 'open';
  }

  /** Executes a deed, which must be possible. */
  do(deed: Deed): void {
    switch (deed.kind) {
      case 'look':
      case 'inventory':
      case 'read':
        return;
      case 'prepare':
        this.#move(this.#dish, carried);
        return;
      case 'go':
        this.room = this.plan.rooms[this.room]!.exits[deed.direction]!.room;
        return;
      case 'open-door':
      case 'close-door':
        this.doorsOpen[this.plan.rooms[this.room]!.exits[deed.direction]!.door!] = deed.kind === 'open-door';
        return;
      case 'open':
        this.places[deed.place] = 'open';
        return;
      case 'close':
      case 'unlock':
        this.places[deed.place] = 'closed';
        return;
      case 'pick-up':
      case 'take':
        this.#move(deed.thing, carried);
        return;
      case 'drop':
        this.#move(deed.thing, { kind: 'floor', room: this.room });
        return;
      case 'put':
        this.#move(deed.thing, { kind: 'place', place: deed.place });
        return;
      case 'eat':
        this.#move(deed.thing, gone);
        return;
      case 'cut':
        this.cuts[deed.thing] = deed.cut;
        return;
      case 'cook':
        this.cooked[deed.thing] =
          this.cooked[deed.thing] === 'raw' ? this.plan.places[deed.place]!.heat! : 'burned';
        return;
    }
  }

  /** Removes a thing used up in a meal. */
  useUp(thing: number): void {
    this.#move(thing, gone);
  }

  #move(thing: number, to: Whereabouts): void {
    if (this.isCarried(thing)) this.#carried--;
    if (to.kind === 'carried') this.#carried++;
    this.things[thing] = to;
  }
}

function deedsByText(commands: readonly Command[]): ReadonlyMap<string, readonly Deed[]> {
  const deeds = new Map<string, Deed[]>();
  for (const { text, deed } of commands) deeds.set(text, [...(deeds.get(text) ?? []), deed]);
  return deeds;
}

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
