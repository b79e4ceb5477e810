/**
 * Plays scenarios with random seeds here and in Python Gymnasium 1.3, if it is installed: POLICYLOOP_PYTHON names the
 * interpreter (default: python3).
 */
import { spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createGenerator } from '../../src/base/random/generator.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Action } from '../../src/environments/environment.js';
import { mujocoScenarios, type Scenario, scenarios } from './scenarios.js';
import { precision, replay, type Trace } from './trace.js';

const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const script = fileURLToPath(new URL('record-traces.py', import.meta.url));
const version = pythonVersion('gymnasium');
const present = version?.startsWith('1.3.') === true;
const mujocoVersion = present ? pythonVersion('mujoco') : undefined;
const mujocoPresent = mujocoVersion?.startsWith('3.14.') === true;
const steps = 500;

describe('environments compared with Python Gymnasium', () => {
  test('agree in all scenarios without MuJoCo, within tolerances', { timeout: 120_000 }, async ({ skip }) => {
    if (!present) {
      skip(
        said(`live comparison skipped: ${python} has Gymnasium ${version ?? '(none)'}, and it takes 1.3.x`),
      );
    }
    await compareAll(scenarios);
  });

  test('agree in all scenarios of MuJoCo, within tolerances', { timeout: 120_000 }, async ({ skip }) => {
    if (!mujocoPresent) {
      skip(
        said(
          `MuJoCo comparison skipped: ${python} has mujoco ${mujocoVersion ?? '(none)'}, and it takes 3.14.x`,
        ),
      );
    }
    await compareAll(mujocoScenarios);
  });
});

function said(reason: string): string {
  process.stderr.write(`${reason}\n`);
  return reason;
}

async function compareAll(compared: readonly Scenario[]): Promise<void> {
  const requests = await Promise.all(
    compared.map(async (scenario) => ({ scenario, ...(await play(scenario)) })),
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
}

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
  environment.close?.();
  return { seed: String(seed), actions };
}

async function compare(scenario: Scenario, traces: readonly Trace[]): Promise<void> {
  const environment = await makeEnvironment(scenario.env, scenario.kwargs);
  const { reset, step, steps } = precision(environment);
  for (const trace of traces) {
    const label = `${scenario.env} ${JSON.stringify(scenario.kwargs)} ${scenario.style}, seed ${trace.seed}`;
    const deviation = replay(environment, trace, scenario.comparable ?? steps);
    expect(deviation.flags, label).toBe(-1);
    expect(deviation.reset, label).toBeLessThanOrEqual(reset);
    expect(deviation.observation, label).toBeLessThanOrEqual(step);
    expect(deviation.reward, label).toBeLessThanOrEqual(step);
  }
  environment.close?.();
}

/** Small ones, 32-bit ones, and some larger than 2^64. */
function anySeed(): bigint {
  const bytes = randomInt(3) === 0 ? 12 : randomInt(1, 5);
  return BigInt(`0x${randomBytes(bytes).toString('hex')}`);
}

function pythonVersion(module: string): string | undefined {
  const result = spawnSync(python, ['-c', `import ${module}; print(${module}.__version__)`], {
    encoding: 'utf8',
  });
  return result.status === 0 ? result.stdout.trim() : undefined;
}
