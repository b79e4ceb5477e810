import { z } from 'zod';
import type { RandomGenerator } from '../../base/random/generator.js';
import type { DiscreteSpace, Observation, Task, TaskStep } from '../environment.js';
import { circle, type Frame, line } from '../frame.js';
import { Grid } from '../grid.js';

const probability = z.number().min(0).max(1);

export const taxiOptions = z.strictObject({
  /** If true, the taxi may drift to either side of the chosen direction. */
  is_rainy: z.boolean().default(false),
  /** If true, the passenger may change the destination during the first move in the taxi. */
  fickle_passenger: z.boolean().default(false),
  /** Probability of moving in the chosen direction in the rain; the two sides share the rest. */
  rainy_probability: probability.default(0.8),
  /** Probability that an episode's passenger is fickle. */
  fickle_probability: probability.default(0.3),
});
type TaxiOptions = z.output<typeof taxiOptions>;

const size = 5;
const grid = new Grid(size, size);
const stateCount = grid.size * 5 * 4;
const inTaxi = 4;

/** Tiles of the red, green, yellow and blue stands. */
const standTiles: readonly number[] = [0, 4, 20, 23];

/** For each row, the columns with a wall on their right. */
const walls: readonly (readonly number[])[] = [[1], [1], [], [0, 2], [0, 2]];

/** Directions of the actions south, north, east and west, as `Grid.move` numbers them. */
const directions = [2, 0, 1, 3] as const;
/** For each action, the actions to its left and right. */
const sides = [
  [2, 3],
  [3, 2],
  [1, 0],
  [0, 1],
] as const;
const pickUp = 4;

interface Situation {
  readonly place: number;
  /** Index of the stand where the passenger waits, or `inTaxi`. */
  readonly passenger: number;
  readonly destination: number;
}

/**
 * A taxi that picks up a passenger at one of four stands and takes them to another (Dietterich, 2000).
 * Observation: ((row · 5 + column) · 5 + passenger) · 4 + destination, where passenger 4 is in the taxi.
 * Action: 0 south, 1 north, 2 east, 3 west, 4 pick up, 5 drop off.
 */
export class Taxi implements Task<number> {
  readonly observationSpace: DiscreteSpace = { kind: 'discrete', n: stateCount };
  readonly actionSpace: DiscreteSpace = { kind: 'discrete', n: 6 };
  readonly #options: TaxiOptions;
  /** Probabilities of going straight, left and right. */
  readonly #drift: readonly number[];
  #random!: RandomGenerator;
  #situation: Situation = decode(0);
  #fickle = false;

  constructor(options: TaxiOptions) {
    this.#options = options;
    const sideShare = (1 - options.rainy_probability) / 2;
    this.#drift = options.is_rainy ? [options.rainy_probability, sideShare, sideShare] : singleOutcome;
  }

  reset(random: RandomGenerator): Observation {
    this.#random = random;
    const state = random.categorical(startProbabilities);
    this.#situation = decode(state);
    this.#fickle = this.#options.fickle_passenger && random.random() < this.#options.fickle_probability;
    return state;
  }

  step(action: number): TaskStep {
    if (action < pickUp) return this.#drive(action);
    this.#random.categorical(singleOutcome); // Gymnasium also consumes a random number here.
    return action === pickUp ? this.#pickUp() : this.#dropOff();
  }

  frame(): Frame {
    return drawTaxi(this.#situation);
  }

  #drive(action: number): TaskStep {
    const before = this.#situation;
    const drift = this.#random.categorical(this.#drift);
    // A taxi that is blocked in the chosen direction doesn't drift either.
    const blocked = isBlocked(before.place, action);
    const direction = drift === 0 ? action : sides[action]![drift - 1]!;
    const hasMoved = !blocked && !isBlocked(before.place, direction);
    if (!hasMoved) return this.#stepTo(before, -1, false);
    const after = { ...before, place: grid.move(before.place, directions[direction]!) };
    if (!this.#fickle || before.passenger !== inTaxi) return this.#stepTo(after, -1, false);
    this.#fickle = false;
    const others = [0, 1, 2, 3].filter((stand) => stand !== before.destination);
    return this.#stepTo({ ...after, destination: this.#random.choice(others) }, -1, false);
  }

  #pickUp(): TaskStep {
    const before = this.#situation;
    const isWaiting = before.passenger !== inTaxi && standTiles[before.passenger] === before.place;
    return isWaiting
      ? this.#stepTo({ ...before, passenger: inTaxi }, -1, false)
      : this.#stepTo(before, -10, false);
  }

  #dropOff(): TaskStep {
    const before = this.#situation;
    const stand = standTiles.indexOf(before.place);
    if (before.passenger !== inTaxi || stand === -1) return this.#stepTo(before, -10, false);
    const isDelivered = stand === before.destination;
    return this.#stepTo({ ...before, passenger: stand }, isDelivered ? 20 : -1, isDelivered);
  }

  #stepTo(situation: Situation, reward: number, terminated: boolean): TaskStep {
    this.#situation = situation;
    return { observation: encode(situation), reward, terminated };
  }
}

/** True if a wall or the edge of the town blocks an action. */
function isBlocked(place: number, action: number): boolean {
  const [row, column] = [Math.floor(place / size), place % size];
  if (grid.move(place, directions[action]!) === place) return true;
  return action > 1 && walls[row]!.includes(action === 2 ? column : column - 1);
}

function encode({ place, passenger, destination }: Situation): number {
  return (place * 5 + passenger) * 4 + destination;
}

function decode(state: number): Situation {
  return { place: Math.floor(state / 20), passenger: Math.floor(state / 4) % 5, destination: state % 4 };
}

const singleOutcome: readonly number[] = [1];

/** Uniform over the states in which the passenger waits at a stand other than the destination. */
const startProbabilities: readonly number[] = Array.from({ length: stateCount }, (_, state) => {
  const { passenger, destination } = decode(state);
  return passenger !== inTaxi && passenger !== destination ? 1 / 300 : 0;
});

/** Top view of the town: the taxi, the four stands, the passenger (a dot) and the destination (a filled stand). */
function drawTaxi({ place, passenger, destination }: Situation): Frame {
  const [x, y] = grid.center(passenger === inTaxi ? place : standTiles[passenger]!);
  const offset = passenger === inTaxi ? 0 : 0.3; // so that a waiting passenger doesn't seem to be in the taxi
  const wall = (row: number, right: number) => line([right + 1, -row], [right + 1, -row - 1], 0.12, 'ground');
  return {
    view: grid.view,
    shapes: [
      grid.tile(standTiles[destination]!, 'goal', 0.04),
      ...grid.lines,
      ...walls.flatMap((columns, row) => columns.map((right) => wall(row, right))),
      ...standTiles.map((stand, i) => grid.text(stand, 'RGYB'[i]!, 'guide', 0.5)),
      grid.tile(place, 'agent', 0.2),
      circle([x + offset, y - offset], 0.14, 'object'),
    ],
  };
}
