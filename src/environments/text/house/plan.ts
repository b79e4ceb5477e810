/** The parts of a house, where everything is at the start, and all commands that can ever occur in it. */
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
  /** Index of the room it leads to. */
  readonly room: number;
  /** Index of its door; absent for an open passage. */
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

/** Furniture: things are on a surface or in a container. */
export interface PlacePlan {
  readonly name: string;
  readonly room: number;
  readonly kind: 'surface' | 'container';
  readonly state?: 'open' | 'closed' | 'locked';
  /** Index of the thing that unlocks it. */
  readonly key?: number;
  readonly heat?: Heat;
}

/** Where a thing is: carried, gone, on the floor of a room, or on or in a place. */
export type Whereabouts =
  | { readonly kind: 'carried' }
  | { readonly kind: 'gone' }
  | { readonly kind: 'floor'; readonly room: number }
  | { readonly kind: 'place'; readonly place: number };

export interface ThingPlan {
  readonly name: string;
  readonly at: Whereabouts;
  /** Food can be cut, cooked and eaten. */
  readonly food?: boolean;
  readonly sharp?: boolean;
  /** Can be eaten as it is, but neither cut nor cooked. */
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

export type Deed =
  | { readonly kind: 'look' | 'inventory' | 'prepare' }
  | { readonly kind: 'go' | 'open-door' | 'close-door'; readonly direction: Direction }
  | { readonly kind: 'open' | 'close' | 'unlock'; readonly place: number }
  | { readonly kind: 'pick-up' | 'drop' | 'eat' | 'read'; readonly thing: number }
  | { readonly kind: 'take' | 'put' | 'cook'; readonly thing: number; readonly place: number }
  | { readonly kind: 'cut'; readonly thing: number; readonly tool: number; readonly cut: Cut };

export interface Command {
  readonly text: string;
  readonly deed: Deed;
}

export const verbOf: Readonly<Record<Cut, string>> = { sliced: 'slice', diced: 'dice', chopped: 'chop' };

/** For each room, the commands that may be possible there, sorted by text. */
export function commandsOf(plan: HousePlan): readonly (readonly Command[])[] {
  const everywhere = [...plainCommands(plan), ...commandsOfThings(plan)];
  return plan.rooms.map((_, room) =>
    [...everywhere, ...commandsOfDoors(plan, room), ...commandsOfPlaces(plan, room)].toSorted((a, b) =>
      a.text < b.text ? -1 : 1,
    ),
  );
}

function plainCommands({ things }: HousePlan): Command[] {
  return [
    { text: 'look', deed: { kind: 'look' } },
    { text: 'inventory', deed: { kind: 'inventory' } },
    ...(things.some(({ dish }) => dish)
      ? [{ text: 'prepare meal', deed: { kind: 'prepare' } } as const]
      : []),
    ...directions.map((direction): Command => ({ text: `go ${direction}`, deed: { kind: 'go', direction } })),
  ];
}

function commandsOfThings({ things }: HousePlan): Command[] {
  const tools = things.flatMap(({ sharp }, tool) => (sharp ? [tool] : []));
  return things.flatMap(({ name, food, dish, text }, thing): Command[] => [
    { text: `take ${name}`, deed: { kind: 'pick-up', thing } },
    { text: `drop ${name}`, deed: { kind: 'drop', thing } },
    ...(text === undefined ? [] : [{ text: `read ${name}`, deed: { kind: 'read', thing } } as const]),
    ...(food || dish ? [{ text: `eat ${name}`, deed: { kind: 'eat', thing } } as const] : []),
    ...(food
      ? tools.flatMap((tool) =>
          cuts.map(
            (cut): Command => ({
              text: `${verbOf[cut]} ${name} with ${things[tool]!.name}`,
              deed: { kind: 'cut', thing, tool, cut },
            }),
          ),
        )
      : []),
  ]);
}

function commandsOfDoors({ rooms, doors }: HousePlan, room: number): Command[] {
  return directions.flatMap((direction): Command[] => {
    const door = rooms[room]!.exits[direction]?.door;
    if (door === undefined) return [];
    const { name } = doors[door]!;
    return [
      { text: `open ${name}`, deed: { kind: 'open-door', direction } },
      { text: `close ${name}`, deed: { kind: 'close-door', direction } },
    ];
  });
}

function commandsOfPlaces({ places, things }: HousePlan, room: number): Command[] {
  return places.flatMap(({ name, kind, key, heat, room: at }, place): Command[] => {
    if (at !== room) return [];
    const withThings = things.flatMap(({ name: thingName, food }, thing): Command[] => [
      { text: `take ${thingName} from ${name}`, deed: { kind: 'take', thing, place } },
      {
        text: `put ${thingName} ${kind === 'surface' ? 'on' : 'in'} ${name}`,
        deed: { kind: 'put', thing, place },
      },
      ...(heat !== undefined && food
        ? [{ text: `cook ${thingName} with ${name}`, deed: { kind: 'cook', thing, place } } as const]
        : []),
    ]);
    if (kind === 'surface') return withThings;
    return [
      ...withThings,
      { text: `open ${name}`, deed: { kind: 'open', place } },
      { text: `close ${name}`, deed: { kind: 'close', place } },
      ...(key === undefined
        ? []
        : [
            {
              text: `unlock ${name} with ${things[key]!.name}`,
              deed: { kind: 'unlock', place },
            } as const,
          ]),
    ];
  });
}
