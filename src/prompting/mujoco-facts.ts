import { type Facts, type Options, option, short } from './fact-values.js';

/** Facts of the MuJoCo environments, with Gymnasium's defaults and the time steps of its models. */
export const mujocoFacts: Readonly<Record<string, (options: Options) => Facts>> = {
  HalfCheetah: (options) => ({
    ...step(options, 0.01, 5),
    ...travel(options, 0.1),
    ...noise(options, 0.1),
    ...placed(options, ['x', 'z', 'pitch', ...legOf('back', 'Shin'), ...legOf('front', 'Shin')]),
  }),
  Hopper: (options) => ({
    ...step(options, 0.002, 4),
    ...travel(options, 1e-3),
    ...health(options, [0.7, Number.POSITIVE_INFINITY], [-0.2, 0.2]),
    stateRange: within('value', range(options, 'healthy_state_range', [-100, 100])),
    ...noise(options, 5e-3),
    ...placed(options, ['x', 'z', 'pitch', 'thigh', 'leg', 'foot']),
  }),
  Walker2d: (options) => ({
    ...step(options, 0.002, 4),
    ...travel(options, 1e-3),
    ...health(options, [0.8, 2], [-1, 1]),
    ...noise(options, 5e-3),
    ...placed(options, ['x', 'z', 'pitch', ...legOf('right', 'Leg'), ...legOf('left', 'Leg')]),
  }),
  Swimmer: (options) => ({
    ...step(options, 0.01, 4),
    ...travel(options, 1e-4),
    ...noise(options, 0.1),
    ...placed(options, ['x', 'y', 'heading', 'frontJoint', 'backJoint'], 2),
  }),
  Reacher: (options) => ({
    ...step(options, 0.01, 2),
    distanceWeight: weighed(option(options, 'reward_dist_weight', 1)),
    controlWeight: weighed(option(options, 'reward_control_weight', 1)),
  }),
  InvertedPendulum: (options) => ({ ...step(options, 0.02, 2), ...noise(options, 0.01) }),
  InvertedDoublePendulum: (options) => {
    const reward = option(options, 'healthy_reward', 10);
    // Upright at rest in the middle the tip is at 1.2, which costs (1.2 - 2)² = 0.64.
    return {
      ...step(options, 0.01, 5),
      ...noise(options, 0.1),
      healthyReward: short(reward),
      mostReward: short(reward - 0.64),
    };
  },
};

function step(options: Options, timeStep: number, frames: number): Facts {
  return { stepSeconds: short(timeStep * option(options, 'frame_skip', frames)) };
}

function travel(options: Options, controlWeight: number): Facts {
  return {
    forwardWeight: weighed(option(options, 'forward_reward_weight', 1)),
    controlWeight: weighed(option(options, 'ctrl_cost_weight', controlWeight)),
  };
}

function noise(options: Options, scale: number): Facts {
  return { noise: short(option(options, 'reset_noise_scale', scale)) };
}

function health(options: Options, heights: Range, angles: Range): Facts {
  return {
    healthyReward: short(option(options, 'healthy_reward', 1)),
    terminates: option(options, 'terminate_when_unhealthy', true),
    heightRange: within('z', range(options, 'healthy_z_range', heights)),
    angleRange: within('pitch', range(options, 'healthy_angle_range', angles)),
  };
}

/** Where each joint stands in the observation; the velocities follow in the same order, none left out. */
function placed(options: Options, joints: readonly string[], hidden = 1): Facts {
  const placesShown = !option(options, 'exclude_current_positions_from_observation', true);
  const left = placesShown ? 0 : hidden;
  const indexes = (first: number) => Object.fromEntries(joints.map((joint, i) => [joint, first + i]));
  return { placesShown, at: indexes(-left), velocityAt: indexes(joints.length - left) };
}

function legOf(side: string, lower: string): readonly string[] {
  return [`${side}Thigh`, `${side}${lower}`, `${side}Foot`];
}

type Range = readonly [number, number];

/** Null is no bound. */
function range(options: Options, name: string, fallback: Range): Range {
  const [low, high] = option<readonly [number | null, number | null]>(options, name, fallback);
  return [low ?? Number.NEGATIVE_INFINITY, high ?? Number.POSITIVE_INFINITY];
}

/** `0.8 < z < 2`, `z > 0.7` */
function within(name: string, [low, high]: Range): string {
  if (low === Number.NEGATIVE_INFINITY && high === Number.POSITIVE_INFINITY) return `any ${name}`;
  if (high === Number.POSITIVE_INFINITY) return `${name} > ${short(low)}`;
  if (low === Number.NEGATIVE_INFINITY) return `${name} < ${short(high)}`;
  return `${short(low)} < ${name} < ${short(high)}`;
}

/** A factor before what it weighs; nothing for 1. */
function weighed(weight: number): string {
  return weight === 1 ? '' : `${short(weight)} * `;
}
