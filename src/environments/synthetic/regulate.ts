import { drawActuators } from './actuators.js';
import { ControlledSystem } from './controlled-system.js';
import { ControlledTask } from './controlled-task.js';
import { chance, integerBetween, logUniform } from './distributions.js';
import type { ControlOptions, Draw } from './draw.js';
import { drawLinearPlant, drawRotors } from './plant.js';
import { drawSensors } from './sensors.js';
import { drawSizes } from './sizes.js';

/**
 * A system that is to be held at zero: a quadratic cost of state and action each step, no end. A third of the draws are
 * rotating systems of one or two joints, seen as cosine, sine and velocity.
 */
export const drawRegulation: Draw<ControlOptions> = (random, options) => {
  const { observations, dimension, kind } = drawSizes(random, options);
  const joints = integerBetween(random, 1, 2);
  const rotorsFit = options.observations === undefined || options.observations === 3 * joints;
  const rotating = chance(random, 1 / 3) && rotorsFit && (3 * joints + 1) * kind.count <= 24;
  const plant = rotating
    ? drawRotors(random, joints)
    : drawLinearPlant(random, dimension, random.uniform(0.9, 1.04));
  const n = plant.dimension;
  const spread = rotating ? random.choice([0.3, Math.PI, Math.PI]) : logUniform(random, 0.1, 1);
  const strength = rotating ? logUniform(random, 0.05, 0.6) : logUniform(random, 0.02, 0.3);
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, kind, strength),
    sensors: drawSensors(random, plant, observations),
    start: { centre: new Float64Array(n), spread: new Float64Array(n).fill(spread) },
    noise: chance(random, 0.3) ? strength * logUniform(random, 0.02, 0.3) : 0,
    // The cost of a system that ran away is bounded, and not of another order than that of a bad regulation.
    wall: rotating ? Number.MAX_VALUE : 10,
  });
  const weights = Float64Array.from({ length: n }, (_, i) => {
    const velocity = rotating && i % 2 === 1;
    return velocity ? logUniform(random, 0.003, 0.3) : chance(random, 0.7) ? logUniform(random, 0.1, 3) : 0;
  });
  weights[0] = 1;
  const task = new ControlledTask(system, {
    kind: 'regulate',
    weights,
    isAngle: Array.from({ length: n }, (_, i) => plant.angles.includes(i)),
    effortCost: logUniform(random, 0.001, 0.3),
    scale: logUniform(random, 0.1, 10),
  });
  return { task, maxSteps: 10 * integerBetween(random, 5, 15) };
};
