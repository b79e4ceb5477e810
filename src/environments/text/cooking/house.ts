/** A house with food: the locations of all things, and the commands that change them. */
import { append } from '../../../base/append.js';
import { type Direction, directions, type FurniturePlan, type Layout } from './layout.js';

export const cuts = ['sliced', 'diced', 'chopped'] as const;
export type Cut = (typeof cuts)[number];

const verbOf: Readonly<Record<Cut, string>> = { sliced: 'slice', diced: 'dice', chopped: 'chop' };

/** Ways to cook food, each with its own appliance. */
export const cookingMethods = ['fried', 'roasted', 'grilled'] as const;
export type Method = (typeof cookingMethods)[number];

/** Location of a thing: carried, gone (eaten, or not made yet), used in a meal, on a floor, or on or in furniture. */
export type ThingLocation =
  | { readonly kind: 'carried' | 'gone' | 'used' }
  | { readonly kind: 'floor'; readonly room: number }
  | { readonly kind: 'place'; readonly place: number };

export interface ThingPlan {
  readonly name: string;
  /** True for food, which can be cut, cooked and eaten. */
  readonly food?: boolean;
  readonly at: ThingLocation;
}

/** Indices of the things that every house has, and of the first food after them. */
const cookbookIndex = 0;
export const knifeIndex = 1;
export const mealIndex = 2;
export const firstFoodIndex = 3;

export interface HousePlan extends Layout {
  readonly things: readonly ThingPlan[];
  /** Text of the cookbook. */
  readonly recipe: string;
  readonly start: number;
}

interface Thing {
  readonly name: string;
  at: ThingLocation;
  cut: Cut | 'uncut';
  cooked: Method | 'raw' | 'burned';
}

export interface Command {
  readonly text: string;
  isPossible(): boolean;
  /** Executes the command, which must be possible. @returns the response */
  run(): string;
}

export class House {
  readonly plan: HousePlan;
  readonly things: readonly Thing[];
  readonly doors: readonly { readonly name: string; open: boolean }[];
  readonly places: readonly (FurniturePlan & { open: boolean })[];
  room: number;
  /** For each room, the commands that can ever be possible there, sorted by text. */
  readonly #commands: readonly (readonly Command[])[];

  constructor(plan: HousePlan) {
    this.plan = plan;
    this.things = plan.things.map(({ at, name }) => ({ name, at, cut: 'uncut', cooked: 'raw' }));
    this.doors = plan.doors.map((door) => ({ ...door }));
    this.places = plan.places.map((place) => ({ ...place, open: place.state !== 'closed' }));
    this.room = plan.start;
    const baseCommands = [...this.#plainCommands(), ...this.things.flatMap((_, i) => this.#thingCommands(i))];
    this.#commands = plan.rooms.map((_, room) =>
      [...baseCommands, ...this.#exitCommands(room), ...this.#placeCommands(room)].toSorted((a, b) =>
        a.text < b.text ? -1 : 1,
      ),
    );
  }

  /** Returns the currently possible commands, sorted by text. */
  possibleCommands(): readonly Command[] {
    return this.#commands[this.room]!.filter((command) => command.isPossible());
  }

  /** Finds a command; undefined if it is unknown or currently impossible. */
  findCommand(text: string): Command | undefined {
    return this.#commands[this.room]!.find((command) => command.text === text && command.isPossible());
  }

  #plainCommands(): Command[] {
    const meal = this.things[mealIndex]!;
    return [
      { text: 'look', isPossible: () => true, run: () => this.roomText() },
      { text: 'inventory', isPossible: () => true, run: () => this.#inventoryText() },
      {
        text: 'prepare meal',
        isPossible: () => meal.at.kind === 'gone',
        run() {
          meal.at = carried;
          return 'You make the meal and hold it in your hands.';
        },
      },
    ];
  }

  #thingCommands(index: number): Command[] {
    const thing = this.things[index]!;
    const { name } = thing;
    const knife = this.things[knifeIndex]!;
    const isFood = this.plan.things[index]!.food === true;
    const commands: Command[] = [
      {
        text: `take ${name}`,
        isPossible: () => thing.at.kind === 'floor' && thing.at.room === this.room,
        run: moveThing(thing, () => carried, `You take the ${name} from the floor.`),
      },
      {
        text: `drop ${name}`,
        isPossible: () => isCarried(thing),
        run: moveThing(thing, () => ({ kind: 'floor', room: this.room }), `You drop the ${name}.`),
      },
    ];
    if (index === cookbookIndex) {
      const isPossible = () => isCarried(thing) || this.#isVisible(thing);
      commands.push({ text: `read ${name}`, isPossible, run: () => this.plan.recipe });
    }
    if (isFood || index === mealIndex)
      commands.push({
        text: `eat ${name}`,
        isPossible: () => isCarried(thing),
        run: moveThing(thing, () => ({ kind: 'gone' }), `You eat the ${name}.`),
      });
    for (const cut of isFood ? cuts : [])
      commands.push({
        text: cutCommand(cut, name),
        isPossible: () => isCarried(thing) && isCarried(knife) && thing.cut === 'uncut',
        run() {
          thing.cut = cut;
          return `The ${name} is ${cut} now.`;
        },
      });
    return commands;
  }

  #isVisible({ at }: Thing): boolean {
    if (at.kind === 'floor') return at.room === this.room;
    if (at.kind !== 'place') return false;
    const { open, room } = this.places[at.place]!;
    return room === this.room && open;
  }

  #exitCommands(room: number): Command[] {
    return directions.flatMap((direction) => {
      const exit = this.plan.rooms[room]!.exits[direction];
      if (exit === undefined) return [];
      const door = exit.door === undefined ? undefined : this.doors[exit.door];
      const goCommand = {
        text: `go ${direction}`,
        isPossible: () => door?.open ?? true,
        run: () => {
          this.room = exit.room;
          return this.roomText();
        },
      };
      return door === undefined ? [goCommand] : [goCommand, ...opening(door)];
    });
  }

  #placeCommands(room: number): Command[] {
    return this.places.flatMap((place, index) => {
      if (place.room !== room) return [];
      const { name, kind, heat } = place;
      const preposition = kind === 'surface' ? 'on' : 'in';
      const commands = this.things.flatMap((thing, i): Command[] => [
        {
          text: `take ${thing.name} from ${name}`,
          isPossible: () => isAt(thing, index) && place.open,
          run: moveThing(thing, () => carried, `You take the ${thing.name} from the ${name}.`),
        },
        {
          text: `put ${thing.name} ${preposition} ${name}`,
          isPossible: () => isCarried(thing) && place.open,
          run: moveThing(
            thing,
            () => ({ kind: 'place', place: index }),
            `You put the ${thing.name} ${preposition} the ${name}.`,
          ),
        },
        ...(heat !== undefined && this.plan.things[i]!.food ? [cookCommand(thing, name, heat)] : []),
      ]);
      return kind === 'surface'
        ? commands
        : [...commands, ...opening(place, () => this.#contentsText(index))];
    });
  }

  roomText(): string {
    const sentences = [`You are in the ${this.plan.rooms[this.room]!.name}.`];
    const places = [...this.places.keys()].filter((place) => this.places[place]!.room === this.room);
    if (places.length > 0) sentences.push(`Here ${areOrIs(places.map((place) => this.#placeName(place)))}.`);
    for (const place of places) append(sentences, this.#contentsText(place));
    const thingsOnFloor = this.things.filter(({ at }) => at.kind === 'floor' && at.room === this.room);
    if (thingsOnFloor.length > 0) sentences.push(`On the floor ${areOrIs(thingsOnFloor.map(thingName))}.`);
    return [...sentences, ...this.#exitTexts()].join(' ');
  }

  #placeName(index: number): string {
    const { name, open } = this.places[index]!;
    return open ? name : `closed ${name}`;
  }

  #contentsText(index: number): string[] {
    const { name, kind, open } = this.places[index]!;
    if (!open) return [];
    const inside = this.things.filter((thing) => isAt(thing, index));
    const preposition = kind === 'surface' ? 'On' : 'In';
    if (inside.length > 0) return [`${preposition} the ${name} ${areOrIs(inside.map(thingName))}.`];
    return kind === 'surface' ? [] : [`The ${name} is empty.`];
  }

  #exitTexts(): string[] {
    return directions.flatMap((direction) => {
      const exit = this.plan.rooms[this.room]!.exits[direction];
      if (exit === undefined) return [];
      if (exit.door === undefined) return [`A way leads ${direction}.`];
      const { name, open } = this.doors[exit.door]!;
      return [`To the ${direction} is ${listText([`${open ? 'open' : 'closed'} ${name}`])}.`];
    });
  }

  #inventoryText(): string {
    const names = this.things.filter(isCarried).map(thingName);
    return `You carry ${names.length === 0 ? 'nothing' : listText(names)}.`;
  }
}

const carried: ThingLocation = { kind: 'carried' };

export const isCarried = ({ at }: Thing): boolean => at.kind === 'carried';

const isAt = ({ at }: Thing, place: number) => at.kind === 'place' && at.place === place;

function moveThing(thing: Thing, to: () => ThingLocation, response: string): () => string {
  return () => {
    thing.at = to();
    return response;
  };
}

/** Creates the commands that open and close a door or container. @param shown describes what becomes visible */
function opening(target: { readonly name: string; open: boolean }, shown = (): string[] => []): Command[] {
  const { name } = target;
  return [
    {
      text: `open ${name}`,
      isPossible: () => !target.open,
      run() {
        target.open = true;
        return [`You open the ${name}.`, ...shown()].join(' ');
      },
    },
    {
      text: `close ${name}`,
      isPossible: () => target.open,
      run() {
        target.open = false;
        return `You close the ${name}.`;
      },
    },
  ];
}

export const cutCommand = (cut: Cut, food: string): string => `${verbOf[cut]} ${food} with knife`;

const cookCommand = (thing: Thing, appliance: string, heat: Method): Command => ({
  text: `cook ${thing.name} with ${appliance}`,
  isPossible: () => isCarried(thing),
  run() {
    thing.cooked = thing.cooked === 'raw' ? heat : 'burned';
    return `The ${thing.name} is ${thing.cooked} now.`;
  },
});

/** Example: `a coin, an apple and a knife`. */
function listText(names: readonly string[]): string {
  const phrases = names.map((name) => `${'aeiou'.includes(name[0]!) ? 'an' : 'a'} ${name}`);
  return phrases.length < 2 ? phrases.join('') : `${phrases.slice(0, -1).join(', ')} and ${phrases.at(-1)!}`;
}

const areOrIs = (names: readonly string[]) => `${names.length > 1 ? 'are' : 'is'} ${listText(names)}`;

/** Returns the thing's name with its cut and cooking, e.g. `diced fried carrot`. */
function thingName({ name, cut, cooked }: Thing): string {
  return [cut === 'uncut' ? '' : `${cut} `, cooked === 'raw' ? '' : `${cooked} `, name].join('');
}

/** Walks through the house and records the commands. */
export class Walker {
  readonly commands: string[] = [];
  readonly #house: House;

  constructor(plan: HousePlan) {
    this.#house = new House(plan);
  }

  /** Takes the shortest route, opening doors on the way. */
  goTo(room: number): void {
    const { doors, plan } = this.#house;
    for (const direction of this.#path(room)) {
      const { door } = plan.rooms[this.#house.room]!.exits[direction]!;
      if (door !== undefined && !doors[door]!.open) this.execute(`open ${doors[door]!.name}`);
      this.execute(`go ${direction}`);
    }
  }

  /** Goes to the thing, if it is on the floor or in or on furniture, and takes it. */
  fetch(thing: number): void {
    const { name, at } = this.#house.things[thing]!;
    if (at.kind === 'floor') {
      this.goTo(at.room);
      this.execute(`take ${name}`);
    } else if (at.kind === 'place') {
      const place = this.#house.places[at.place]!;
      this.goTo(place.room);
      if (!place.open) this.execute(`open ${place.name}`);
      this.execute(`take ${name} from ${place.name}`);
    }
  }

  /** Executes a command, which must be possible. */
  execute(command: string): void {
    this.#house.findCommand(command)!.run();
    this.commands.push(command);
  }

  #path(goal: number): Direction[] {
    const cameFrom = new Map<number, { readonly room: number; readonly direction: Direction } | undefined>([
      [this.#house.room, undefined],
    ]);
    for (const room of cameFrom.keys()) {
      for (const direction of directions) {
        const exit = this.#house.plan.rooms[room]!.exits[direction];
        if (exit !== undefined && !cameFrom.has(exit.room)) cameFrom.set(exit.room, { room, direction });
      }
    }
    const path: Direction[] = [];
    for (let step = cameFrom.get(goal); step !== undefined; step = cameFrom.get(step.room))
      path.unshift(step.direction);
    return path;
  }
}
