import type { RandomGenerator } from '../../random.js';
import { drawActuators } from './actuators.js';
import { drawShare, peaksOfRandomPolicies, policiesFor, quantile } from './calibration.js';
import { ControlledSystem } from './controlled-system.js';
import { ControlledTask, type Objective, projection } from './controlled-task.js';
import { chance, integerBetween, logUniform, unitVector } from './distributions.js';
import type { ControlOptions, Draw } from './draw.js';
import { drawLinearPlant } from './plant.js';
import { drawSensors } from './sensors.js';
import { drawSizes } from './sizes.js';

/**
 * A marginally stable system that is to be brought over a far line in the space of states: −1 a step until then, or
 * nothing but the cost of actions. The line lies where the wanted share of random linear policies comes to.
 */
export const drawReach: Draw<ControlOptions> = (random, options) => {
  const { observations, dimension, kind } = drawSizes(random, options);
  const plant = drawLinearPlant(random, dimension, random.uniform(0.93, 1.005));
  const spread = logUniform(random, 0.02, 0.3);
  const strength = logUniform(random, 0.02, 0.2);
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, kind, strength),
    sensors: drawSensors(random, plant, observations),
    start: { centre: new Float64Array(dimension), spread: new Float64Array(dimension).fill(spread) },
    noise: chance(random, 0.3) ? strength * logUniform(random, 0.02, 0.3) : 0,
    wall: 20,
  });
  const direction = unitVector(random, dimension);
  const maxSteps = 10 * integerBetween(random, 6, 20);
  const share = drawShare(random);
  const peaks = peaksOfRandomPolicies(system, random, {
    policies: policiesFor(share),
    steps: maxSteps,
    measure: (state) => projection(state, direction),
    beyond: Number.POSITIVE_INFINITY,
  });
  const threshold = quantile(peaks, 1 - share);
  // Not what a start is near to, nor what only a run into the walls reaches.
  if (threshold < 3 * spread || threshold > 15) return undefined;
  return {
    task: new ControlledTask(system, drawGoal(random, direction, threshold, maxSteps)),
    maxSteps,
  };
};

/** In half of the draws steps cost and the goal ends them; in the other half only efforts cost and the goal pays. */
export function drawGoal(
  random: RandomGenerator,
  direction: Float64Array,
  threshold: number,
  maxSteps: number,
): Objective {
  const goal = { kind: 'reach', direction, threshold } as const;
  if (chance(random, 0.5)) {
    const bonus = chance(random, 0.7) ? 0 : logUniform(random, 1, 100);
    return { ...goal, stepCost: 1, effortCost: 0, bonus };
  }
  const bonus = logUniform(random, 1, 100);
  return { ...goal, stepCost: 0, effortCost: (bonus * random.uniform(0.3, 1.2)) / maxSteps, bonus };
}
