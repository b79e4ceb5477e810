/** The parts of a house and where everything is at the start. */

export const directions = ['north', 'east', 'south', 'west'] as const;
export type Direction = (typeof directions)[number];

export const opposite: Readonly<Record<Direction, Direction>> = {
  north: 'south',
  east: 'west',
  south: 'north',
  west: 'east',
};

/** Ways to cut food. */
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
  /** Initial state of a container. */
  readonly state?: 'open' | 'closed' | 'locked';
  /** Index of the thing that unlocks it. */
  readonly key?: number;
  /** How it cooks food. */
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
  /** Can cut food. */
  readonly sharp?: boolean;
  /** Can be eaten as it is, but neither cut nor cooked. */
  readonly dish?: boolean;
  /** Text shown when it is read. */
  readonly text?: string;
}

export interface HousePlan {
  readonly rooms: readonly RoomPlan[];
  readonly doors: readonly DoorPlan[];
  readonly places: readonly PlacePlan[];
  readonly things: readonly ThingPlan[];
  /** Room in which the player starts. */
  readonly start: number;
  /** Maximum number of things carried at once; Infinity for no limit. */
  readonly capacity: number;
}
