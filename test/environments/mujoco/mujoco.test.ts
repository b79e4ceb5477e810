import { describe, expect, test } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import type { Environment } from '../../../src/environments/environment.js';
import { loadMujocoModel, Simulation } from '../../../src/environments/mujoco/simulation.js';

/** Bytes that MuJoCo has allocated; the number never decreases. */
async function memory(): Promise<number> {
  const { handle } = await loadMujocoModel('hopper');
  return (handle.geom_size as Float64Array).buffer.byteLength;
}

/** Enough for MuJoCo to request more memory. */
async function fillMemory(id: string): Promise<Environment[]> {
  const before = await memory();
  const environments: Environment[] = [];
  while ((await memory()) === before) environments.push(await makeEnvironment(id));
  return environments;
}

describe("MuJoCo's memory", () => {
  test('can grow during an episode without changing it', async () => {
    const [disturbed, calm] = [await makeEnvironment('Walker2d-v5'), await makeEnvironment('Walker2d-v5')];
    const random = createGenerator(1);
    const action = () => Array.from({ length: 6 }, () => random.uniform(-1, 1));
    const first = action();
    for (const environment of [disturbed, calm]) environment.reset(5);
    const expected = [calm.step(first)];
    expect(disturbed.step(first)).toEqual(expected[0]);
    const others = [first, action(), action()];
    expected.push(...others.map((next) => calm.step(next)));
    const filling = await fillMemory('Walker2d-v5');
    expect(others.map((next) => disturbed.step(next))).toEqual(expected.slice(1));
    expect(disturbed.frame!()).toEqual(calm.frame!());
    for (const environment of [...filling, disturbed, calm]) environment.close!();
  });

  test('is released when an environment closes', async () => {
    const filling = await fillMemory('HalfCheetah-v5');
    for (const environment of filling) environment.close!();
    const before = await memory();
    for (let i = 0; i < 3 * filling.length + 50; i++) {
      const environment = await makeEnvironment('HalfCheetah-v5');
      environment.reset(i);
      environment.step([0, 0, 0, 0, 0, 0]);
      environment.close!();
    }
    expect(await memory()).toBe(before);
  });

  test.each(['half_cheetah', 'hopper', 'walker2d_v5'] as const)(
    'is enough for %s with its whole body on the floor',
    async (name) => {
      const model = await loadMujocoModel(name);
      const usual = model.handle.narena;
      const small = new Simulation(model, 4);
      model.handle.narena = 2 ** 24;
      const large = new Simulation(model, 4);
      model.handle.narena = usual;
      const random = createGenerator(4);
      for (let fall = 0; fall < 40; fall++) {
        const pose = Array.from({ length: model.positionCount }, () => random.uniform(-0.1, 0.1));
        pose[1] = name === 'half_cheetah' ? -0.65 : 0;
        pose[2] = (Math.PI / 2) * random.choice([-1, 1]);
        for (const simulation of [small, large]) simulation.start(({ qpos }) => qpos.set(pose));
        for (let step = 0; step < 5; step++) {
          const control = model.controlLow.map((low) => random.uniform(low, -low));
          for (const simulation of [small, large]) simulation.advance(control);
          expect([...small.state.qpos, ...small.state.qvel]).toEqual([
            ...large.state.qpos,
            ...large.state.qvel,
          ]);
        }
      }
      small.close();
      large.close();
    },
  );
});

describe('actions', () => {
  test.each([
    ['HalfCheetah-v5', 6, 0.1],
    ['Hopper-v5', 3, 1e-3],
    ['Walker2d-v5', 6, 1e-3],
    ['Swimmer-v5', 2, 1e-4],
    ['Reacher-v5', 2, 1],
  ])('of %s are clipped to the limits, but their cost is charged in full', async (id, count, weight) => {
    const [within, beyond] = [await makeEnvironment(id), await makeEnvironment(id)];
    within.reset(3);
    beyond.reset(3);
    const limit = within.step(Array(count).fill(1));
    const further = beyond.step(Array(count).fill(3));
    expect(further.observation).toEqual(limit.observation);
    expect(limit.reward - further.reward).toBeCloseTo(weight * count * (9 - 1), 5);
    within.close!();
    beyond.close!();
  });
});

describe('options', () => {
  test('null and infinity mean no bound', async () => {
    const none = { healthy_angle_range: [null, null], healthy_state_range: [null, null] };
    const anyhow = [
      { ...none, healthy_z_range: [null, null] },
      { ...none, healthy_z_range: [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY] },
    ];
    for (const options of anyhow) {
      const hopper = await makeEnvironment('Hopper-v5', { ...options, max_episode_steps: 200 });
      hopper.reset(1);
      const ends = Array.from({ length: 200 }, () => hopper.step([1, -1, 1]).terminated);
      expect(ends).not.toContain(true);
      hopper.close!();
    }
  });

  test.each([
    ['Hopper-v5', { healthy_z_range: [2, 1] }, /healthy_z_range: must be two numbers in ascending order/],
    ['Walker2d-v5', { healthy_angle_range: [0] }, /healthy_angle_range/],
    ['Walker2d-v5', { healthy_state_range: [0, 1] }, /unknown option of Walker2d-v5/],
    ['HalfCheetah-v5', { frame_skip: 0 }, /frame_skip/],
    ['Swimmer-v5', { reset_noise_scale: -1 }, /reset_noise_scale/],
    ['Reacher-v5', { xml_file: 'reacher.xml' }, /unknown option of Reacher-v5/],
  ])('%s %j is rejected', async (id, options, message) => {
    await expect(makeEnvironment(id, options)).rejects.toThrow(message);
  });
});

describe('drawings', () => {
  test('of the reacher show the target at its observed position', async () => {
    const reacher = await makeEnvironment('Reacher-v5');
    for (let seed = 0; seed < 5; seed++) {
      const observation = reacher.reset(seed) as readonly number[];
      const target = reacher.frame!().shapes.find(({ role }) => role === 'goal');
      const near = (value: number) => expect.closeTo(value, 12);
      const center = [near(observation[4]!), near(observation[5]!)];
      expect(target).toMatchObject({ kind: 'circle', radius: 0.009, center });
    }
    reacher.close!();
  });

  test('follow a moving body past fixed distance marks', async () => {
    const cheetah = await makeEnvironment('HalfCheetah-v5', {
      exclude_current_positions_from_observation: false,
    });
    cheetah.reset(0);
    for (let step = 0; step < 60; step++) {
      const { observation } = cheetah.step([1, 1, 1, -1, -1, -1]);
      const { view, shapes } = cheetah.frame!();
      const [x] = observation as readonly number[];
      expect((view.min[0] + view.max[0]) / 2).toBeCloseTo(x!, 12);
      const marks = shapes.filter((shape) => shape.kind === 'text');
      expect(marks.length).toBeGreaterThan(0);
      for (const { center, text } of marks) expect(text).toBe(`${center[0]} m`);
    }
    cheetah.close!();
  });
});
