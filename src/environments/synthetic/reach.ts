import type { RandomGenerator } from '../../random/generator.js';
import { largest } from '../../statistics/descriptive.js';
import { type Actuators, drawActuatorKind, drawActuators, drawSizes } from './actuators.js';
import { drawShare, peakOf, peaksOfRandomPolicies, policiesFor, quantile } from './calibration.js';
import { ControlledSystem, ControlledTask, type Objective, projection } from './controlled-task.js';
import {
  type BaselineOptions,
  chance,
  type Draw,
  integerBetween,
  logUniform,
  randomSign,
  unitVector,
} from './distributions.js';
import { drawLinearPlant, drawOscillators } from './plant.js';
import { drawSensors } from './sensors.js';

/**
 * A marginally stable system that must be brought across a distant line in state space: either each step costs 1 until
 * then, or only actions cost. The line is placed so that the target share of random linear policies reaches it.
 */
export const drawReach: Draw<BaselineOptions> = (random, options) => {
  const { observations, dimension, kind } = drawSizes(random, options);
  const plant = drawLinearPlant(random, dimension, random.uniform(0.93, 1.005));
  const spread = logUniform(random, 0.02, 0.3);
  const strength = logUniform(random, 0.02, 0.2);
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, kind, strength),
    sensors: drawSensors(random, plant, observations),
    spread,
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
  // Rejects lines close to the start, and lines that only a collision with the walls reaches.
  if (threshold < 3 * spread || threshold > 15) return undefined;
  const task = new ControlledTask(system, drawGoal(random, direction, threshold, maxSteps));
  return { task, maxSteps };
};

/**
 * In half of the draws each step costs 1 until the goal is reached; in the other half only effort costs, and
 * the goal pays.
 */
function drawGoal(
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

/**
 * Lightly damped oscillators with a force too weak to push them to the goal directly: energy must be pumped in by a
 * force that follows the velocity. The goal is beyond the reach of any constant action but within reach of pumping.
 */
export const drawPump: Draw<BaselineOptions> = (random, options) => {
  const kind = drawActuatorKind(random, options);
  const drawnPairs = chance(random, 0.7) || 5 * kind.count > 24 ? 1 : 2;
  const pairs = options.observations === undefined ? drawnPairs : Math.ceil(options.observations / 2);
  const observations = options.observations ?? 2 * pairs;
  const plant = drawOscillators(random, pairs);
  const n = plant.dimension;
  const spread = logUniform(random, 0.01, 0.1);
  const strength = logUniform(random, 0.003, 0.1);
  // Velocities are often scaled down, as in the mountain car; feedback then needs weights that are rarely
  // drawn.
  const scales = Array.from({ length: n }, (_, i) =>
    i % 2 === 1 ? logUniform(random, 0.02, 2) : logUniform(random, 0.1, 2),
  );
  const system = new ControlledSystem({
    plant,
    actuators: drawActuators(random, plant, kind, strength),
    sensors: drawSensors(random, plant, observations, scales),
    spread,
    noise: chance(random, 0.25) ? strength * logUniform(random, 0.02, 0.2) : 0,
    wall: 20,
  });
  const direction = new Float64Array(n);
  direction[2 * random.integers(0, pairs)] = randomSign(random);
  const maxSteps = 10 * integerBetween(random, 10, 30);
  const share = drawShare(random);
  const trial = {
    steps: maxSteps,
    measure: (state: Float64Array) => projection(state, direction),
    beyond: Number.POSITIVE_INFINITY,
  };
  const pumped = pumpedPeak(system, random, trial);
  const nearest = 1.15 * constantPeak(system, random, trial);
  const furthest = 0.97 * pumped;
  if (nearest >= furthest) return undefined;
  const peaks = peaksOfRandomPolicies(system, random, { ...trial, policies: policiesFor(share) });
  const threshold = Math.min(furthest, Math.max(nearest, quantile(peaks, 1 - share)));
  if (threshold > peaks.at(-1)!) return undefined;
  const task = new ControlledTask(system, drawGoal(random, direction, threshold, maxSteps));
  return { task, maxSteps };
};

type PumpTrial = Parameters<typeof peakOf>[2];

/** The farthest that constant actions get, over a few episodes each, starting from twice the usual spread. */
function constantPeak(system: ControlledSystem, random: RandomGenerator, trial: PumpTrial): number {
  const wilder = new ControlledSystem({ ...system.parts, spread: 2 * system.parts.spread });
  const peaks = constantActions(system.parts.actuators).flatMap((action) =>
    Array.from({ length: 4 }, () => peakOf(wilder, random, trial, () => action)),
  );
  return largest([0, ...peaks]);
}

function constantActions({ kind, count, bound }: Actuators): readonly (number | readonly number[])[] {
  if (kind === 'discrete') return Array.from({ length: count }, (_, a) => a);
  return Array.from({ length: 3 ** count }, (_, i) =>
    Array.from({ length: count }, (_, a) => bound * ((Math.floor(i / 3 ** a) % 3) - 1)),
  );
}

/** The farthest that the policy gets which always pushes in the direction of the driven velocity. */
function pumpedPeak(system: ControlledSystem, random: RandomGenerator, trial: PumpTrial): number {
  const { kind, count, bound, pushes } = system.parts.actuators;
  const n = system.state.length;
  return peakOf(system, random, trial, () => {
    const along = Array.from({ length: count }, (_, a) => pushes[a * n + 1]! * system.state[1]!);
    if (kind === 'discrete') return along.indexOf(largest(along));
    return along.map((value) => (value > 0 ? bound : -bound));
  });
}
