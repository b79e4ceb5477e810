import { afterEach, describe, expect, test } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { createGenerator, type RandomGenerator } from '../../src/base/random/generator.js';
import type { Action, Environment, Observation, Space, Step } from '../../src/environments/environment.js';
import type { Frame, Point, Shape } from '../../src/environments/frame.js';

export interface EnvironmentContract {
  readonly name: string;
  make(options?: Readonly<Record<string, unknown>>): Promise<Environment>;
  /** Whether `make` takes `max_episode_steps`. Default: yes. */
  readonly limitable?: boolean;
}

/** What every environment promises, whatever it is made of. */
export function describeEnvironment({ name, make: create, limitable = true }: EnvironmentContract): void {
  describe(`${name} keeps the environment contract`, () => {
    const made: Environment[] = [];
    const make: EnvironmentContract['make'] = async (options) => {
      const environment = await create(options);
      made.push(environment);
      return environment;
    };
    afterEach(() => {
      for (const environment of made.splice(0)) environment.close?.();
    });

    test('observations lie in the observation space, and rewards are finite', async () => {
      const environment = await make();
      const { starts, steps } = play(environment, 11, 400);
      for (const observation of [...starts, ...steps.map((step) => step.observation)]) {
        expect(problemsOf(observation, environment.observationSpace)).toEqual([]);
      }
      expect(steps.every(({ reward }) => Number.isFinite(reward))).toBe(true);
    });

    test('equal seeds and actions give equal episodes, including later ones without a new seed', async () => {
      const [one, other] = [await make(), await make()];
      play(other, 99, 30);
      expect(play(one, 7, 300)).toEqual(play(other, 7, 300));
    });

    test('a seed may be a bigint larger than 2^64', async () => {
      const environment = await make();
      const first = environment.reset(2n ** 80n + 1n);
      environment.reset(1);
      expect(environment.reset(2n ** 80n + 1n)).toEqual(first);
      expect(environment.reset(5n)).toEqual(environment.reset(5));
    });

    test('an unseeded first reset works', async () => {
      const environment = await make();
      expect(problemsOf(environment.reset(), environment.observationSpace)).toEqual([]);
    });

    test.each([-1, 1.5, Number.NaN, -3n])(
      'rejects the seed %s and continues as if it had not been given',
      async (seed) => {
        const [disturbed, calm] = [await make(), await make()];
        disturbed.reset(3);
        calm.reset(3);
        expect(() => disturbed.reset(seed)).toThrow(UserError);
        expect(disturbed.reset()).toEqual(calm.reset());
      },
    );

    test('returned values never change later', async () => {
      const environment = await make();
      const played = play(environment, 5, 200);
      const before = JSON.stringify(played);
      play(environment, 6, 200);
      expect(JSON.stringify(played)).toBe(before);
    });

    test("a step does not modify the caller's action", async () => {
      const environment = await make();
      environment.reset(1);
      const action = Object.freeze(sample(environment.actionSpace, createGenerator(1)));
      expect(() => environment.step(action)).not.toThrow();
    });

    test('a step before the first reset is rejected', async () => {
      const environment = await make();
      const action = sample(environment.actionSpace, createGenerator(0));
      expect(() => environment.step(action)).toThrow(UserError);
      expect(() => environment.step(action)).toThrow(/reset/);
    });

    test('an episode can be abandoned midway', async () => {
      const [left, fresh] = [await make(), await make()];
      left.reset(1);
      left.step(sample(left.actionSpace, createGenerator(0)));
      expect(play(left, 2, 50)).toEqual(play(fresh, 2, 50));
    });

    test('an invalid action is rejected and changes nothing', async () => {
      const [disturbed, calm] = [await make(), await make()];
      disturbed.reset(4);
      calm.reset(4);
      for (const action of invalidActions(calm.actionSpace)) {
        expect(() => disturbed.step(action), JSON.stringify(action)).toThrow(/^action: /);
      }
      const action = sample(calm.actionSpace, createGenerator(1));
      expect(disturbed.step(action)).toEqual(calm.step(action));
    });

    test('a continuous action beyond its bounds is accepted', async () => {
      const environment = await make();
      const space = environment.actionSpace;
      if (space.kind !== 'box') return;
      for (const beyond of [space.high.map((high) => high * 3 + 1), space.low.map((low) => low * 3 - 1)]) {
        environment.reset(2);
        const step = environment.step(beyond);
        expect(problemsOf(step.observation, environment.observationSpace)).toEqual([]);
      }
    });

    test('an episode is truncated at its step limit, and not before', async () => {
      const environment = await make();
      const limit = environment.maxSteps;
      if (limit === undefined) return;
      for (let seed = 0; seed < 5; seed++) {
        const episode = playEpisode(environment, seed, limit + 1);
        expect(episode.length).toBeLessThanOrEqual(limit);
        expect(episode.map(({ truncated }) => truncated)).toEqual(episode.map((_, i) => i + 1 === limit));
      }
    });

    test('a finished episode takes no further step', async () => {
      const environment = await make(limitable ? { max_episode_steps: 4 } : {});
      const episode = playEpisode(environment, 8, 100_000);
      const last = episode.at(-1)!;
      expect(last.terminated || last.truncated).toBe(true);
      const action = sample(environment.actionSpace, createGenerator(0));
      expect(() => environment.step(action)).toThrow(UserError);
      expect(() => environment.step(action)).toThrow(/reset/);
      environment.reset();
      expect(() => environment.step(action)).not.toThrow();
    });

    test('an environment that can be drawn is drawn after every step, always at the same size', async () => {
      const environment = await make();
      if (environment.frame === undefined) return;
      expect(() => environment.frame!()).toThrow(/reset/);
      const random = createGenerator(3);
      const frames: Frame[] = [];
      environment.reset(3);
      for (let step = 0; step < 30; step++) {
        frames.push(environment.frame());
        const { terminated, truncated } = environment.step(sample(environment.actionSpace, random));
        if (terminated || truncated) {
          frames.push(environment.frame());
          environment.reset();
        }
      }
      const [first] = frames;
      for (const frame of frames) {
        expect(frame.shapes.length).toBeGreaterThan(0);
        for (const number of numbersOf(frame)) expect(number).toSatisfy(Number.isFinite);
        for (const side of [0, 1]) {
          expect(sizeOf(frame, side)).toBeGreaterThan(0);
          expect(sizeOf(frame, side)).toBeCloseTo(sizeOf(first!, side), 9);
        }
        expect(frame.shapes.some((shape) => shape.role !== 'guide' && reachesInto(shape, frame))).toBe(true);
      }
      expect(new Set(frames.map((frame) => JSON.stringify(frame))).size).toBeGreaterThan(1);
    });

    test('drawing changes nothing', async () => {
      const [drawn, plain] = [await make(), await make()];
      drawn.reset(6);
      plain.reset(6);
      drawn.frame?.();
      const action = sample(plain.actionSpace, createGenerator(2));
      expect(drawn.step(action)).toEqual(plain.step(action));
    });

    test('closing is final, can be repeated, and does not affect other environments', async () => {
      const [closed, open] = [await make(), await make()];
      if (closed.close === undefined) return;
      closed.reset(1);
      open.reset(1);
      closed.close();
      closed.close();
      const action = sample(closed.actionSpace, createGenerator(0));
      expect(() => closed.reset(2)).toThrow(/closed/);
      expect(() => closed.step(action)).toThrow(/closed/);
      if (closed.frame !== undefined) expect(() => closed.frame!()).toThrow(/closed/);
      expect(() => open.step(action)).not.toThrow();
    });

    test.runIf(limitable)('max_episode_steps replaces the limit', async () => {
      const environment = await make({ max_episode_steps: 3 });
      expect(environment.maxSteps).toBe(3);
      for (let seed = 0; seed < 20; seed++) {
        const episode = playEpisode(environment, seed, 10);
        expect(episode.length).toBeLessThanOrEqual(3);
        expect(episode.at(-1)!.truncated).toBe(episode.length === 3);
      }
      const unlimited = await make({ max_episode_steps: -1 });
      expect(unlimited.maxSteps).toBeUndefined();
    });
  });
}

/** Plays `count` random steps over as many episodes as it takes; the first is seeded. */
function play(
  environment: Environment,
  seed: number,
  count: number,
): { starts: Observation[]; steps: Step[] } {
  const random = createGenerator(seed, [1]);
  const starts = [environment.reset(seed)];
  const steps: Step[] = [];
  while (steps.length < count) {
    const step = environment.step(sample(environment.actionSpace, random));
    steps.push(step);
    if (step.terminated || step.truncated) starts.push(environment.reset());
  }
  return { starts, steps };
}

function playEpisode(environment: Environment, seed: number, atMost: number): Step[] {
  const random = createGenerator(seed, [2]);
  const steps: Step[] = [];
  environment.reset(seed);
  while (steps.length < atMost) {
    const step = environment.step(sample(environment.actionSpace, random));
    steps.push(step);
    if (step.terminated || step.truncated) break;
  }
  return steps;
}

function sample(space: Space, random: RandomGenerator): Action {
  switch (space.kind) {
    case 'discrete':
      return random.integers(space.start ?? 0, (space.start ?? 0) + space.n);
    case 'box':
      return space.low.map((low, i) => random.uniform(Math.max(low, -10), Math.min(space.high[i]!, 10)));
    case 'tuple':
      return space.spaces.map((part) => sample(part, random) as number);
    case 'text':
      return random.choice(space.choices ?? ['look']);
  }
}

function invalidActions(space: Space): readonly Action[] {
  const nonsense: unknown[] = [undefined, null, '0', true, {}, Number.NaN, Number.POSITIVE_INFINITY, 0.5];
  switch (space.kind) {
    case 'discrete': {
      const start = space.start ?? 0;
      return [...nonsense, start - 1, start + space.n, [start], []] as Action[];
    }
    case 'box': {
      const valid = space.low.map(() => 0);
      const spoilt = [Number.NaN, Number.NEGATIVE_INFINITY, '0', null].map((value) =>
        valid.with(0, value as number),
      );
      return [...nonsense, ...spoilt, 0, [], [...valid, 0]] as Action[];
    }
    case 'tuple':
      return [...nonsense, [], space.spaces.map(({ n, start = 0 }) => n + start)] as Action[];
    case 'text':
      return [...nonsense.filter((one) => typeof one !== 'string'), 1, ['look']] as Action[];
  }
}

/** Why a value does not lie in a space; empty where it does. */
function problemsOf(value: Observation, space: Space): readonly string[] {
  switch (space.kind) {
    case 'discrete': {
      const start = space.start ?? 0;
      const inside = Number.isInteger(value) && Number(value) >= start && Number(value) < start + space.n;
      return inside ? [] : [`${value} is not in ${start}…${start + space.n - 1}`];
    }
    case 'tuple':
      if (typeof value !== 'object' || value.length !== space.spaces.length) return ['has the wrong shape'];
      return space.spaces.flatMap((part, i) => problemsOf(value[i]!, part));
    case 'box':
      if (typeof value !== 'object' || value.length !== space.low.length) return ['has the wrong shape'];
      return value.flatMap((component, i) => {
        if (!Number.isFinite(component)) return [`component ${i} is ${component}`];
        if (space.dtype !== 'float64' && Math.fround(component) !== component) {
          return [`component ${i}, ${component}, is no float32`];
        }
        const inside = component >= space.low[i]! && component <= space.high[i]!;
        return inside ? [] : [`component ${i}, ${component}, is outside ${space.low[i]}…${space.high[i]}`];
      });
    case 'text':
      return typeof value === 'string' && value !== '' ? [] : ['is no text'];
  }
}

function pointsOf(shape: Shape): readonly Point[] {
  switch (shape.kind) {
    case 'line':
    case 'polygon':
      return shape.points;
    case 'rectangle':
      return [shape.min, shape.max];
    case 'circle':
    case 'text':
      return [shape.center];
  }
}

function numbersOf({ view, shapes }: Frame): readonly number[] {
  const numbers = [...view.min, ...view.max];
  for (const shape of shapes) {
    numbers.push(...pointsOf(shape).flat());
    if (shape.kind === 'line') numbers.push(shape.width);
    if (shape.kind === 'circle') numbers.push(shape.radius);
    if (shape.kind === 'text') numbers.push(shape.height);
  }
  return numbers;
}

function sizeOf({ view }: Frame, side: number): number {
  return view.max[side]! - view.min[side]!;
}

function reachesInto(shape: Shape, { view: { min, max } }: Frame): boolean {
  return pointsOf(shape).some(([x, y]) => x >= min[0] && x <= max[0] && y >= min[1] && y <= max[1]);
}
