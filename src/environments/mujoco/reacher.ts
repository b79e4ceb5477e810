import { z } from 'zod';
import type { Task } from '../environment.js';
import { addUniform, controlCost, MujocoTask } from './mujoco-task.js';
import { loadModel, Simulation, type State } from './simulation.js';

export const reacherOptions = z.strictObject({
  frame_skip: z.int().min(1).default(2),
  reward_dist_weight: z.number().default(1),
  reward_control_weight: z.number().default(1),
});

/**
 * An arm of two 0.1 m links on a table reaches for a target, with 2 torques; never terminates. Observation: cosines and
 * sines of the two joint angles, the target's x and y, the two angular velocities, and the x and y offset from target
 * to fingertip. Reward: −reward_dist_weight · distance − reward_control_weight · Σ action².
 */
export async function reacher(options: z.output<typeof reacherOptions>): Promise<Task> {
  const { reward_dist_weight, reward_control_weight } = options;
  const model = await loadModel('reacher');
  const fingertip = 3 * model.bodyIndex('fingertip');
  const target = 3 * model.bodyIndex('target');
  const offset = ({ xpos }: State, axis: number) => xpos[fingertip + axis]! - xpos[target + axis]!;
  return new MujocoTask(new Simulation(model, options.frame_skip), {
    observations: 10,
    scene: {
      seenFrom: 'above',
      size: [0.72, 0.72],
      roles: { target: 'goal', root: 'ground', fingertip: 'agent-detail' },
    },
    place({ qpos, qvel }, random) {
      addUniform(qpos, 0.1, random);
      do {
        qpos[2] = random.uniform(-0.2, 0.2);
        qpos[3] = random.uniform(-0.2, 0.2);
      } while (Math.sqrt(qpos[2] * qpos[2] + qpos[3] * qpos[3]) >= 0.2);
      addUniform(qvel, 0.005, random);
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
