/** All commands that can ever occur in a house; the state decides which are possible. */
import { type Cut, cuts, type Direction, directions, type HousePlan } from './plan.js';

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
