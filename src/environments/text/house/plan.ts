/** What a house is made of, and where everything lies at the start. */

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

/** Ways to cook food, each by an appliance of its own. */
export const heats = ['fried', 'roasted', 'grilled'] as const;
export type Heat = (typeof heats)[number];

export interface Exit {
  /** Index of the room it leads to. */
  readonly room: number;
  /** Index of the door in it; absent: an open way. */
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

/** Furniture: things lie on a surface or in a container. */
export interface PlacePlan {
  readonly name: string;
  readonly room: number;
  readonly kind: 'surface' | 'container';
  /** The state of a container at the start. */
  readonly state?: 'open' | 'closed' | 'locked';
  /** Index of the thing that unlocks it. */
  readonly key?: number;
  /** What happens to food that is cooked with it. */
  readonly heat?: Heat;
}

/** Where a thing is: carried, no longer there, on the floor of a room, or on or in a place. */
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
  /** Food is cut with it. */
  readonly sharp?: boolean;
  /** Can be eaten as it is, but neither cut nor cooked. */
  readonly dish?: boolean;
  /** What it says to who reads it. */
  readonly text?: string;
}

export interface HousePlan {
  readonly rooms: readonly RoomPlan[];
  readonly doors: readonly DoorPlan[];
  readonly places: readonly PlacePlan[];
  readonly things: readonly ThingPlan[];
  /** Room in which the player starts. */
  readonly start: number;
  /** Most things carried at once; Infinity: any number. */
  readonly capacity: number;
}
