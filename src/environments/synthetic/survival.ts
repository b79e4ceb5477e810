import { drawActuators } from './actuators.js';
import { drawShare, peaksOfRandomPolicies, policiesFor, quantile } from './calibration.js';
import { ControlledSystem } from './controlled-system.js';
import { ControlledTask, excursion } from './controlled-task.js';
import { chance, integerBetween, logUniform } from './distributions.js';
import type { ControlOptions, Draw } from './draw.js';
import { drawLinearPlant } from './plant.js';
import { drawSensors } from './sensors.js';
import { drawSizes } from './sizes.js';

/** Beyond this many times the reference box a policy has failed. */
const hopeless = 30;

/**
 * An unstable or marginally stable system that is to be kept in a box: 1 a step until it leaves. The box is made as
 * wide as lets the wanted share of random linear policies stay in it for the whole episode.
 */
export const drawSurvival: Draw<ControlOptions> = (random, options) => {
  const { observations, dimension, kind } = drawSizes(random, options);
  const growth = 1 + logUniform(random, 0.003, 0.1);
  const plant = drawLinearPlant(random, dimension, growth);
  const spread = logUniform(random, 0.02, 0.3);
  const strength = logUniform(random, 0.5, 4) * Math.max(growth - 1, 0.02);
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, kind, strength),
    sensors: drawSensors(random, plant, observations),
    start: { centre: new Float64Array(dimension), spread: new Float64Array(dimension).fill(spread) },
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
  // Too narrow a box is left at once; in too wide a one control is no longer what counts.
  if (scale > hopeless / 2 || scale < (2 * spread) / Math.min(...limits)) return undefined;
  const task = new ControlledTask(system, { kind: 'survive', limits: limits.map((limit) => limit * scale) });
  return { task, maxSteps };
};
