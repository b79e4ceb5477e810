/**
 * Robots that are rewarded for moving along x: reward = forward_reward_weight · vx + (healthy ? healthy_reward : 0)
 * − ctrl_cost_weight · Σ action².
 */
import { z } from 'zod';
import type { Task } from '../environment.js';
import { type CatalogueEntry, makeEntry } from '../options.js';
import { addNormalNoise, addUniformNoise, clampTo, controlCost, MujocoTask } from './mujoco-task.js';
import type { Scene } from './scene.js';
import { loadMujocoModel, type ModelName, Simulation, type State } from './simulation.js';

const anyNumber = z.union([z.number(), z.literal([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])]);

/** Healthy range, both ends excluded; null or an infinity means no bound. */
const rangeSchema = z
  .tuple([anyNumber.nullable(), anyNumber.nullable()])
  .transform(([low, high]): Range => [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY])
  .refine(([low, high]) => low < high, 'must be two numbers in ascending order; null means no bound');

type Range = readonly [number, number];

// Gymnasium's constructor options and defaults, without `xml_file` and the rendering options.

const driveOptions = (frameSkip: number, controlWeight: number, noise: number) => ({
  frame_skip: z.int().min(1).default(frameSkip),
  ctrl_cost_weight: z.number().default(controlWeight),
  reset_noise_scale: z.number().min(0).default(noise),
});

const healthOptions = {
  healthy_reward: z.number().default(1),
  terminate_when_unhealthy: z.boolean().default(true),
};

const travelOptions = {
  forward_reward_weight: z.number().default(1),
  exclude_current_positions_from_observation: z.boolean().default(true),
};

const halfCheetahOptions = z.strictObject({ ...driveOptions(5, 0.1, 0.1), ...travelOptions });

const swimmerOptions = z.strictObject({ ...driveOptions(4, 1e-4, 0.1), ...travelOptions });

const hopperOptions = z.strictObject({
  ...driveOptions(4, 1e-3, 5e-3),
  healthy_state_range: rangeSchema.default([-100, 100]),
  healthy_z_range: rangeSchema.default([0.7, Number.POSITIVE_INFINITY]),
  healthy_angle_range: rangeSchema.default([-0.2, 0.2]),
  ...healthOptions,
  ...travelOptions,
});

const walker2dOptions = z.strictObject({
  ...driveOptions(4, 1e-3, 5e-3),
  healthy_z_range: rangeSchema.default([0.8, 2]),
  healthy_angle_range: rangeSchema.default([-1, 1]),
  ...healthOptions,
  ...travelOptions,
});

/**
 * A two-legged cheetah in the x–z plane with 6 torques; never terminates. Observation: height, pitch, the 6
 * joint angles (back then front: thigh, shin, foot), then the velocities of x and all of these.
 */
function halfCheetah(options: z.output<typeof halfCheetahOptions>): Promise<Task> {
  return locomotionTask('half_cheetah', options, {
    hiddenCount: 1,
    addVelocityNoise: addNormalNoise,
    scene: sideView(3.4, 1.7),
  });
}

/**
 * Three links in a viscous fluid in the x–y plane, with 2 torques; never terminates. Observation: heading of
 * the first link, the 2 joint angles, then the velocities of x, y and all of these.
 */
function swimmer(options: z.output<typeof swimmerOptions>): Promise<Task> {
  return locomotionTask('swimmer', options, {
    hiddenCount: 2,
    addVelocityNoise: addUniformNoise,
    scene: { seenFrom: 'above', size: [6, 4], follow: 'plane' },
  });
}

/**
 * A hopping leg in the x–z plane with 3 torques. Observation: height, pitch, the 3 joint angles (thigh, leg,
 * foot), then the velocities of x and all of these, clipped to ±10. Healthy while height and pitch are within
 * their ranges and every state variable except x and z is within `healthy_state_range`.
 */
function hopper(options: z.output<typeof hopperOptions>): Promise<Task> {
  const { healthy_z_range: heights, healthy_angle_range: angles, healthy_state_range: states } = options;
  return locomotionTask('hopper', options, {
    hiddenCount: 1,
    addVelocityNoise: addUniformNoise,
    velocityLimit: 10,
    healthy: ({ qpos, qvel }) =>
      isWithin(heights, qpos[1]!) &&
      isWithin(angles, qpos[2]!) &&
      qpos.every((value, i) => i < 2 || isWithin(states, value)) &&
      qvel.every((value) => isWithin(states, value)),
    scene: sideView(3.4, 2),
  });
}

/**
 * Two walking legs in the x–z plane with 6 torques. Observation: height, pitch, the 6 joint angles (right
 * then left: thigh, leg, foot), then the velocities of x and all of these, clipped to ±10. Healthy while
 * height and pitch are within their ranges.
 */
function walker2d(options: z.output<typeof walker2dOptions>): Promise<Task> {
  const { healthy_z_range: heights, healthy_angle_range: angles } = options;
  const leftLegRoles = ['thigh', 'leg', 'foot'].map((part) => [`${part}_left_geom`, 'agent-detail'] as const);
  return locomotionTask('walker2d_v5', options, {
    hiddenCount: 1,
    addVelocityNoise: addUniformNoise,
    velocityLimit: 10,
    healthy: ({ qpos }) => isWithin(heights, qpos[1]!) && isWithin(angles, qpos[2]!),
    scene: { ...sideView(3.4, 2), roles: Object.fromEntries(leftLegRoles) },
  });
}

type LocomotionOptions = z.output<typeof halfCheetahOptions> & {
  readonly healthy_reward?: number;
  readonly terminate_when_unhealthy?: boolean;
};

interface Robot {
  /** Number of leading joints whose positions the observation omits by default. */
  readonly hiddenCount: number;
  readonly addVelocityNoise: typeof addUniformNoise;
  /** Observed velocities are clipped to ± this limit. */
  readonly velocityLimit?: number;
  /** Omitted for robots that are always healthy. */
  healthy?(state: State): boolean;
  readonly scene: Scene;
}

async function locomotionTask(name: ModelName, options: LocomotionOptions, robot: Robot): Promise<Task> {
  const model = await loadMujocoModel(name);
  const { hiddenCount, addVelocityNoise, velocityLimit = Number.POSITIVE_INFINITY, healthy, scene } = robot;
  const { forward_reward_weight, ctrl_cost_weight, reset_noise_scale } = options;
  const { healthy_reward = 0, terminate_when_unhealthy = false } = options;
  const omittedCount = options.exclude_current_positions_from_observation ? hiddenCount : 0;
  return new MujocoTask(new Simulation(model, options.frame_skip), {
    observationLength: model.positionCount - omittedCount + model.velocityCount,
    scene,
    place({ qpos, qvel }, random) {
      addUniformNoise(qpos, reset_noise_scale, random);
      addVelocityNoise(qvel, reset_noise_scale, random);
    },
    observe: ({ qpos, qvel }) => [
      ...qpos.subarray(omittedCount),
      ...qvel.map((velocity) => clampTo(velocity, velocityLimit)),
    ],
    judge(state, action, velocity) {
      const isHealthy = healthy?.(state) ?? true;
      const earned = forward_reward_weight * velocity + (isHealthy ? healthy_reward : 0);
      const reward = earned - controlCost(ctrl_cost_weight, action);
      return { reward, terminated: !isHealthy && terminate_when_unhealthy };
    },
  });
}

function isWithin([low, high]: Range, value: number): boolean {
  return low < value && value < high;
}

function sideView(width: number, height: number): Scene {
  return { seenFrom: 'the side', size: [width, height], bottom: -0.25, follow: 'x' };
}

export const locomotionEntries: readonly CatalogueEntry[] = [
  makeEntry('HalfCheetah-v5', { maxSteps: 1000 }, halfCheetahOptions, halfCheetah),
  makeEntry('Hopper-v5', { maxSteps: 1000 }, hopperOptions, hopper),
  makeEntry('Walker2d-v5', { maxSteps: 1000 }, walker2dOptions, walker2d),
  makeEntry('Swimmer-v5', { maxSteps: 1000 }, swimmerOptions, swimmer),
];
