/**
 * Machines that are rewarded for travelling along x:
 * reward = forward_reward_weight · vx + (healthy ? healthy_reward : 0) − ctrl_cost_weight · Σ action².
 */
import type { z } from 'zod';
import type { Task } from '../task.js';
import { addNormal, addUniform, controlCost, limited, MujocoTask } from './mujoco-task.js';
import type { halfCheetahOptions, hopperOptions, Range, swimmerOptions, walker2dOptions } from './options.js';
import type { Scene } from './scene.js';
import { loadModel, type ModelName, Simulation, type State } from './simulation.js';

/**
 * A cheetah of two legs in the x–z plane, 6 torques; it is never terminated. Observation: height, pitch, the 6 joint
 * angles (back then front: thigh, shin, foot), and the velocities of all including x.
 */
export async function halfCheetah(options: z.output<typeof halfCheetahOptions>): Promise<Task> {
  return traveller('half_cheetah', options, {
    placesHidden: 1,
    velocityNoise: addNormal,
    scene: sideView(3.4, 1.7),
  });
}

/**
 * Three links in a viscous fluid, in the x–y plane, 2 torques; never terminated. Observation: the heading of the first
 * link, the 2 joint angles, and the velocities of all including x and y.
 */
export async function swimmer(options: z.output<typeof swimmerOptions>): Promise<Task> {
  return traveller('swimmer', options, {
    placesHidden: 2,
    velocityNoise: addUniform,
    scene: { seenFrom: 'above', size: [6, 4], follow: 'plane' },
  });
}

/**
 * A leg that hops in the x–z plane, 3 torques. Observation: height, pitch, the 3 joint angles (thigh, leg, foot), and the
 * velocities of all including x, limited to ±10. It is healthy within the given ranges of height and pitch, and while
 * every number of the state but x and z is within `healthy_state_range`.
 */
export async function hopper(options: z.output<typeof hopperOptions>): Promise<Task> {
  const { healthy_z_range: heights, healthy_angle_range: angles, healthy_state_range: states } = options;
  return traveller('hopper', options, {
    placesHidden: 1,
    velocityNoise: addUniform,
    velocityLimit: 10,
    healthy: ({ qpos, qvel }) =>
      within(heights, qpos[1]!) &&
      within(angles, qpos[2]!) &&
      qpos.every((value, i) => i < 2 || within(states, value)) &&
      qvel.every((value) => within(states, value)),
    scene: sideView(3.4, 2),
  });
}

/**
 * Two legs that walk in the x–z plane, 6 torques. Observation: height, pitch, the 6 joint angles (right then left: thigh,
 * leg, foot), and the velocities of all including x, limited to ±10. It is healthy within the given ranges of height and
 * pitch.
 */
export async function walker2d(options: z.output<typeof walker2dOptions>): Promise<Task> {
  const { healthy_z_range: heights, healthy_angle_range: angles } = options;
  return traveller('walker2d_v5', options, {
    placesHidden: 1,
    velocityNoise: addUniform,
    velocityLimit: 10,
    healthy: ({ qpos }) => within(heights, qpos[1]!) && within(angles, qpos[2]!),
    scene: {
      ...sideView(3.4, 2),
      roles: {
        thigh_left_geom: 'agent-detail',
        leg_left_geom: 'agent-detail',
        foot_left_geom: 'agent-detail',
      },
    },
  });
}

interface TravelOptions {
  readonly frame_skip: number;
  readonly forward_reward_weight: number;
  readonly ctrl_cost_weight: number;
  readonly reset_noise_scale: number;
  readonly exclude_current_positions_from_observation: boolean;
  readonly healthy_reward?: number;
  readonly terminate_when_unhealthy?: boolean;
}

interface Traveller {
  /** How many of the first joints tell only where it is, which the observation leaves out by default. */
  readonly placesHidden: number;
  readonly velocityNoise: typeof addUniform;
  /** Bound of each observed velocity. */
  readonly velocityLimit?: number;
  /** Left out where there is nothing to lose. */
  healthy?(state: State): boolean;
  readonly scene: Scene;
}

async function traveller(name: ModelName, options: TravelOptions, machine: Traveller): Promise<Task> {
  const model = await loadModel(name);
  const { placesHidden, velocityNoise, velocityLimit = Number.POSITIVE_INFINITY, healthy, scene } = machine;
  const { forward_reward_weight, ctrl_cost_weight, reset_noise_scale } = options;
  const { healthy_reward = 0, terminate_when_unhealthy = false } = options;
  const hidden = options.exclude_current_positions_from_observation ? placesHidden : 0;
  return new MujocoTask(new Simulation(model, options.frame_skip), {
    observations: model.positions - hidden + model.velocities,
    scene,
    place({ qpos, qvel }, random) {
      addUniform(qpos, reset_noise_scale, random);
      velocityNoise(qvel, reset_noise_scale, random);
    },
    observe({ qpos, qvel }) {
      const observation: number[] = [];
      for (let i = hidden; i < qpos.length; i++) observation.push(qpos[i]!);
      for (let i = 0; i < qvel.length; i++) observation.push(limited(qvel[i]!, velocityLimit));
      return observation;
    },
    judge(state, action, forward) {
      const well = healthy?.(state) ?? true;
      return {
        reward:
          forward_reward_weight * forward +
          (well ? healthy_reward : 0) -
          controlCost(ctrl_cost_weight, action),
        terminated: !well && terminate_when_unhealthy,
      };
    },
  });
}

function within([low, high]: Range, value: number): boolean {
  return low < value && value < high;
}

/** A view from the side that follows a machine over the floor. */
function sideView(width: number, height: number): Scene {
  return { seenFrom: 'the side', size: [width, height], bottom: -0.25, follow: 'x' };
}
