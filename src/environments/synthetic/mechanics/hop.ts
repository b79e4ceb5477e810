import type { RandomGenerator } from '../../../random/generator.js';
import { chance, type Draw, integerBetween, logUniform } from '../distributions.js';
import { drawControllerHint } from '../hints.js';
import { type CreatureParts, createCreature, type Rod } from './creature.js';
import { drawMotors, drawSensing, type MechanicalParts, MechanicalTask } from './mechanical-task.js';

type Place = readonly [x: number, y: number];

/**
 * A body of rods and muscles on one or two feet that must move forward without falling. Each step earns the alive bonus
 * and, in most draws, the speed, minus the effort. An episode ends when the body has sunk too low.
 */
export const drawHop: Draw<object> = (random) => {
  const places = drawBody(random);
  const nodes = places.length;
  const parts = drawCreature(random, places);
  const plant = createCreature(parts);
  const actuators = drawMotors(
    random,
    plant,
    plant.driven.map(() => 1),
  );
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

/** One or two feet on the floor, and further nodes above them, the last one highest. */
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

/** Up to eight rods between the nodes; one to three of them, starting with those of the feet, are muscles. */
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
