import { Worker } from 'node:worker_threads';
import { makeEnvironment } from '../src/environments/catalogue/open.js';
import { createPolicyFamily } from '../src/policies/families.js';
import type { Policy } from '../src/policies/policy.js';
import { openSandbox } from '../src/policies/program/sandbox.js';
import { rollout } from '../src/rollout/episode.js';
import type { Finding } from './finding.js';
import { measurePython, median } from './rollouts.js';

/** Three forms of one policy, which balances until the step limit. */
export const kinds = ['program', 'function', 'linear'] as const;
export type Kind = (typeof kinds)[number];

const source = `function act(observation) {
  const { cartPosition, cartVelocity, poleAngle, poleAngularVelocity } = observation;
  return 0.1 * cartPosition + 0.5 * cartVelocity + poleAngle + poleAngularVelocity > 0 ? 1 : 0;
}`;
const native: Policy = (observation) => {
  const [x, v, angle, turn] = observation as readonly [number, number, number, number];
  return 0.1 * x + 0.5 * v + angle + turn > 0 ? 1 : 0;
};

/** Measures steps per second of CartPole-v1 in this thread. */
export async function stepsPerSecond(kind: Kind, ms: number): Promise<number> {
  const environment = await makeEnvironment('CartPole-v1');
  const config = { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 } as const;
  const policy = {
    program: async () => (await openSandbox(environment)).build(source),
    function: () => native,
    linear: () => createPolicyFamily(config, environment).build([0, 0.1, 0, 0.5, 0, 1, 0, 1, 0, 0]),
  }[kind];
  const act = await policy();
  const measure = (time: number): number => {
    const start = performance.now();
    let steps = 0;
    for (let seed = 0; performance.now() - start < time; seed++)
      steps += rollout(environment, act, { seed: seed % 1000, maxSteps: 500 }).length;
    return (1000 * steps) / (performance.now() - start);
  };
  measure(ms / 2);
  return measure(ms);
}

/** Measures the total steps per second of several threads. */
async function threaded(kind: Kind, threads: number): Promise<number> {
  const all = Array.from(
    { length: threads },
    () =>
      new Promise<number>((resolve, reject) => {
        const worker = new Worker(new URL('./programs-thread.js', import.meta.url), { workerData: kind });
        worker.once('message', resolve).once('error', reject);
      }),
  );
  return (await Promise.all(all)).reduce((sum, speed) => sum + speed, 0);
}

const turns = 3;

/** Compares a program in the sandbox with the same policy in other forms, in alternating turns. */
export async function benchPrograms(python: string): Promise<readonly Finding[]> {
  const speeds = new Map<string, number[]>();
  const note = (name: string, speed: number | undefined) =>
    speed !== undefined && speeds.set(name, [...(speeds.get(name) ?? []), speed]);
  for (let turn = 0; turn < turns; turn++) {
    for (const threads of [1, 2, 4])
      for (const kind of kinds) note(`${kind} ${threads}`, await threaded(kind, threads));
    note('python', measurePython(python));
  }
  const of = (name: string) => median(speeds.get(name) ?? [Number.NaN]);
  const shown = (speed: number) =>
    speed >= 1e6 ? `${(speed / 1e6).toFixed(1)} M` : `${(speed / 1e3).toFixed(0)} k`;
  const [own, gymnasium] = [of('program 1'), of('python')];
  return [
    {
      name: 'CartPole-v1 + program in the sandbox',
      value: `${shown(own)} steps/s`,
      note: `target ≥ 100 k; ${(of('function 1') / own).toFixed(0)} × slower than the same policy as a native function, ${(of('linear 1') / own).toFixed(0)} × slower than a linear policy${
        Number.isNaN(gymnasium)
          ? `; ${python} has no gymnasium`
          : `; ${(own / gymnasium).toFixed(1)} × as fast as Python Gymnasium with NumPy (${shown(gymnasium)})`
      }`,
    },
    ...[2, 4].map((threads) => ({
      name: `the same in ${threads} threads`,
      value: `${(of(`program ${threads}`) / own).toFixed(2)} × one`,
      note: `native function ${(of(`function ${threads}`) / of('function 1')).toFixed(2)} ×, linear ${(of(`linear ${threads}`) / of('linear 1')).toFixed(2)} ×`,
    })),
  ];
}
