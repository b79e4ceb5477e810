import { expect, test } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { Environment } from '../../src/environments/environment.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { evaluate } from '../../src/rollout/evaluation.js';

/** Keeps the thread busy at each step, as a simulation in a module of a user's does. */
function slowEnvironment(stepMs: number): Environment & { steps: number } {
  return {
    id: 'Slow-v0',
    observationSpace: { kind: 'box', low: [-1], high: [1] },
    actionSpace: { kind: 'discrete', n: 2 },
    steps: 0,
    reset: () => [0],
    step() {
      this.steps++;
      const start = performance.now();
      while (performance.now() - start < stepMs);
      return { observation: [0], reward: 1, terminated: false, truncated: false };
    },
  };
}

async function played(environment: Environment, maxSteps: number, signal?: AbortSignal) {
  const policy = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
  const family = createPolicyFamily(policy, environment);
  const setting = { environment, family, maxSteps, record: 'none' } as const;
  return evaluate(setting, family.initial(createGenerator(1)), [1], signal);
}

test('an abort stops an episode of slow steps midway', async () => {
  const environment = slowEnvironment(20);
  const stop = new AbortController();
  setImmediate(() => stop.abort(new Error('stopped')));
  await expect(played(environment, 500, stop.signal)).rejects.toThrow('stopped');
  expect(environment.steps).toBeLessThan(50);
});

test('an episode without an abort is played to its end', async () => {
  const environment = slowEnvironment(3);
  expect(await played(environment, 60)).toMatchObject({ returns: [60], lengths: [60] });
  expect(environment.steps).toBe(60);
});
