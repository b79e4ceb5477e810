import { z } from 'zod';

/** Gymnasium's constructor options of the MuJoCo environments, but for those of its renderer and `xml_file`. */

const weight = z.number();
const noise = z.number().min(0);
const frameSkip = z.int().min(1);
const anyNumber = z.union([z.number(), z.literal([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])]);

/** Healthy strictly between two numbers; null stands for no bound, as does an infinity. */
const range = z
  .tuple([anyNumber.nullable(), anyNumber.nullable()])
  .transform(([low, high]): Range => [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY])
  .refine(([low, high]) => low < high, 'must be two numbers, the lower first; null for no bound');

export type Range = readonly [number, number];

const travel = {
  forward_reward_weight: weight.default(1),
  exclude_current_positions_from_observation: z.boolean().default(true),
};

const health = {
  healthy_reward: weight.default(1),
  terminate_when_unhealthy: z.boolean().default(true),
};

export const halfCheetahOptions = z.strictObject({
  frame_skip: frameSkip.default(5),
  ctrl_cost_weight: weight.default(0.1),
  reset_noise_scale: noise.default(0.1),
  ...travel,
});

export const swimmerOptions = z.strictObject({
  frame_skip: frameSkip.default(4),
  ctrl_cost_weight: weight.default(1e-4),
  reset_noise_scale: noise.default(0.1),
  ...travel,
});

export const hopperOptions = z.strictObject({
  frame_skip: frameSkip.default(4),
  ctrl_cost_weight: weight.default(1e-3),
  reset_noise_scale: noise.default(5e-3),
  healthy_state_range: range.default([-100, 100]),
  healthy_z_range: range.default([0.7, Number.POSITIVE_INFINITY]),
  healthy_angle_range: range.default([-0.2, 0.2]),
  ...health,
  ...travel,
});

export const walker2dOptions = z.strictObject({
  frame_skip: frameSkip.default(4),
  ctrl_cost_weight: weight.default(1e-3),
  reset_noise_scale: noise.default(5e-3),
  healthy_z_range: range.default([0.8, 2]),
  healthy_angle_range: range.default([-1, 1]),
  ...health,
  ...travel,
});

export const reacherOptions = z.strictObject({
  frame_skip: frameSkip.default(2),
  reward_dist_weight: weight.default(1),
  reward_control_weight: weight.default(1),
});

export const invertedPendulumOptions = z.strictObject({
  frame_skip: frameSkip.default(2),
  reset_noise_scale: noise.default(0.01),
});

export const invertedDoublePendulumOptions = z.strictObject({
  frame_skip: frameSkip.default(5),
  healthy_reward: weight.default(10),
  reset_noise_scale: noise.default(0.1),
});
