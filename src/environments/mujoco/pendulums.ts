/** Poles on a cart that is pushed along a rail from −1 to 1 m, and an arm that reaches for a target. */
import { z } from 'zod';
import type { Task } from '../environment.js';
import { type CatalogueEntry, makeEntry } from '../options.js';
import { addNormalNoise, addUniformNoise, clampTo, controlCost, MujocoTask } from './mujoco-task.js';
import { loadMujocoModel, Simulation, type State } from './simulation.js';

const invertedPendulumOptions = z.strictObject({
  frame_skip: z.int().min(1).default(2),
  reset_noise_scale: z.number().min(0).default(0.01),
});

/**
 * One pole. Observation: cart position, pole angle, and their velocities. Reward: 1 per step while the pole
 * leans by at most 0.2 rad; beyond that, the episode terminates.
 */
async function invertedPendulum(options: z.output<typeof invertedPendulumOptions>): Promise<Task> {
  const { frame_skip, reset_noise_scale } = options;
  return new MujocoTask(new Simulation(await loadMujocoModel('inverted_pendulum'), frame_skip), {
    observationLength: 4,
    scene: { seenFrom: 'the side', size: [2.6, 1.3], bottom: -0.4, roles: { cpole: 'object' } },
    place({ qpos, qvel }, random) {
      addUniformNoise(qpos, reset_noise_scale, random);
      addUniformNoise(qvel, reset_noise_scale, random);
    },
    observe: ({ qpos, qvel }) => [...qpos, ...qvel],
    judge({ qpos, qvel }) {
      const allFinite = qpos.every(Number.isFinite) && qvel.every(Number.isFinite);
      const terminated = !allFinite || Math.abs(qpos[1]!) > 0.2;
      return { reward: terminated ? 0 : 1, terminated };
    },
  });
}

const doublePendulumOptions = z.strictObject({
  frame_skip: z.int().min(1).default(5),
  healthy_reward: z.number().default(10),
  reset_noise_scale: z.number().min(0).default(0.1),
});

/**
 * A pole on top of another. Observation: cart position; sines of the lower pole's angle and of the angle
 * between the poles, then their cosines; the three velocities and the force of the rail's end on the cart,
 * all clipped to ±10. Reward for a tip at (x, y): (y > 1 ? healthy_reward : 0) − 0.01 x² − (y − 2)² − 0.001
 * ω₁² − 0.005 ω₂². The episode terminates once y ≤ 1.
 */
async function doublePendulum(options: z.output<typeof doublePendulumOptions>): Promise<Task> {
  const { frame_skip, healthy_reward, reset_noise_scale } = options;
  const roles = { cpole: 'object', cpole2: 'object' } as const;
  return new MujocoTask(new Simulation(await loadMujocoModel('inverted_double_pendulum'), frame_skip), {
    observationLength: 9,
    scene: { seenFrom: 'the side', size: [3.2, 1.9], bottom: -0.4, roles },
    place({ qpos, qvel }, random) {
      addUniformNoise(qpos, reset_noise_scale, random);
      addNormalNoise(qvel, reset_noise_scale, random);
    },
    observe: ({ qpos, qvel, qfrc_constraint }) => [
      qpos[0]!,
      Math.sin(qpos[1]!),
      Math.sin(qpos[2]!),
      Math.cos(qpos[1]!),
      Math.cos(qpos[2]!),
      ...[...qvel, qfrc_constraint[0]!].map((value) => clampTo(value, 10)),
    ],
    judge({ qvel, site_xpos }) {
      const [x, y] = [site_xpos[0]!, site_xpos[2]!]; // position of the only site, the tip
      const [lowerSpeed, upperSpeed] = [qvel[1]!, qvel[2]!];
      const terminated = y <= 1;
      const distancePenalty = 0.01 * x ** 2 + (y - 2) ** 2;
      const speedPenalty = 1e-3 * lowerSpeed ** 2 + 5e-3 * upperSpeed ** 2;
      return { reward: (terminated ? 0 : healthy_reward) - distancePenalty - speedPenalty, terminated };
    },
  });
}

const reacherOptions = z.strictObject({
  frame_skip: z.int().min(1).default(2),
  reward_dist_weight: z.number().default(1),
  reward_control_weight: z.number().default(1),
});

/**
 * An arm of two 0.1 m links on a table reaches for a target, with 2 torques; never terminates. Observation: cosines and
 * sines of the two joint angles, the target's x and y, the two angular velocities, and the x and y offset from target
 * to fingertip. Reward: −reward_dist_weight · distance − reward_control_weight · Σ action².
 */
async function reacher(options: z.output<typeof reacherOptions>): Promise<Task> {
  const { reward_dist_weight, reward_control_weight } = options;
  const model = await loadMujocoModel('reacher');
  const fingertipIndex = 3 * model.bodyIndex('fingertip');
  const targetIndex = 3 * model.bodyIndex('target');
  const offset = ({ xpos }: State, axis: number) => xpos[fingertipIndex + axis]! - xpos[targetIndex + axis]!;
  return new MujocoTask(new Simulation(model, options.frame_skip), {
    observationLength: 10,
    scene: {
      seenFrom: 'above',
      size: [0.72, 0.72],
      roles: { target: 'goal', root: 'ground', fingertip: 'agent-detail' },
    },
    place({ qpos, qvel }, random) {
      addUniformNoise(qpos, 0.1, random);
      do {
        qpos[2] = random.uniform(-0.2, 0.2);
        qpos[3] = random.uniform(-0.2, 0.2);
      } while (Math.sqrt(qpos[2] * qpos[2] + qpos[3] * qpos[3]) >= 0.2);
      addUniformNoise(qvel, 0.005, random);
      qvel.fill(0, 2);
    },
    observe(state) {
      const { qpos, qvel } = state;
      const angles = [qpos[0]!, qpos[1]!];
      return [
        ...angles.map(Math.cos),
        ...angles.map(Math.sin),
        ...qpos.subarray(2),
        ...qvel.subarray(0, 2),
        offset(state, 0),
        offset(state, 1),
      ];
    },
    judge(state, action) {
      const [x, y, z] = [offset(state, 0), offset(state, 1), offset(state, 2)];
      const distance = Math.sqrt(x * x + y * y + z * z);
      return {
        reward: -distance * reward_dist_weight - controlCost(reward_control_weight, action),
        terminated: false,
      };
    },
  });
}

export const pendulumEntries: readonly CatalogueEntry[] = [
  makeEntry('Reacher-v5', { maxSteps: 50 }, reacherOptions, reacher),
  makeEntry('InvertedPendulum-v5', { maxSteps: 1000 }, invertedPendulumOptions, invertedPendulum),
  makeEntry('InvertedDoublePendulum-v5', { maxSteps: 1000 }, doublePendulumOptions, doublePendulum),
];
