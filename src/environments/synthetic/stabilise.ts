import { smallest } from '../../statistics/descriptive.js';
import { drawActuators, drawSizes } from './actuators.js';
import { drawShare, peaksOfRandomPolicies, policiesFor, quantile } from './calibration.js';
import { ControlledSystem, ControlledTask, excursion } from './controlled-task.js';
import { type BaselineOptions, chance, type Draw, integerBetween, logUniform } from './distributions.js';
import { drawLinearPlant, drawRotors } from './plant.js';
import { drawSensors } from './sensors.js';

/**
 * A system that must be held at zero: each step has a quadratic cost of state and action, and episodes never end early.
 * A third of the draws are rotating systems with one or two joints, observed as cosine, sine and velocity.
 */
export const drawRegulation: Draw<BaselineOptions> = (random, options) => {
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
    spread,
    noise: chance(random, 0.3) ? strength * logUniform(random, 0.02, 0.3) : 0,
    // The wall bounds the cost of a diverging system to that of a bad controller.
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

/** A policy that leaves the reference box scaled by this has failed. */
const hopeless = 30;

/**
 * An unstable or marginally stable system that must be kept in a box: 1 per step until it leaves. The box is
 * sized so that the target share of random linear policies stays in it for the whole episode.
 */
export const drawSurvival: Draw<BaselineOptions> = (random, options) => {
  const { observations, dimension, kind } = drawSizes(random, options);
  const growth = 1 + logUniform(random, 0.003, 0.1);
  const plant = drawLinearPlant(random, dimension, growth);
  const spread = logUniform(random, 0.02, 0.3);
  const strength = logUniform(random, 0.5, 4) * Math.max(growth - 1, 0.02);
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, kind, strength),
    sensors: drawSensors(random, plant, observations),
    spread,
    noise: chance(random, 0.3) ? strength * logUniform(random, 0.02, 0.3) : 0,
    wall: 1e6,
  });
  const limits = Float64Array.from({ length: dimension }, () => logUniform(random, 0.5, 2));
  const maxSteps = 10 * integerBetween(random, 10, 20);
  const share = drawShare(random);
  const trial = { steps: maxSteps, measure: (state: Float64Array) => excursion(state, limits) };
  const peaks = peaksOfRandomPolicies(system, random, {
    ...trial,
    policies: policiesFor(share),
    beyond: hopeless,
  });
  const scale = quantile(peaks, share);
  // A box that is too narrow is left at once; one that is too wide makes control irrelevant.
  if (scale > hopeless / 2 || scale < (2 * spread) / smallest(limits)) return undefined;
  const task = new ControlledTask(system, { kind: 'survive', limits: limits.map((limit) => limit * scale) });
  return { task, maxSteps };
};
