import { setTimeout as sleep } from 'node:timers/promises';
import { makeEnvironment } from '../src/environments/catalogue/open.js';
import { createPolicyFamily } from '../src/policies/families.js';
import { evaluate } from '../src/rollout/evaluation.js';
import { createWorkers } from '../src/rollout/evaluation-workers.js';
import type { Finding } from './finding.js';
import { median } from './rollouts.js';

const policy = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
const turns = 3;

/** Evaluations in two workers compared with this thread, in alternating turns; and the cost of starting a worker. */
export async function benchWorkers(): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for (const [id, episodes, aim] of [
    ['HalfCheetah-v5', 16, ' (aim ≥ 1.7 with two free cores)'],
    ['CartPole-v1', 2000, ' (played in one thread by default)'],
  ] as const) {
    const environment = await makeEnvironment(id);
    const family = createPolicyFamily(policy, environment);
    const parameters = Array.from({ length: family.parameters.count }, () => 0.1);
    const workers = createWorkers({ environment: { id, options: {} }, policy, maxSteps: 1000 }, 2)!;
    const setting = { environment, family, maxSteps: 1000, record: 'none' } as const;
    const seeds = Array.from({ length: episodes }, (_, i) => i);
    const time = async (own: typeof setting, count: number): Promise<number> => {
      const start = performance.now();
      await evaluate(own, parameters, seeds.slice(0, count));
      return performance.now() - start;
    };
    const spread = { ...setting, workers };
    const first = await time(setting, 2);
    const started = (await time(spread, 2)) - first / 2;
    await sleep(100);
    const [serial, parallel]: [number[], number[]] = [[], []];
    for (let turn = 0; turn < turns; turn++) {
      serial.push(await time(setting, episodes));
      parallel.push(await time(spread, episodes));
    }
    await workers.close();
    environment.close?.();
    const ratio = (median(serial) / median(parallel)).toFixed(2);
    findings.push({
      name: `${id}, ${episodes} episodes in two workers`,
      value: `${ratio} × serial`,
      note: `${median(serial).toFixed(0)} ms serial${aim}; starting them took ${started.toFixed(0)} ms`,
    });
  }
  return findings;
}
