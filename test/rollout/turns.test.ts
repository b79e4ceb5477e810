import { expect, onTestFinished, test, vi } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import type { Environment } from '../../src/environments/environment.js';
import { createPolicyFamily } from '../../src/policies/families.js';
import { evaluate } from '../../src/rollout/evaluation.js';

test('an abort stops an episode of slow steps midway', async () => {
  let steps = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => 20 * steps);
  onTestFinished(() => clock.mockRestore());
  const environment: Environment = {
    id: 'Slow-v0',
    observationSpace: { kind: 'box', low: [-1], high: [1] },
    actionSpace: { kind: 'discrete', n: 2 },
    reset: () => [0],
    step() {
      steps++;
      return { observation: [0], reward: 1, terminated: false, truncated: false };
    },
  };
  const policy = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
  const family = createPolicyFamily(policy, environment);
  const setting = { environment, family, maxSteps: 500, record: 'none' } as const;
  const stop = new AbortController();
  setImmediate(() => stop.abort(new Error('stopped')));
  const playing = evaluate(setting, family.initial(createGenerator(1)), [1], stop.signal);
  await expect(playing).rejects.toThrow('stopped');
  expect(steps).toBeLessThan(50);
  // It reads the clock in one step of sixteen.
  expect(clock.mock.calls.length).toBeLessThan(steps / 4);
});
