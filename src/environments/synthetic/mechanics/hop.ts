import type { RandomGenerator } from '../../../random/generator.js';
import { largest } from '../../../statistics/descriptive.js';
import { chance, type Draw, drawControllerHint, integerBetween, logUniform } from '../distributions.js';
import type { Plant } from '../plant.js';
import { drawMotors, drawSensing, type MechanicalParts, MechanicalTask } from './mechanical-task.js';

/** A spring between two nodes: a bone or, if its rest length can change, a muscle. */
interface Rod {
  readonly from: number;
  readonly to: number;
  readonly length: number;
  /** Maximum change of a muscle's rest length, as a share of that length; 0 for a bone. */
  readonly range: number;
}

/** Point masses in a vertical plane above a floor, connected by rods. */
interface CreatureParts {
  readonly masses: readonly number[];
  readonly rods: readonly Rod[];
  /** Force of a rod per unit of stretch, and per unit of its rate of change. */
  readonly stiffness: number;
  readonly damping: number;
  readonly gravity: number;
  /** Friction coefficient of the floor: maximum ratio of sideways to upward force. */
  readonly grip: number;
  readonly seconds: number;
  /** Share of the remaining distance to its target length that a muscle covers per step. */
  readonly quickness: number;
}

/** Integration steps per step of the task; contact is stiff, so one isn't enough. */
const substeps = 5;
/** Well below this sideways velocity, friction is viscous, so feet creep. */
const creeping = 0.05;
const fastest = 50;

/**
 * Newton's equations, integrated with the semi-implicit Euler method. The floor at height 0 pushes like a damped spring
 * and has friction. State: x, y and their velocities for each node, then each muscle's change of length relative to its
 * range. A push is the target value of that change.
 */
export function createCreature({
  damping,
  gravity,
  grip,
  masses,
  quickness,
  rods,
  seconds,
  stiffness,
}: CreatureParts): Plant {
  const nodes = masses.length;
  const muscles = rods.flatMap(({ range }, rod) => (range > 0 ? [rod] : []));
  const muscleOf = rods.map((_, rod) => muscles.indexOf(rod));
  const tail = 4 * nodes;
  const step = seconds / substeps;
  const force = new Float64Array(2 * nodes);
  const heaviest = largest(masses);
  // The floor is as stiff as the step size allows, so that feet sink in and bounce only a little.
  const [floor, floorDamping] = [0.15 * heaviest * step ** -2, 0.3 * heaviest * step ** -1];
  return {
    dimension: tail + muscles.length,
    driven: muscles.map((_, i) => tail + i),
    angles: [],
    advance(state, push) {
      for (let i = tail; i < state.length; i++) {
        const wanted = Math.min(1, Math.max(-1, push[i]!));
        state[i]! += quickness * (wanted - state[i]!);
      }
      for (let part = 0; part < substeps; part++) {
        for (let i = 0; i < nodes; i++) {
          const [y, vx, vy] = [state[4 * i + 1]!, state[4 * i + 2]!, state[4 * i + 3]!];
          const up = y < 0 ? Math.max(0, -floor * y - floorDamping * vy) : 0;
          force[2 * i] = (-grip * up * vx) / (Math.abs(vx) + creeping);
          force[2 * i + 1] = up - gravity * masses[i]!;
        }
        for (let rod = 0; rod < rods.length; rod++) {
          const { from, length, range, to } = rods[rod]!;
          const [a, b] = [4 * from, 4 * to];
          const [dx, dy] = [state[b]! - state[a]!, state[b + 1]! - state[a + 1]!];
          const apart = Math.sqrt(dx * dx + dy * dy) + 1e-9;
          const [ux, uy] = [dx / apart, dy / apart];
          const wanted = range > 0 ? length * (1 + range * state[tail + muscleOf[rod]!]!) : length;
          const parting = ux * (state[b + 2]! - state[a + 2]!) + uy * (state[b + 3]! - state[a + 3]!);
          const pull = stiffness * (apart - wanted) + damping * parting;
          force[2 * from]! += pull * ux;
          force[2 * from + 1]! += pull * uy;
          force[2 * to]! -= pull * ux;
          force[2 * to + 1]! -= pull * uy;
        }
        for (let i = 0; i < nodes; i++) {
          for (let axis = 0; axis < 2; axis++) {
            const velocity = state[4 * i + 2 + axis]! + (step * force[2 * i + axis]!) / masses[i]!;
            const bounded = Math.min(fastest, Math.max(-fastest, velocity));
            state[4 * i + 2 + axis] = bounded;
            state[4 * i + axis]! += step * bounded;
          }
        }
      }
    },
  };
}

type Place = readonly [x: number, y: number];

/** A body of rods and muscles that must not fall. Reward: a bonus per step, usually plus speed and minus effort. */
export const drawHop: Draw<object> = (random) => {
  const places = drawBody(random);
  const nodes = places.length;
  const parts = drawCreature(random, places);
  const plant = createCreature(parts);
  const actuators = drawMotors(random, plant, 1);
  const height = (state: Float64Array) => {
    let sum = 0;
    for (let i = 0; i < nodes; i++) sum += state[4 * i + 1]!;
    return sum / nodes;
  };
  const standing = places.reduce((sum, [, y]) => sum + y, 0) / nodes;
  const lowest = standing * random.uniform(0.4, 0.75);
  const alive = logUniform(random, 0.1, 3);
  const onward = chance(random, 0.75) ? logUniform(random, 0.1, 3) : 0;
  const effortCost = chance(random, 0.7) ? logUniform(random, 0.001, 0.3) : 0;
  const jitter = logUniform(random, 0.003, 0.1);
  const speedOf = (state: Float64Array, axis: 0 | 1) => {
    let sum = 0;
    for (let i = 0; i < nodes; i++) sum += state[4 * i + 2 + axis]!;
    return sum / nodes;
  };
  const top = nodes - 1;
  const measure: MechanicalParts['measure'] = (state) => {
    const lean = state[4 * top]! - state[0]!;
    const turning = state[4 * top + 2]! - state[2]!;
    const seen = [speedOf(state, 0), speedOf(state, 1), lean, turning];
    for (let i = 0; i < nodes; i++) seen.push(state[4 * i + 1]!);
    for (let i = 4 * nodes; i < state.length; i++) seen.push(state[i]!);
    return seen;
  };
  const observations = measure(new Float64Array(plant.dimension)).length;
  const linear = drawControllerHint(random, { observations, outputs: actuators.count });
  const task = new MechanicalTask({
    plant,
    actuators,
    noise: 0,
    start(state, episode) {
      for (const [i, [x, y]] of places.entries()) {
        state[4 * i] = x + jitter * episode.normal();
        state[4 * i + 1] = y + Math.abs(jitter * episode.normal());
      }
    },
    measure,
    sensing: drawSensing(random, observations, actuators, linear),
    judge(state, effort) {
      const fallen = height(state) < lowest;
      const earned = onward * speedOf(state, 0) - effortCost * effort;
      return { reward: fallen ? 0 : alive + earned, terminated: fallen };
    },
  });
  return { task, maxSteps: 10 * integerBetween(random, 10, 30), linear };
};

/** Draws one or two feet on the floor, and nodes above them, usually in ascending order. */
function drawBody(random: RandomGenerator): readonly Place[] {
  const feet = integerBetween(random, 1, 2);
  const width = random.uniform(0.3, 1);
  const others = integerBetween(random, feet === 1 ? 2 : 1, 3);
  return [
    ...Array.from({ length: feet }, (_, i): Place => [feet === 1 ? 0 : (i - 0.5) * width, 0]),
    ...Array.from({ length: others }, (_, i): Place => {
      const level = (i + 1) / others;
      return [random.uniform(-0.4, 0.4), level * random.uniform(0.7, 1.2) + 0.1];
    }),
  ];
}

/** Up to eight rods between the nodes. One to three of them are muscles, starting with those of the first foot. */
function drawCreature(random: RandomGenerator, places: readonly Place[]): CreatureParts {
  const pairs = places.flatMap((_, from) =>
    places.slice(from + 1).map((__, i) => [from, from + 1 + i] as const),
  );
  const muscles = integerBetween(random, 1, 3);
  const range = logUniform(random, 0.08, 0.5);
  const rods = pairs.slice(0, 8).map(([from, to], i): Rod => {
    const length = Math.hypot(places[to]![0] - places[from]![0], places[to]![1] - places[from]![1]);
    return { from, to, length, range: i < muscles ? range : 0 };
  });
  const seconds = logUniform(random, 0.015, 0.04);
  const frequency = random.uniform(12, 30);
  return {
    masses: places.map(() => logUniform(random, 0.5, 2)),
    rods,
    stiffness: frequency ** 2,
    damping: 2 * frequency * random.uniform(0.03, 0.3),
    gravity: logUniform(random, 3, 15),
    grip: logUniform(random, 0.3, 2),
    seconds,
    quickness: random.uniform(0.2, 1),
  };
}
