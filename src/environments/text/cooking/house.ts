/** The state of a house, and a walker that knows the whole house and finds commands that win. */
import {
  type Command,
  type Cut,
  commandsOf,
  type Direction,
  directions,
  type Heat,
  type HouseAction,
  type HousePlan,
  type Location,
} from './plan.js';

const carried: Location = { kind: 'carried' };
const gone: Location = { kind: 'gone' };

type Cooked = 'raw' | Heat | 'burned';

export class House {
  readonly plan: HousePlan;
  readonly #commands: readonly (readonly Command[])[];
  readonly #byText: readonly ReadonlyMap<string, readonly HouseAction[]>[];
  readonly #placesOf: readonly (readonly number[])[];
  readonly #dish: number;
  room = 0;
  doorsOpen: boolean[] = [];
  places: ('open' | 'closed')[] = [];
  things: Location[] = [];
  cuts: (Cut | 'uncut')[] = [];
  cooked: Cooked[] = [];
  #carried = 0;

  constructor(plan: HousePlan) {
    this.plan = plan;
    this.#commands = commandsOf(plan);
    this.#byText = this.#commands.map(actionsByText);
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
    this.#carried = 0;
  }

  get placesHere(): readonly number[] {
    return this.#placesOf[this.room]!;
  }

  /** The currently possible commands, sorted by text. */
  possible(): readonly Command[] {
    return this.#commands[this.room]!.filter(({ action }) => this.can(action));
  }

  /** The action of a command; undefined if it is unknown or currently impossible. */
  actionOf(text: string): HouseAction | undefined {
    // If a thing and a place share a name, two commands have the same text; at most one is possible.
    return this.#byText[this.room]!.get(text)?.find((action) => this.can(action));
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

  can(action: HouseAction): boolean {
    switch (action.kind) {
      case 'look':
      case 'inventory':
        return true;
      case 'prepare':
        return this.things[this.#dish]!.kind === 'gone';
      case 'go':
      case 'open-door':
      case 'close-door':
        return this.#canPass(action);
      case 'open':
        return this.places[action.place] === 'closed';
      case 'close':
        return this.places[action.place] === 'open';
      case 'pick-up': {
        const at = this.things[action.thing]!;
        return at.kind === 'floor' && at.room === this.room && !this.isFull;
      }
      case 'read':
        return this.isCarried(action.thing) || this.sees(action.thing);
      case 'drop':
      case 'eat':
        return this.isCarried(action.thing);
      case 'cut':
        return (
          this.isCarried(action.thing) && this.isCarried(action.tool) && this.cuts[action.thing] === 'uncut'
        );
      case 'take':
        return this.isIn(action.thing, action.place) && this.places[action.place] === 'open' && !this.isFull;
      case 'put':
        return this.isCarried(action.thing) && this.places[action.place] === 'open';
      case 'cook':
        return this.isCarried(action.thing);
    }
  }

  #canPass({ kind, direction }: Extract<HouseAction, { direction: unknown }>): boolean {
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

  /** Executes an action, which must be possible. */
  do(action: HouseAction): void {
    switch (action.kind) {
      case 'look':
      case 'inventory':
      case 'read':
        return;
      case 'prepare':
        this.#move(this.#dish, carried);
        return;
      case 'go':
        this.room = this.plan.rooms[this.room]!.exits[action.direction]!.room;
        return;
      case 'open-door':
      case 'close-door':
        this.doorsOpen[this.plan.rooms[this.room]!.exits[action.direction]!.door!] =
          action.kind === 'open-door';
        return;
      case 'open':
        this.places[action.place] = 'open';
        return;
      case 'close':
        this.places[action.place] = 'closed';
        return;
      case 'pick-up':
      case 'take':
        this.#move(action.thing, carried);
        return;
      case 'drop':
        this.#move(action.thing, { kind: 'floor', room: this.room });
        return;
      case 'put':
        this.#move(action.thing, { kind: 'place', place: action.place });
        return;
      case 'eat':
        this.#move(action.thing, gone);
        return;
      case 'cut':
        this.cuts[action.thing] = action.cut;
        return;
      case 'cook':
        this.cooked[action.thing] =
          this.cooked[action.thing] === 'raw' ? this.plan.places[action.place]!.heat! : 'burned';
        return;
    }
  }

  /** Removes a thing that a meal uses up. */
  useUp(thing: number): void {
    this.#move(thing, { kind: 'used' });
  }

  #move(thing: number, to: Location): void {
    if (this.isCarried(thing)) this.#carried--;
    if (to.kind === 'carried') this.#carried++;
    this.things[thing] = to;
  }
}

function actionsByText(commands: readonly Command[]): ReadonlyMap<string, readonly HouseAction[]> {
  const actions = new Map<string, HouseAction[]>();
  for (const { text, action } of commands) actions.set(text, [...(actions.get(text) ?? []), action]);
  return actions;
}

export class Walker {
  readonly commands: string[] = [];
  readonly #house: House;

  constructor(plan: HousePlan) {
    this.#house = new House(plan);
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

  /** Goes to the place, opening it if necessary. */
  open(place: number): void {
    const { name, room } = this.#house.plan.places[place]!;
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

  /** Executes a command. @throws Error if it is not possible, which is a bug in the world */
  say(command: string): void {
    const action = this.#house.actionOf(command);
    if (action === undefined)
      throw new Error(`the winning commands of a text world include ${command}, which is not possible`);
    this.#house.do(action);
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
