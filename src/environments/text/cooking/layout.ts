/** Generates random houses: rooms on a grid, with connections, doors and furniture. All folds share the vocabulary. */

import { type RandomGenerator, shuffled } from '../../../base/random/generator.js';
export const directions = ['north', 'east', 'south', 'west'] as const;
export type Direction = (typeof directions)[number];

const oppositeOf: Readonly<Record<Direction, Direction>> = {
  north: 'south',
  east: 'west',
  south: 'north',
  west: 'east',
};

interface Exit {
  /** Index of the room the exit leads to. */
  readonly room: number;
  /** Index of the exit's door; absent for an open passage. */
  readonly door?: number;
}

/** A piece of furniture: a surface or a container for things. */
export interface FurniturePlan {
  readonly name: string;
  readonly room: number;
  readonly kind: 'surface' | 'container';
  readonly state?: 'closed';
  readonly heat?: 'fried' | 'roasted' | 'grilled';
}

type Furniture = Omit<FurniturePlan, 'room'>;

const surface = (name: string): Furniture => ({ name, kind: 'surface' });
const closedContainer = (name: string): Furniture => ({ name, kind: 'container', state: 'closed' });
const openContainer = (name: string): Furniture => ({ name, kind: 'container' });

/** Furniture by room. The kitchen has everything needed for cooking. */
const furnitureOf: Readonly<Record<string, readonly Furniture[]>> = {
  kitchen: [
    closedContainer('fridge'),
    surface('counter'),
    { ...surface('stove'), heat: 'fried' },
    { ...closedContainer('oven'), heat: 'roasted' },
    { ...surface('grill'), heat: 'grilled' },
  ],
  pantry: [surface('shelf'), closedContainer('crate')],
  'living room': [surface('sofa'), surface('coffee table')],
  bedroom: [surface('bed'), closedContainer('wardrobe')],
  bathroom: [surface('sink'), closedContainer('medicine cabinet')],
  corridor: [closedContainer('shoe rack')],
  cellar: [closedContainer('barrel'), surface('wine rack')],
  attic: [closedContainer('trunk'), surface('rocking chair')],
  garage: [surface('workbench'), closedContainer('toolbox')],
  garden: [surface('bench'), closedContainer('shed')],
  greenhouse: [surface('potting table')],
  library: [surface('bookcase'), surface('reading desk')],
  laundry: [closedContainer('washing machine'), openContainer('laundry basket')],
  'dining room': [surface('dining table'), closedContainer('sideboard')],
  study: [surface('desk'), closedContainer('drawer')],
  balcony: [surface('deck chair')],
  nursery: [closedContainer('toy chest'), surface('cot')],
  'music room': [surface('piano'), closedContainer('instrument case')],
  hall: [surface('hat stand')],
  porch: [surface('swing'), closedContainer('letter box')],
  storeroom: [closedContainer('locker'), surface('rack')],
  terrace: [surface('garden table')],
  courtyard: [surface('stone well')],
  gallery: [surface('pedestal'), closedContainer('display cabinet')],
};

const roomNames: readonly string[] = Object.keys(furnitureOf);

const doorNames: readonly string[] = (
  'oak door, glass door, iron door, sliding door, red door, narrow door, heavy door, painted door, ' +
  'wooden door, screen door, blue door, creaky door'
).split(', ');

export const foods: readonly string[] = (
  'carrot, onion, potato, tomato, pepper, mushroom, aubergine, leek, pumpkin, apple, pear, banana, ' +
  'salmon, trout, chicken, sausage, steak, tofu, cheese, egg, courgette, cabbage, beetroot, ' +
  'parsnip'
).split(', ');

export interface Layout {
  readonly rooms: readonly {
    readonly name: string;
    readonly exits: Partial<Readonly<Record<Direction, Exit>>>;
  }[];
  readonly doors: readonly { readonly name: string; readonly open: boolean }[];
  readonly places: readonly FurniturePlan[];
}

interface LayoutOptions {
  readonly rooms: number;
  readonly doors: boolean;
}

const stepOf: Readonly<Record<Direction, readonly [number, number]>> = {
  north: [0, -1],
  east: [1, 0],
  south: [0, 1],
  west: [-1, 0],
};

/** Probabilities that a connection has a door, that a door is closed, and that unconnected neighbours get connected. */
const doorShare = 0.5;
const closedShare = 0.7;
const loopShare = 0.15;

interface Cell {
  readonly x: number;
  readonly y: number;
  readonly exits: Partial<Record<Direction, Exit>>;
}

export function drawLayout(options: LayoutOptions, random: RandomGenerator): Layout {
  const names = drawRoomNames(options, random);
  const cells: Cell[] = [{ x: 0, y: 0, exits: {} }];
  const doors: Layout['doors'][number][] = [];
  const unusedDoors = shuffled(doorNames, random);
  const connect = (from: number, to: number, direction: Direction): void => {
    const hasDoor = options.doors && unusedDoors.length > 0 && random.random() < doorShare;
    const door = hasDoor ? { door: doors.length } : {};
    if (hasDoor) doors.push({ name: unusedDoors.pop()!, open: random.random() >= closedShare });
    cells[from]!.exits[direction] = { room: to, ...door };
    cells[to]!.exits[oppositeOf[direction]] = { room: from, ...door };
  };
  while (cells.length < names.length) {
    const from = random.integers(0, cells.length);
    const direction = directions[random.integers(0, directions.length)]!;
    const { x, y } = neighborIn(cells[from]!, direction);
    if (cells.some((cell) => cell.x === x && cell.y === y)) continue;
    cells.push({ x, y, exits: {} });
    connect(from, cells.length - 1, direction);
  }
  for (const [index, cell] of cells.entries())
    for (const direction of ['east', 'south'] as const) {
      const { x, y } = neighborIn(cell, direction);
      const neighbor = cells.findIndex((other) => other.x === x && other.y === y);
      const isNew = neighbor >= 0 && cell.exits[direction] === undefined;
      if (isNew && random.random() < loopShare) connect(index, neighbor, direction);
    }
  return {
    rooms: cells.map(({ exits }, room) => ({ name: names[room]!, exits })),
    doors,
    places: names.flatMap((name, room) => furnitureOf[name]!.map((place) => ({ ...place, room }))),
  };
}

function neighborIn({ x, y }: Cell, direction: Direction): { readonly x: number; readonly y: number } {
  const [dx, dy] = stepOf[direction];
  return { x: x + dx, y: y + dy };
}

/** Chooses the kitchen and other rooms, in random order. */
function drawRoomNames({ rooms }: LayoutOptions, random: RandomGenerator): string[] {
  const otherRooms = shuffled(roomNames, random).filter((name) => name !== 'kitchen');
  return shuffled(['kitchen', ...otherRooms.slice(0, rooms - 1)], random);
}

/** Describes the rooms, connections and doors of a layout, in the order in which they were drawn. */
export const describeLayout = ({ rooms, doors }: Layout): string => JSON.stringify({ rooms, doors });
