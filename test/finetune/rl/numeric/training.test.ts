import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadNumericConfig } from '../../../../finetune/rl/numeric/numeric-config.js';
import { type NumericOutcome, trainNumeric } from '../../../../finetune/rl/numeric/train-numeric.js';
import type { TrainingEvent } from '../../../../finetune/train/events.js';
import { UserError } from '../../../../src/base/errors.js';
import { loadConfig } from '../../../../src/config/load.js';
import { temporaryDirectory } from '../../../support/experiments.js';

/** The smallest possible PPO run on CartPole. */
const small = `environment: CartPole-v1
policy: { kind: mlp, hidden: [8], activation: relu }
value: { hidden: [8] }
algorithm: { kind: ppo, epochs: 2, minibatchSteps: 32, learningRate: 0.003 }
updates: 4
batchEpisodes: 4
environments: 3
evaluation: { every: 2, episodes: 3 }
baselines: []
`;
const trpo = 'algorithm={kind: trpo, conjugateGradientSteps: 4, valueIterations: 3}';

interface Trained extends NumericOutcome {
  readonly events: readonly TrainingEvent[];
  readonly policy: Buffer;
}

async function train(
  overrides: readonly string[] = [],
  { output = temporaryDirectory(), stopAfter = Number.POSITIVE_INFINITY, finish = false } = {},
): Promise<Trained> {
  const file = join(output, 'small.yaml');
  writeFileSync(file, small);
  const events: TrainingEvent[] = [];
  const outcome = await trainNumeric(loadNumericConfig(file, [`output=${output}`, ...overrides]), {
    onEvent: (event) => events.push(event),
    isSpent: () => finish,
    stop: () => events.filter(({ kind }) => kind === 'step').length >= stopAfter,
  });
  const policy = outcome.result === undefined ? [] : readFileSync(join(outcome.result, 'policy.safetensors'));
  return { ...outcome, events, policy: Buffer.from(policy) };
}

const stepsOf = ({ events }: Trained) => events.filter(({ kind }) => kind === 'step');

describe.each([
  ['PPO', []],
  ['TRPO', [trpo]],
] as const)('%s', (_, algorithm) => {
  it('resumes bit for bit after an interruption and gives different weights with another seed', async () => {
    const whole = await train(algorithm);
    const output = temporaryDirectory();
    const broken = await train(algorithm, { output, stopAfter: 2 });
    expect(broken).toMatchObject({ ended: 'interrupted', step: 2, result: undefined });
    const resumed = await train(algorithm, { output });
    expect(resumed.events[0]).toMatchObject({ kind: 'start', step: 2 });
    expect([...stepsOf(broken), ...stepsOf(resumed)]).toEqual(stepsOf(whole));
    expect(resumed.policy.equals(whole.policy)).toBe(true);
    expect(resumed.returns).toEqual(whole.returns);
    const other = await train([...algorithm, 'seed=1']);
    expect(other.policy.equals(whole.policy)).toBe(false);
  });

  it("writes an interrupted run's policy with finish, and the run still resumes bit for bit", async () => {
    const output = temporaryDirectory();
    const broken = await train(algorithm, { output, stopAfter: 1 });
    const finished = await train(algorithm, { output, finish: true });
    expect(finished).toMatchObject({ ended: 'early', step: 1, returns: { length: 3 } });
    expect(finished.policy.length).toBeGreaterThan(0);
    const [whole, resumed] = [await train(algorithm), await train(algorithm, { output })];
    expect([...stepsOf(broken), ...stepsOf(resumed)]).toEqual(stepsOf(whole));
    expect(resumed.policy.equals(whole.policy)).toBe(true);
  });

  it('rejects a checkpoint made with another discount', async () => {
    const output = temporaryDirectory();
    await train([...algorithm, 'updates=1'], { output });
    await expect(train([...algorithm, 'updates=1', 'discount=0.9'], { output })).rejects.toThrow(UserError);
  });
});

it('training plays at most maxEpisodes episodes, and each baseline plays the same number', async () => {
  const { episodes, baselines, step } = await train(['maxEpisodes=10', 'baselines=[random]']);
  expect({ episodes, step }).toEqual({ episodes: 10, step: 3 });
  expect(baselines).toMatchObject([{ name: 'random', episodes: 10 }]);
});

it('training finds the rewarded action, but keeps its entropy high when all rewards are equal', async () => {
  const output = temporaryDirectory();
  const module = join(output, 'side.js');
  writeFileSync(
    module,
    `export default { name: 'side', create({ blind = false } = {}) {
  let shown = 0; let step = 0;
  let state = 1;
  const next = () => { state = (state * 48271) % 2147483647; shown = state % 2 === 0 ? 1 : -1; return [shown]; };
  return {
    id: 'Side', observationSpace: { kind: 'box', low: [-1], high: [1] }, actionSpace: { kind: 'discrete', n: 2 },
    reset(seed) { state = 1 + (Number(seed ?? 0) % 2147483646); step = 0; next(); return next(); },
    step(action) {
      const reward = blind ? 1 : (action === 1) === (shown > 0) ? 1 : 0;
      step++;
      return { observation: next(), reward, terminated: step === 20, truncated: false };
    },
  };
} };
`,
  );
  const settings = ['discount=0', 'updates=12', 'algorithm.learningRate=0.02'];
  const environment = (blind: boolean) => `environment={id: ${module}, options: {blind: ${blind}}}`;
  const learned = await train([...settings, environment(false)]);
  expect(Math.min(...learned.returns!)).toBe(20);
  const blind = await train([...settings, environment(true)]);
  const entropies = (one: Trained) =>
    one.events.flatMap((event) => (event.kind === 'step' ? [event.entropy] : []));
  expect(entropies(learned).at(-1)).toBeLessThan(0.3);
  expect(entropies(blind).at(-1)).toBeGreaterThan(0.6);
});

it('a run rejects policies that need training and names the command that trains them', () => {
  const file = join(temporaryDirectory(), 'run.yaml');
  writeFileSync(
    file,
    'environment: HalfCheetah-v5\nmodel: { provider: random }\npolicy: { kind: transformer, path: ./gpt2 }\n',
  );
  expect(() => loadConfig({ file })).toThrow(/policy\.kind[\s\S]*policyloop finetune rl/);
});
