import { describe, expect, it } from 'vitest';
import { environmentIds, environmentInfo, makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Environment, Space } from '../../src/environments/environment.js';
import { loadPromptSet } from '../../src/prompting/templates/prompt-set.js';

async function describeEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>> = {},
  maxSteps = 1000,
) {
  return loadPromptSet({
    set: 'semantic',
    environment: await makeEnvironment(id, options),
    options,
    maxSteps,
  }).description;
}

/** A non-default value for every option that changes a task. */
const changes: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>> = {
  sutton_barto_reward: [{ sutton_barto_reward: true }],
  goal_velocity: [{ goal_velocity: 0.02 }],
  g: [{ g: 9.81 }, { g: 2 }],
  desc: [{ desc: ['SFF', 'FHG'] }],
  map_name: [{ map_name: '8x8' }],
  is_slippery: [{ is_slippery: true }, { is_slippery: false }],
  success_rate: [{ success_rate: 0.8 }],
  reward_schedule: [{ reward_schedule: [10, -1, -0.1] }],
  is_rainy: [{ is_rainy: true }],
  rainy_probability: [{ is_rainy: true, rainy_probability: 0.6 }],
  fickle_passenger: [{ fickle_passenger: true }],
  fickle_probability: [{ fickle_passenger: true, fickle_probability: 0.5 }],
  natural: [{ natural: true, sab: false }],
  sab: [{ sab: false }],
  frame_skip: [{ frame_skip: 3 }],
  forward_reward_weight: [{ forward_reward_weight: 2 }],
  ctrl_cost_weight: [{ ctrl_cost_weight: 0.5 }],
  reset_noise_scale: [{ reset_noise_scale: 0.02 }],
  exclude_current_positions_from_observation: [{ exclude_current_positions_from_observation: false }],
  healthy_reward: [{ healthy_reward: 4 }],
  terminate_when_unhealthy: [{ terminate_when_unhealthy: false }],
  healthy_state_range: [{ healthy_state_range: [-50, 60] }],
  healthy_z_range: [{ healthy_z_range: [0.9, null] }, { healthy_z_range: [null, 3] }],
  healthy_angle_range: [{ healthy_angle_range: [-0.3, 0.3] }, { healthy_angle_range: [null, null] }],
  reward_dist_weight: [{ reward_dist_weight: 2 }],
  reward_control_weight: [{ reward_control_weight: 0.5 }],
  layout: [{ layout: ['+-+-+', '|S G|', '+-+-+'] }],
  maze_seed: [{ maze_seed: 8 }],
  loop_share: [{ loop_share: 0.5 }],
};

/** One item per component. */
const vectorOf = (space: Space) =>
  space.kind === 'box' ? space.low : space.kind === 'tuple' ? space.spaces : [];

const described = environmentIds();

describe.each(described)('the description of %s', (id) => {
  it('names every component of an observation, every action and the reward', async () => {
    const { observationSpace, actionSpace } = await makeEnvironment(id);
    const text = await describeEnvironment(id);
    expect(text).not.toContain('There is no description');
    if (observationSpace.kind !== 'discrete') {
      const { length } = vectorOf(observationSpace);
      for (let i = 0; i < length; i++) expect(text).toContain(`- observation[${i}]: `);
      expect(text).not.toContain(`observation[${length}]`);
    }
    if (actionSpace.kind === 'discrete') {
      const listed = text
        .slice(text.indexOf('Actions:'))
        .match(/^- \d+: /gm)
        ?.map((line) => Number(line.slice(2, -2)));
      const { n, start = 0 } = actionSpace;
      expect(listed).toEqual(Array.from({ length: n }, (_, a) => start + a));
    } else {
      const { length } = vectorOf(actionSpace);
      for (let i = 0; i < length; i++) expect(text).toContain(`- action[${i}]: `);
      expect(text).not.toContain(`action[${length}]`);
    }
    expect(text).toMatch(/^Reward/m);
    expect(text).toMatch(/^End: /m);
  });

  it('changes with every option except max_episode_steps', async () => {
    const texts = new Set([await describeEnvironment(id)]);
    for (const name of environmentInfo(id).options.filter((option) => option !== 'max_episode_steps')) {
      expect(changes, `a change of the option ${name}`).toHaveProperty(name);
      const described = await Promise.all(changes[name]!.map((options) => describeEnvironment(id, options)));
      expect(
        described.some((text) => !texts.has(text)),
        name,
      ).toBe(true);
      for (const text of described) texts.add(text);
    }
  });

  it('has no extra blank lines, undefined values or template markup', async () => {
    const text = await describeEnvironment(id);
    expect(text).not.toMatch(/\n{3}|[ \t]\n|undefined|NaN|\{\{|null|\[object/);
  });
});

describe('a description', () => {
  it.each(['HalfCheetah-v5', 'Hopper-v5', 'Walker2d-v5', 'Swimmer-v5'])(
    'of %s renumbers the observations if they include the positions',
    async (id) => {
      const options = { exclude_current_positions_from_observation: false };
      const { observationSpace } = await makeEnvironment(id, options);
      const text = await describeEnvironment(id, options);
      const listed = [...text.matchAll(/^- observation\[(-?\d+)\]: /gm)].map((match) => Number(match[1]));
      const { length } = observationSpace.kind === 'box' ? observationSpace.low : [];
      expect(listed).toEqual(Array.from({ length: length! }, (_, i) => i));
    },
  );

  it('accepts options in camelCase', async () => {
    expect(await describeEnvironment('FrozenLake-v1', { isSlippery: false })).toBe(
      await describeEnvironment('FrozenLake-v1', { is_slippery: false }),
    );
  });

  it('gives the effective step limit', async () => {
    expect(await describeEnvironment('CartPole-v1')).toContain('at most 500.');
    expect(await describeEnvironment('CartPole-v1', {}, 300)).toContain('at most 300.');
    expect(await describeEnvironment('CartPole-v0')).toContain('at most 200.');
    expect(await describeEnvironment('CartPole-v1', { max_episode_steps: 50 })).toContain('at most 50.');
  });

  it('of an unknown environment gives its spaces and options', () => {
    const environment: Environment = {
      id: 'Custom/Thing-v3',
      observationSpace: {
        kind: 'box',
        low: [-1, Number.NEGATIVE_INFINITY],
        high: [1.5, Number.POSITIVE_INFINITY],
      },
      actionSpace: { kind: 'discrete', n: 3, start: 1 },
      reset: () => [0, 0],
      step: () => ({ observation: [0, 0], reward: 0, terminated: true, truncated: false }),
    };
    const options = { wind: true, size: [2, 3] };
    const { description } = loadPromptSet({ set: 'semantic', environment, options, maxSteps: 10 });
    expect(description).toMatchSnapshot();
  });
});
