/** Control tasks: keeping a system at zero or in a box, steering it to a goal, or moving it forward. */
import type { RandomGenerator } from '../../../../src/base/random/generator.js';
import { largest, smallest } from '../../../../src/statistics/descriptive.js';
import { type Actuators, drawActuatorKind, drawActuators, drawSizes } from './actuators.js';
import {
  ControlledSystem,
  ControlledTask,
  drawShare,
  excursion,
  type Judge,
  peakOf,
  peaksOfRandomPolicies,
  policiesFor,
  projection,
  quantile,
  type SystemParts,
} from './controlled-task.js';
import { chance, type Draw, integerBetween, logUniform, randomSign, unitVector } from './distributions.js';
import { drawLinearPlant, drawOscillators, drawRotors, drawSensors, type Plant } from './plant.js';

/** @param noisy share of draws with noise, and maximum standard deviation of the noise relative to the strength */
function drawSystem(
  random: RandomGenerator,
  plant: Plant,
  given: Pick<SystemParts, 'spread' | 'wall'> & {
    readonly kind: Pick<Actuators, 'kind' | 'count'>;
    readonly strength: number;
    readonly observations: number;
    readonly scales?: readonly number[];
    readonly noisy: readonly [share: number, most: number];
  },
): ControlledSystem {
  const { kind, noisy, observations, scales, spread, strength, wall } = given;
  const actuators = drawActuators(random, plant, kind, strength);
  const sensors = drawSensors(random, plant, observations, scales);
  const noise = chance(random, noisy[0]) ? strength * logUniform(random, 0.02, noisy[1]) : 0;
  return new ControlledSystem({ plant, actuators, sensors, spread, noise, wall });
}

/** Keeping a system at zero, with quadratic costs. In up to a third of the draws, the system rotates. */
export const drawRegulation: Draw = (random) => {
  const { observations, dimension, kind } = drawSizes(random);
  const joints = integerBetween(random, 1, 2);
  const rotating = chance(random, 1 / 3) && (3 * joints + 1) * kind.count <= 24;
  const plant = rotating
    ? drawRotors(random, joints)
    : drawLinearPlant(random, dimension, random.uniform(0.9, 1.04));
  const n = plant.dimension;
  const spread = rotating ? random.choice([0.3, Math.PI, Math.PI]) : logUniform(random, 0.1, 1);
  const strength = rotating ? logUniform(random, 0.05, 0.6) : logUniform(random, 0.02, 0.3);
  const system = drawSystem(random, plant, {
    kind,
    strength,
    observations,
    spread,
    noisy: [0.3, 0.3],
    // The wall limits the cost of a system that diverges.
    wall: rotating ? Number.MAX_VALUE : 10,
  });
  const weights = Float64Array.from({ length: n }, (_, i) => {
    const velocity = rotating && i % 2 === 1;
    return velocity ? logUniform(random, 0.003, 0.3) : chance(random, 0.7) ? logUniform(random, 0.1, 3) : 0;
  });
  weights[0] = 1;
  const isAngle = Array.from({ length: n }, (_, i) => plant.angles.includes(i));
  const effortCost = logUniform(random, 0.001, 0.3);
  const scale = logUniform(random, 0.1, 10);
  const task = new ControlledTask(system, (state, effort) => {
    let cost = effortCost * effort;
    for (let i = 0; i < n; i++) {
      // Angles are wrapped to [−π, π).
      const turns = isAngle[i] ? Math.floor((state[i]! + Math.PI) / (2 * Math.PI)) : 0;
      const deviation = turns === 0 ? state[i]! : state[i]! - 2 * Math.PI * turns;
      cost += weights[i]! * deviation * deviation;
    }
    return { reward: -scale * cost, terminated: false };
  });
  return { task, maxSteps: 10 * integerBetween(random, 5, 15) };
};

/** A policy has failed if it leaves the reference box scaled by this factor. */
const hopeless = 30;

/** Keeping an unstable system in a box, sized so that the target share of random linear policies succeeds. */
export const drawSurvival: Draw = (random) => {
  const { observations, dimension, kind } = drawSizes(random);
  const growth = 1 + logUniform(random, 0.003, 0.1);
  const plant = drawLinearPlant(random, dimension, growth);
  const spread = logUniform(random, 0.02, 0.3);
  const strength = logUniform(random, 0.5, 4) * Math.max(growth - 1, 0.02);
  const system = drawSystem(random, plant, {
    kind,
    strength,
    observations,
    spread,
    noisy: [0.3, 0.3],
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
  // Reject boxes so narrow that they are left immediately, or so wide that control is irrelevant.
  if (scale > hopeless / 2 || scale < (2 * spread) / smallest(limits)) return undefined;
  const box = limits.map((limit) => limit * scale);
  const task = new ControlledTask(system, (state) => ({ reward: 1, terminated: excursion(state, box) > 1 }));
  return { task, maxSteps };
};

/** Steering a nearly marginally stable system across a line that the target share of random linear policies reaches. */
export const drawReach: Draw = (random) => {
  const { observations, dimension, kind } = drawSizes(random);
  const plant = drawLinearPlant(random, dimension, random.uniform(0.93, 1.005));
  const spread = logUniform(random, 0.02, 0.3);
  const strength = logUniform(random, 0.02, 0.2);
  const system = drawSystem(random, plant, {
    kind,
    strength,
    observations,
    spread,
    noisy: [0.3, 0.3],
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
  // Reject lines close to the start, and lines reached only by running into the walls.
  if (threshold < 3 * spread || threshold > 15) return undefined;
  const task = new ControlledTask(system, drawGoal(random, direction, threshold, maxSteps));
  return { task, maxSteps };
};

/** Either each step costs 1 and the goal may earn a bonus, or effort has a cost and the goal earns a bonus. */
function drawGoal(
  random: RandomGenerator,
  direction: Float64Array,
  threshold: number,
  maxSteps: number,
): Judge {
  const stepCost = chance(random, 0.5) ? 1 : 0;
  const bonus = stepCost === 1 && chance(random, 0.7) ? 0 : logUniform(random, 1, 100);
  const effortCost = stepCost === 1 ? 0 : (bonus * random.uniform(0.3, 1.2)) / maxSteps;
  return (state, effort) => {
    const reached = projection(state, direction) >= threshold;
    return { reward: (reached ? bonus : 0) - stepCost - effortCost * effort, terminated: reached };
  };
}

/** Oscillators whose motors are too weak to reach the goal directly: pushes along the velocity must pump in energy. */
export const drawPump: Draw = (random) => {
  const kind = drawActuatorKind(random);
  const pairs = chance(random, 0.7) || 5 * kind.count > 24 ? 1 : 2;
  const observations = 2 * pairs;
  const plant = drawOscillators(random, pairs);
  const n = plant.dimension;
  const spread = logUniform(random, 0.01, 0.1);
  const strength = logUniform(random, 0.003, 0.1);
  // Velocities are often scaled down, as in MountainCar; feedback then needs weights that are rarely drawn.
  const scales = Array.from({ length: n }, (_, i) =>
    i % 2 === 1 ? logUniform(random, 0.02, 2) : logUniform(random, 0.1, 2),
  );
  const system = drawSystem(random, plant, {
    kind,
    strength,
    observations,
    scales,
    spread,
    noisy: [0.25, 0.2],
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

/** Highest peak that a constant action reaches in a few episodes with twice the usual spread of initial states. */
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

/** The peak that a policy reaches by always pushing in the direction of the driven velocity. */
function pumpedPeak(system: ControlledSystem, random: RandomGenerator, trial: PumpTrial): number {
  const { kind, count, bound, pushes } = system.parts.actuators;
  const n = system.state.length;
  return peakOf(system, random, trial, () => {
    const along = Array.from({ length: count }, (_, a) => pushes[a * n + 1]! * system.state[1]!);
    if (kind === 'discrete') return along.indexOf(largest(along));
    return along.map((value) => (value > 0 ? bound : -bound));
  });
}

/** A body that swims by moving two damped joints in cycles. Reward: scale · (speed − effortCost · effort). */
export const drawLocomotion: Draw = (random) => {
  const observations = integerBetween(random, 4, 8);
  const plant = drawSwimmer(random, Math.max(1, observations - 4));
  const n = plant.dimension;
  const strength = logUniform(random, 0.03, 0.3);
  const scales = Array.from({ length: n }, () => logUniform(random, 0.1, 3));
  const system = drawSystem(random, plant, {
    kind: { kind: 'continuous', count: 2 },
    strength,
    observations,
    scales,
    spread: 0.1,
    noisy: [0.3, 0.2],
    wall: 20,
  });
  const effortCost = chance(random, 0.7) ? logUniform(random, 1e-4, 0.05) : 0;
  const scale = logUniform(random, 0.1, 10);
  const task = new ControlledTask(system, (state, effort) => {
    return { reward: scale * (state[4]! - effortCost * effort), terminated: false };
  });
  return { task, maxSteps: 10 * integerBetween(random, 10, 20) };
};

/** State: angles at 0 and 2, their velocities at 1 and 3, the speed at 4, then coordinates that follow the angles. */
function drawSwimmer(random: RandomGenerator, followers: number): Plant {
  const n = 4 + followers;
  const seconds = logUniform(random, 0.05, 0.2);
  const stiffness = [logUniform(random, 0.2, 3), logUniform(random, 0.2, 3)] as const;
  const friction = [logUniform(random, 0.05, 1), logUniform(random, 0.05, 1)] as const;
  const coupling = random.uniform(-0.5, 0.5);
  const drag = logUniform(random, 0.2, 2);
  const thrust = (chance(random, 0.5) ? 1 : -1) * logUniform(random, 0.3, 3);
  const drift = 0.1 * random.normal();
  const lags = Array.from({ length: followers }, () => logUniform(random, 0.3, 3));
  return {
    dimension: n,
    driven: [1, 3],
    angles: [],
    advance(state, push) {
      const [a, aVelocity, b, bVelocity, speed] = [state[0]!, state[1]!, state[2]!, state[3]!, state[4]!];
      const forceA = -stiffness[0] * a - friction[0] * aVelocity + coupling * b;
      const forceB = -stiffness[1] * b - friction[1] * bVelocity + coupling * a;
      state[1] = aVelocity + seconds * forceA + push[1]!;
      state[3] = bVelocity + seconds * forceB + push[3]!;
      // tanh limits the range of the joints: beyond it, a stroke sweeps no additional area.
      const swept = Math.tanh(a) * Math.tanh(bVelocity) - Math.tanh(b) * Math.tanh(aVelocity);
      state[4] =
        speed +
        seconds * (thrust * swept + drift * aVelocity * b - drag * speed * Math.abs(speed) - 0.1 * speed);
      for (let i = 1; i < followers; i++) {
        state[4 + i]! += seconds * lags[i]! * ((i % 2 === 1 ? a : b) - state[4 + i]!);
      }
      state[0] = a + seconds * state[1]!;
      state[2] = b + seconds * state[3]!;
    },
  };
}
