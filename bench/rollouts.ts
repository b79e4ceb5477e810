import { spawnSync } from 'node:child_process';
import { makeEnvironment } from '../src/environments/catalogue/open.js';
import { createPolicyFamily } from '../src/policies/families.js';
import { rollout } from '../src/rollout/episode.js';
import type { Finding } from './finding.js';

/** A hand-tuned CartPole policy that balances to the limit, so that steps take most of the time. */
const cartPoleWeights = [0, 0.1, 0, 0.5, 0, 1, 0, 1, 0, 0];

/** Measures steps per second of CartPole-v1 with a linear policy, here and in Python Gymnasium, in turns. */
export async function benchRollouts(python: string): Promise<readonly Finding[]> {
  const environment = await makeEnvironment('CartPole-v1');
  const family = createPolicyFamily(
    { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 },
    environment,
  );
  const policy = family.build(cartPoleWeights);
  const measure = (ms: number): number => {
    const start = performance.now();
    let steps = 0;
    for (let seed = 0; performance.now() - start < ms; seed++) {
      steps += rollout(environment, policy, { seed: seed % 1000, maxSteps: 500 }).length;
    }
    return (1000 * steps) / (performance.now() - start);
  };
  measure(500);
  const node: number[] = [];
  const gymnasium: number[] = [];
  for (let turn = 0; turn < 3; turn++) {
    node.push(measure(1000));
    const theirs = measurePython(python);
    if (theirs !== undefined) gymnasium.push(theirs);
  }
  const ours = median(node);
  const findings: Finding[] = [
    { name: 'CartPole-v1 + linear policy', value: `${(ours / 1e6).toFixed(1)} M steps/s` },
  ];
  if (gymnasium.length > 0) {
    const theirs = median(gymnasium);
    findings.push({
      name: 'the same in Python Gymnasium',
      value: `${(theirs / 1e3).toFixed(0)} k steps/s`,
      note: `ratio ${(ours / theirs).toFixed(0)} (target ≥ 100)`,
    });
  } else {
    findings.push({ name: 'the same in Python Gymnasium', value: '–', note: `${python} has no gymnasium` });
  }
  return findings;
}

export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;

const script = `
import time, sys
try:
    import gymnasium, numpy as np
except ImportError:
    sys.exit(3)
env = gymnasium.make("CartPole-v1")
W = np.array(${JSON.stringify(cartPoleWeights.slice(0, 8))}).reshape(4, 2); b = np.zeros(2)
steps, seed, start = 0, 0, time.perf_counter()
while time.perf_counter() - start < 2:
    s, _ = env.reset(seed=seed % 1000); seed += 1
    while True:
        s, r, terminated, truncated, _ = env.step(int(np.argmax(s @ W + b)))
        steps += 1
        if terminated or truncated: break
print(steps / (time.perf_counter() - start))
`;

export function measurePython(python: string): number | undefined {
  const { status, stdout } = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  return status === 0 ? Number(stdout) : undefined;
}
