import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UserError } from '../../../src/base/errors.js';
import {
  environmentIds,
  environmentInfo,
  makeEnvironment,
} from '../../../src/environments/catalogue/open.js';
import { heldOutIds } from '../../../src/environments/catalogue/synthetic.js';
import type { Action, Environment } from '../../../src/environments/environment.js';
import { createPolicyFamily, defaultPolicy } from '../../../src/policies/families.js';
import type { PolicyFamily } from '../../../src/policies/policy.js';
import { createGenerator } from '../../../src/random/generator.js';
import { type Episode, rollout } from '../../../src/rollout/episode.js';

const families = environmentIds().filter((id) => id.startsWith('synthetic:'));
const seeds = Array.from({ length: 100 }, (_, seed) => seed + 1);
/** Families whose policies may be larger than 24 parameters. */
const mostParameters: Readonly<Record<string, number>> = {
  ...{ mdp: 48, grid: 48, choices: 64, heaps: 64 },
  ...{ balance: 40, swing: 40, arm: 40, hop: 40, delayed: 40, gaussian: 40, network: 40, product: 40 },
};
const oneStep = new Set(['synthetic:landscape', 'synthetic:sparse']);

function policiesOf(environment: Environment): PolicyFamily {
  const policy = defaultPolicy(environment);
  const isPoint = oneStep.has(environment.id.replace(/\?.*/, ''));
  return createPolicyFamily(isPoint ? { ...policy, kind: 'linear', bias: false } : policy, environment);
}

/** One episode of each of `count` random policies. */
function playRandomPolicies(environment: Environment, count: number): readonly Episode[] {
  const family = policiesOf(environment);
  const random = createGenerator(count, [5]);
  return Array.from({ length: count }, (_, seed) =>
    rollout(environment, family.build(family.initial(random)), { seed, maxSteps: 1000 }),
  );
}

interface RandomPlay {
  readonly returns: readonly number[];
  readonly terminated: readonly boolean[];
}
const played = new Map<string, RandomPlay>();

/** What random policies reach on a task: played once, several tests look at it. */
async function randomPlayOf(id: string): Promise<RandomPlay> {
  const known = played.get(id);
  if (known) return known;
  const calibrated = /:(survival|reach|pump)/.test(id);
  const episodes = playRandomPolicies(await makeEnvironment(id), calibrated ? 200 : 50);
  const play = {
    returns: episodes.map((episode) => episode.return),
    terminated: episodes.map(({ terminated }) => terminated),
  };
  played.set(id, play);
  return play;
}

async function traceOf(id: string, options: Readonly<Record<string, unknown>> = {}) {
  const environment = await makeEnvironment(id, options);
  const family = policiesOf(environment);
  const policy = family.build(family.initial(createGenerator(3)));
  const rewards: unknown[] = [];
  let observation = environment.reset(11);
  for (let step = 0; step < 30; step++) {
    const next = environment.step(policy(observation));
    rewards.push([observation, next.reward]);
    observation = next.terminated || next.truncated ? environment.reset() : next.observation;
  }
  return { id: environment.id, maxSteps: environment.maxSteps, rewards };
}

describe.each(families)('%s', (family) => {
  test('has finite returns and a limited number of policy parameters for each of 100 seeds', async () => {
    const most = mostParameters[family.replace('synthetic:', '')] ?? 24;
    for (const seed of seeds) {
      const environment = await makeEnvironment(`${family}?seed=${seed}`);
      const { count } = policiesOf(environment).parameters;
      expect(count).toBeGreaterThanOrEqual(2);
      expect(count).toBeLessThanOrEqual(most);
      for (const episode of playRandomPolicies(environment, 3)) {
        expect(episode.return).toSatisfy(Number.isFinite);
        expect(episode.length).toBeLessThanOrEqual(environment.maxSteps!);
      }
    }
  });

  test('is the same task for the same id, and usually another task for another seed', async () => {
    for (const seed of seeds.slice(0, 10)) {
      const id = `${family}?seed=${seed}`;
      const trace = await traceOf(id);
      expect(await traceOf(id)).toEqual(trace);
      expect(await traceOf(trace.id)).toEqual(trace);
      expect(await traceOf(family, { seed })).toEqual(trace);
    }
    const traces = await Promise.all(seeds.slice(0, 20).map((seed) => traceOf(`${family}?seed=${seed}`)));
    expect(new Set(traces.map(({ rewards }) => JSON.stringify(rewards))).size).toBeGreaterThan(17);
  });

  test('gives random policies different returns in most tasks', async () => {
    let flat = 0;
    for (const seed of seeds.slice(0, 30)) {
      const { returns } = await randomPlayOf(`${family}?seed=${seed}`);
      if (Math.max(...returns) - Math.min(...returns) < 1e-9) flat++;
    }
    expect(flat).toBeLessThanOrEqual(9);
  });
});

describe('held-out families', () => {
  const configs = ['configs', 'models'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.yaml'))
      .map((name) => readFileSync(join(folder, name), 'utf8')),
  );

  test.each(heldOutIds)('%s exists, and appears in no bundled config', (id) => {
    expect(families).toContain(id);
    expect(configs.filter((text) => text.includes(id))).toEqual([]);
    expect(configs.filter((text) => text.includes('synthetic:survival')).length).toBeGreaterThan(0);
  });
});

test('families that models were trained on stay the same, bit for bit', async () => {
  const traces = [];
  for (const family of [
    'survival',
    'regulate',
    'reach',
    'pump',
    'locomote',
    'landscape',
    'sparse',
    'mdp',
    'grid',
    'game',
  ]) {
    for (const seed of [1, 2, 3]) traces.push(await traceOf(`synthetic:${family}?seed=${seed}`));
  }
  const digest = createHash('sha256').update(JSON.stringify(traces)).digest('hex');
  expect(digest).toBe('ee69dea1005c030dcc63a9202db8bd53faabc49252e666986083d69df077e5a6');
});

describe('the difficulty', () => {
  test.each([
    ['survival', false],
    ['reach', true],
    ['pump', true],
  ])('of %s lets some random policies succeed, but seldom most of them', async (family, success) => {
    const shares: number[] = [];
    for (const seed of seeds.slice(0, 40)) {
      const { terminated } = await randomPlayOf(`synthetic:${family}?seed=${seed}`);
      shares.push(terminated.filter((ended) => ended === success).length / terminated.length);
    }
    // 0.3 to 30 % are wanted; 200 policies miss many a share below 1 %.
    expect(shares.filter((share) => share <= 0.4).length).toBeGreaterThanOrEqual(36);
    expect(shares.filter((share) => share > 0).length).toBeGreaterThanOrEqual(24);
    expect(Math.max(...shares)).toBeLessThan(0.7);
  });

  test('constant actions do not reach the goal of pump', async () => {
    for (const seed of seeds.slice(0, 40)) {
      const environment = await makeEnvironment(`synthetic:pump?seed=${seed}`);
      const reached = constantActions(environment).filter((action) =>
        [1, 2, 3].some(
          (start) => rollout(environment, () => action, { seed: start, maxSteps: 1000 }).terminated,
        ),
      );
      expect(reached).toEqual([]);
    }
  });

  test('in nearly every grid, at least one of 2000 random tables finds the goal', async () => {
    const found: boolean[] = [];
    for (const seed of seeds.slice(0, 30)) {
      const environment = await makeEnvironment(`synthetic:grid?seed=${seed}`);
      const episodes = playRandomPolicies(environment, 2000);
      // Where each step costs 1 nothing but the goal ends an episode; elsewhere it alone pays.
      const costs = episodes.some((episode) => !episode.terminated && episode.return < -1);
      found.push(episodes.some((episode) => episode.terminated && (costs || episode.return > 0)));
    }
    expect(found.filter(Boolean).length).toBeGreaterThanOrEqual(29);
  });
});

describe('options', () => {
  test('set the sizes of a task', async () => {
    await fc.assert(
      fc.asyncProperty(fc.nat(10_000), fc.integer({ min: 2, max: 6 }), async (seed, observations) => {
        const environment = await makeEnvironment('synthetic:survival', { seed, observations, actions: 3 });
        expect(environment.observationSpace).toMatchObject({ low: { length: observations } });
        expect(environment.actionSpace).toEqual({ kind: 'discrete', n: 3 });
        expect(environment.id).toBe(
          `synthetic:survival?seed=${seed}&observations=${observations}&actions=3`.replace('seed=0&', ''),
        );
      }),
      { numRuns: 15 },
    );
    const landscape = await makeEnvironment('synthetic:landscape?parameters=5');
    expect(policiesOf(landscape).parameters.count).toBe(5);
    const process = await makeEnvironment('synthetic:mdp?states=9&actions=2&seed=4');
    expect([process.observationSpace, process.actionSpace]).toEqual([
      { kind: 'discrete', n: 9 },
      { kind: 'discrete', n: 2 },
    ]);
    const grid = await makeEnvironment('synthetic:grid', { rows: 3, columns: 7 });
    expect(grid.observationSpace).toEqual({ kind: 'discrete', n: 21 });
    const pump = await makeEnvironment('synthetic:pump?control=continuous&actions=1&observations=2');
    expect(policiesOf(pump).parameters.count).toBe(3);
  });

  test('of a family are known without drawing a task', () => {
    expect(environmentInfo('synthetic:mdp?seed=3').options).toEqual([
      'seed',
      'states',
      'actions',
      'max_episode_steps',
    ]);
  });

  test.each([
    ['synthetic:survivall', /did you mean synthetic:survival\?/],
    ['synthetic:', /one of: synthetic:survival/],
    ['synthetic:constructor', /unknown family/],
    ['synthetic:survival?sede=1', /unknown option of[\s\S]*did you mean seed\?/],
    ['synthetic:survival?seed=-1', /^seed: /],
    ['synthetic:survival?seed=x', /^seed: /],
    ['synthetic:survival?seed', /seed is not an option/],
    ['synthetic:survival?seed=1&seed=2', /seed is set twice/],
    ['synthetic:survival?actions=1&control=discrete', /discrete control needs at least two actions/],
    ['synthetic:pump?actions=3&control=continuous', /1 or 2 actions/],
  ])('%s is refused', async (id, message) => {
    await expect(makeEnvironment(id)).rejects.toThrow(UserError);
    await expect(makeEnvironment(id)).rejects.toThrow(message);
  });

  test('are refused if the id sets them too', async () => {
    await expect(makeEnvironment('synthetic:survival?seed=1', { seed: 2 })).rejects.toThrow(
      /also set in the id/,
    );
  });
});

function constantActions({ actionSpace }: Environment): readonly Action[] {
  switch (actionSpace.kind) {
    case 'text':
      return actionSpace.choices ?? [];
    case 'discrete':
      return Array.from({ length: actionSpace.n }, (_, a) => a);
    case 'box':
      return [-1, 0, 1].flatMap((first) =>
        actionSpace.high.length === 1
          ? [[first * actionSpace.high[0]!]]
          : [-1, 0, 1].map((second) => [first * actionSpace.high[0]!, second * actionSpace.high[1]!]),
      );
    case 'tuple':
      return [];
  }
}
