/**
 * Plays scenarios with seeds nobody has chosen here and in Python Gymnasium 1.3, where there is one: POLICYLOOP_PYTHON
 * names the interpreter (default: python3).
 */
import { spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { Action } from '../../src/environments/environment.js';
import { makeEnvironment } from '../../src/environments/index.js';
import { createGenerator } from '../../src/random.js';
import { type Scenario, scenarios } from './scenarios.js';
import { replay, type Trace, tolerance } from './trace.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const script = fileURLToPath(new URL('record-traces.py', import.meta.url));
const version = pythonGymnasiumVersion();
const present = version?.startsWith('1.3.') === true;
const steps = 500;

describe('live comparison with Python Gymnasium', () => {
  test('agrees in every scenario', { timeout: 120_000 }, async ({ skip }) => {
    if (!present) {
      const found = version === undefined ? 'no Gymnasium' : `Gymnasium ${version}`;
      const reason = `live comparison skipped: ${python} has ${found}, and it takes 1.3.x`;
      process.stderr.write(`${reason}\n`);
      skip(reason);
    }
    const requests = await Promise.all(
      scenarios.map(async (scenario) => ({ scenario, ...(await play(scenario)) })),
    );
    const input = requests.map(({ scenario: { env, kwargs, dtype }, seed, actions }) =>
      JSON.stringify({ env, kwargs, dtype, seed, actions }),
    );
    const result = spawnSync(python, [script], {
      input: `${input.join('\n')}\n`,
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
    });
    expect(result.status, result.stderr).toBe(0);
    const answers = result.stdout.trim().split('\n');
    expect(answers).toHaveLength(requests.length);
    for (const [i, { scenario }] of requests.entries()) {
      await compare(scenario, JSON.parse(answers[i]!) as Trace[]);
    }
  });
});

/** Acts here; Python is then given the same actions. */
async function play(scenario: Scenario): Promise<{ seed: string; actions: Action[] }> {
  const seed = anySeed();
  const random = createGenerator(seed, [1]);
  const environment = await makeEnvironment(scenario.env, scenario.kwargs);
  const actions: Action[] = [];
  let observation = environment.reset(seed);
  while (actions.length < steps) {
    const action = scenario.act(observation, random);
    actions.push(action);
    const step = environment.step(action);
    observation = step.terminated || step.truncated ? environment.reset() : step.observation;
  }
  return { seed: String(seed), actions };
}

async function compare(scenario: Scenario, traces: readonly Trace[]): Promise<void> {
  const environment = await makeEnvironment(scenario.env, scenario.kwargs);
  for (const trace of traces) {
    const label = `${scenario.env} ${JSON.stringify(scenario.kwargs)} ${scenario.style}, seed ${trace.seed}`;
    const deviation = replay(environment, trace, scenario.comparable);
    expect(deviation, label).toMatchObject({ resetEqual: true, flags: -1 });
    expect(deviation.observation, label).toBeLessThanOrEqual(tolerance(environment));
    expect(deviation.reward, label).toBeLessThanOrEqual(tolerance(environment));
  }
}

/** Small ones, 32-bit ones, and some larger than 2^64. */
function anySeed(): bigint {
  const bytes = randomInt(3) === 0 ? 12 : randomInt(1, 5);
  return BigInt(`0x${randomBytes(bytes).toString('hex')}`);
}

function pythonGymnasiumVersion(): string | undefined {
  const result = spawnSync(python, ['-c', 'import gymnasium; print(gymnasium.__version__)'], {
    encoding: 'utf8',
  });
  return result.status === 0 ? result.stdout.trim() : undefined;
}
