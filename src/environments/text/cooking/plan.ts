/** Describes a house: its parts, their initial state, and all commands that can become possible. */
export const directions = ['north', 'east', 'south', 'west'] as const;
export type Direction = (typeof directions)[number];

export const opposite: Readonly<Record<Direction, Direction>> = {
  north: 'south',
  east: 'west',
  south: 'north',
  west: 'east',
};

export const cuts = ['sliced', 'diced', 'chopped'] as const;
export type Cut = (typeof cuts)[number];

/** Ways to cook food, each with its own appliance. */
export const heats = ['fried', 'roasted', 'grilled'] as const;
export type Heat = (typeof heats)[number];

export interface Exit {
  /** Index of the room the exit leads to. */
  readonly room: number;
  /** Index of the exit's door; absent for an open passage. */
  readonly door?: number;
}

export interface RoomPlan {
  readonly name: string;
  readonly exits: Partial<Readonly<Record<Direction, Exit>>>;
}

export interface DoorPlan {
  readonly name: string;
  readonly open: boolean;
}

/** A piece of furniture: a surface or a container for things. */
export interface PlacePlan {
  readonly name: string;
  readonly room: number;
  readonly kind: 'surface' | 'container';
  readonly state?: 'closed';
  readonly heat?: Heat;
}

/** Location of a thing: carried, gone (eaten, or not made yet), used up in a meal, on a floor, or on or in a place. */
export type Location =
  | { readonly kind: 'carried' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'used' }
  | { readonly kind: 'floor'; readonly room: number }
  | { readonly kind: 'place'; readonly place: number };

export interface ThingPlan {
  readonly name: string;
  readonly at: Location;
  /** True for food, which can be cut, cooked and eaten. */
  readonly food?: boolean;
  readonly sharp?: boolean;
  /** True for a dish, which can be eaten but neither cut nor cooked. */
  readonly dish?: boolean;
  readonly text?: string;
}

export interface HousePlan {
  readonly rooms: readonly RoomPlan[];
  readonly doors: readonly DoorPlan[];
  readonly places: readonly PlacePlan[];
  readonly things: readonly ThingPlan[];
  readonly start: number;
  /** Maximum number of things carried at once; Infinity for no limit. */
  readonly capacity: number;
}

export type HouseAction =
  | { readonly kind: 'look' | 'inventory' | 'prepare' }
  | { readonly kind: 'go' | 'open-door' | 'close-door'; readonly direction: Direction }
  | { readonly kind: 'open' | 'close'; readonly place: number }
  | { readonly kind: 'pick-up' | 'drop' | 'eat' | 'read'; readonly thing: number }
  | { readonly kind: 'take' | 'put' | 'cook'; readonly thing: number; readonly place: number }
  | { readonly kind: 'cut'; readonly thing: number; readonly tool: number; readonly cut: Cut };

export interface Command {
  readonly text: string;
  readonly action: HouseAction;
}

export const verbOf: Readonly<Record<Cut, string>> = { sliced: 'slice', diced: 'dice', chopped: 'chop' };

/** For each room, the commands that can ever be possible there, sorted by text. */
export function commandsOf(plan: HousePlan): readonly (readonly Command[])[] {
  const everywhere = [...plainCommands(), ...commandsOfThings(plan)];
  return plan.rooms.map((_, room) =>
    [...everywhere, ...commandsOfDoors(plan, room), ...commandsOfPlaces(plan, room)].toSorted((a, b) =>
      a.text < b.text ? -1 : 1,
    ),
  );
}

const command = (text: string, action: HouseAction): Command => ({ text, action });

function plainCommands(): Command[] {
  return [
    command('look', { kind: 'look' }),
    command('inventory', { kind: 'inventory' }),
    command('prepare meal', { kind: 'prepare' }),
    ...directions.map((direction) => command(`go ${direction}`, { kind: 'go', direction })),
  ];
}

function commandsOfThings({ things }: HousePlan): Command[] {
  const tools = things.flatMap(({ sharp }, tool) => (sharp ? [tool] : []));
  return things.flatMap(({ name, food, dish, text }, thing) => {
    const commands = [
      command(`take ${name}`, { kind: 'pick-up', thing }),
      command(`drop ${name}`, { kind: 'drop', thing }),
    ];
    if (text !== undefined) commands.push(command(`read ${name}`, { kind: 'read', thing }));
    if (food || dish) commands.push(command(`eat ${name}`, { kind: 'eat', thing }));
    for (const tool of food ? tools : [])
      for (const cut of cuts)
        commands.push(
          command(`${verbOf[cut]} ${name} with ${things[tool]!.name}`, { kind: 'cut', thing, tool, cut }),
        );
    return commands;
  });
}

function commandsOfDoors({ rooms, doors }: HousePlan, room: number): Command[] {
  return directions.flatMap((direction) => {
    const door = rooms[room]!.exits[direction]?.door;
    if (door === undefined) return [];
    const { name } = doors[door]!;
    return [
      command(`open ${name}`, { kind: 'open-door', direction }),
      command(`close ${name}`, { kind: 'close-door', direction }),
    ];
  });
}

function commandsOfPlaces({ places, things }: HousePlan, room: number): Command[] {
  return places.flatMap(({ name, kind, heat, room: at }, place) => {
    if (at !== room) return [];
    const word = kind === 'surface' ? 'on' : 'in';
    const commands = things.flatMap(({ name: thingName, food }, thing) => [
      command(`take ${thingName} from ${name}`, { kind: 'take', thing, place }),
      command(`put ${thingName} ${word} ${name}`, { kind: 'put', thing, place }),
      ...(heat !== undefined && food
        ? [command(`cook ${thingName} with ${name}`, { kind: 'cook', thing, place })]
        : []),
    ]);
    if (kind === 'surface') return commands;
    commands.push(command(`open ${name}`, { kind: 'open', place }));
    commands.push(command(`close ${name}`, { kind: 'close', place }));
    return commands;
  });
}
