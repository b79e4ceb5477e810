/** Draws rooms on a grid, with connections, doors and furniture. */
import { type RandomGenerator, shuffled } from '../../../random/generator.js';
import {
  type Direction,
  type DoorPlan,
  directions,
  type Exit,
  opposite,
  type PlacePlan,
  type RoomPlan,
} from './plan.js';
import { doorNames, furnitureOf, roomNames } from './vocabulary.js';

export interface Layout {
  readonly rooms: readonly RoomPlan[];
  readonly doors: readonly DoorPlan[];
  readonly places: readonly PlacePlan[];
}

export interface LayoutOptions {
  readonly rooms: number;
  /** Whether there may be closed doors. */
  readonly doors: boolean;
  /** A room that must be included. */
  readonly with?: string;
}

const stepOf: Readonly<Record<Direction, readonly [number, number]>> = {
  north: [0, -1],
  east: [1, 0],
  south: [0, 1],
  west: [-1, 0],
};

/** Share of connections with a door, of doors that are closed, and of additional connections between neighbours. */
const doorShare = 0.5;
const closedShare = 0.7;
const loopShare = 0.15;

/** A room with its position on the grid. */
interface Cell {
  readonly x: number;
  readonly y: number;
  readonly exits: Partial<Record<Direction, Exit>>;
}

export function drawLayout(options: LayoutOptions, random: RandomGenerator): Layout {
  const names = chosenNames(options, random);
  const cells: Cell[] = [{ x: 0, y: 0, exits: {} }];
  const doors: DoorPlan[] = [];
  const unusedDoors = shuffled(doorNames, random);
  const join = (from: number, to: number, direction: Direction): void => {
    const hasDoor = options.doors && unusedDoors.length > 0 && random.random() < doorShare;
    const door = hasDoor ? { door: doors.length } : {};
    if (hasDoor) doors.push({ name: unusedDoors.pop()!, open: random.random() >= closedShare });
    cells[from]!.exits[direction] = { room: to, ...door };
    cells[to]!.exits[opposite[direction]] = { room: from, ...door };
  };
  while (cells.length < names.length) {
    const from = random.integers(0, cells.length);
    const direction = directions[random.integers(0, directions.length)]!;
    const { x, y } = beside(cells[from]!, direction);
    if (cells.some((cell) => cell.x === x && cell.y === y)) continue;
    cells.push({ x, y, exits: {} });
    join(from, cells.length - 1, direction);
  }
  for (const [index, cell] of cells.entries())
    for (const direction of ['east', 'south'] as const) {
      const { x, y } = beside(cell, direction);
      const neighbour = cells.findIndex((other) => other.x === x && other.y === y);
      const isNew = neighbour >= 0 && cell.exits[direction] === undefined;
      if (isNew && random.random() < loopShare) join(index, neighbour, direction);
    }
  return {
    rooms: cells.map(({ exits }, room) => ({ name: names[room]!, exits })),
    doors,
    places: names.flatMap((name, room) => furnitureOf[name]!.map((place) => ({ ...place, room }))),
  };
}

function beside({ x, y }: Cell, direction: Direction): { readonly x: number; readonly y: number } {
  const [dx, dy] = stepOf[direction];
  return { x: x + dx, y: y + dy };
}

function chosenNames({ rooms, with: needed }: LayoutOptions, random: RandomGenerator): string[] {
  const others = shuffled(roomNames, random).filter((name) => name !== needed);
  const chosen = needed === undefined ? others.slice(0, rooms) : [needed, ...others.slice(0, rooms - 1)];
  return shuffled(chosen, random);
}

/** Two layouts are the same if rooms, connections and doors are. */
export const describeLayout = ({ rooms, doors }: Layout): string => JSON.stringify({ rooms, doors });
