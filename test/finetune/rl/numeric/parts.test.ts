import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  addRow,
  emptyMoments,
  normalize,
  rowOf,
} from '../../../../finetune/rl/numeric/algorithms/episodes.js';
import { openLearner } from '../../../../finetune/rl/numeric/learner.js';
import { createHead } from '../../../../finetune/rl/numeric/network/policy.js';
import { loadNumericConfig } from '../../../../finetune/rl/numeric/numeric-config.js';
import { createGenerator } from '../../../../src/base/random/generator.js';
import { makeEnvironment } from '../../../../src/environments/catalogue/open.js';
import type { Space } from '../../../../src/environments/environment.js';
import { minimize } from '../../../../src/proposers/lbfgs.js';
import { temporaryDirectory } from '../../../support/experiments.js';

describe('L-BFGS', () => {
  it('finds the minimum of the Rosenbrock function', async () => {
    const { x, value } = await minimize(
      async ([a, b]) => ({
        value: (1 - a!) ** 2 + 100 * (b! - a! * a!) ** 2,
        gradient: Float64Array.of(-2 * (1 - a!) - 400 * a! * (b! - a! * a!), 200 * (b! - a! * a!)),
      }),
      Float64Array.of(-1.2, 1),
      200,
    );
    expect(value).toBeLessThan(1e-12);
    expect([...x]).toEqual([expect.closeTo(1, 5), expect.closeTo(1, 5)]);
  });

  it('stays at its starting point on a flat function', async () => {
    const flat = async (x: Float64Array) => ({ value: 3, gradient: new Float64Array(x.length) });
    expect((await minimize(flat, Float64Array.of(7), 25)).x).toEqual(Float64Array.of(7));
  });
});

describe('observation normalisation', () => {
  it('uses the mean and standard deviation of all rows and clips at 5', () => {
    const random = createGenerator(1);
    const rows = Array.from({ length: 500 }, () => Float64Array.of(3 + 2 * random.normal(), 7));
    const moments = emptyMoments(2);
    expect([...normalize(moments, Float64Array.of(2, -9))]).toEqual([2, -5]);
    for (const row of rows) addRow(moments, row);
    const seen = rows.map((row) => normalize(moments, row)[0]!);
    expect(seen.reduce((sum, value) => sum + value, 0) / 500).toBeCloseTo(0, 10);
    expect(seen.reduce((sum, value) => sum + value * value, 0) / 499).toBeCloseTo(1, 6);
    expect(normalize(moments, Float64Array.of(1000, 7))).toEqual(Float64Array.of(5, 0));
  });

  it('one-hot encodes a discrete observation', () => {
    expect([...rowOf(2, { kind: 'discrete', n: 3, start: 1 })]).toEqual([0, 1, 0]);
  });
});

describe.each([
  ['box', { kind: 'box', low: [-1, -1], high: [1, 1] }],
  ['discrete', { kind: 'discrete', n: 3, start: 5 }],
] as const)('the head for a %s action space', (_, actionSpace: Space) => {
  const head = createHead({ id: 'test', observationSpace: actionSpace, actionSpace });
  const one = { outputs: Float64Array.of(0.3, -0.7, 1.1).slice(0, head.outputs), own: head.initial };

  it('samples from its own distribution: the mean of −log π is its entropy', () => {
    const random = createGenerator(3);
    const logs = Array.from(
      { length: 20_000 },
      () => head.logProbabilities(one, head.sample(one, random))[0]!,
    );
    const center = -logs.reduce((sum, log) => sum + log, 0) / logs.length;
    expect(center).toBeGreaterThan(head.entropy(one) - 0.03);
    expect(center).toBeLessThan(head.entropy(one) + 0.03);
  });

  it('has a divergence of 0 from itself and of half the Fisher quadratic form from a nearby policy', () => {
    expect(head.divergence(one, one)).toBeCloseTo(0, 12);
    const step = 1e-4;
    const change = { outputs: one.outputs.map((_value, i) => i + 1), own: one.own.map(() => 0.5) };
    const moved = {
      outputs: one.outputs.map((value, i) => value + step * change.outputs[i]!),
      own: one.own.map((value, i) => value + step * change.own[i]!),
    };
    const product = head.fisher(one, change);
    const dot = (a: Float64Array, b: Float64Array) => a.reduce((sum, value, i) => sum + value * b[i]!, 0);
    const form = dot(product.outputs, change.outputs) + dot(product.own, change.own);
    expect(head.divergence(one, moved) / (0.5 * step * step * form)).toBeCloseTo(1, 2);
  });

  it('converts the most probable action into an action of the environment', () => {
    const action = head.toAction(head.mode(one));
    expect(action).toEqual(actionSpace.kind === 'discrete' ? 7 : [0.3, -0.7]);
  });
});

describe('GPT-2 with a policy head', () => {
  const opened: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  const path = join(import.meta.dirname, '../../../fixtures/numeric-heads/gpt2');
  const learnerOf = async (...overrides: string[]) => {
    const file = join(import.meta.dirname, '../../../../configs/rl/cartpole-ppo.yaml');
    const own = [`policy={kind: transformer, path: ${path}, decimals: 1, hidden: [5]}`, 'output=unused'];
    const config = loadNumericConfig(file, [...own, ...overrides]);
    const learner = openLearner(config, await makeEnvironment('CartPole-v1'));
    opened.push(learner);
    return learner;
  };
  const rows = [
    Float64Array.of(0.1, -2, 3.3, 0),
    Float64Array.of(0, 0, 0, 0),
    Float64Array.of(-1.5, 4.9, -4.9, 1),
  ];

  it('gives the same distribution for an observation alone and in a batch', async () => {
    const learner = await learnerOf();
    const { policy, theta } = learner.actor(learner.initialParameters());
    const together = await policy.distributions(theta, rows);
    for (const [i, row] of rows.entries()) {
      const alone = await policy.distributions(theta, [row]);
      for (const [j, value] of alone.outputs.entries())
        expect(value).toBeCloseTo(together.outputs[i * 2 + j]!, 5);
    }
  });

  it('rejects observations longer than its context', async () => {
    const directory = temporaryDirectory();
    for (const name of readdirSync(path)) copyFileSync(join(path, name), join(directory, name));
    const learner = await learnerOf('policy.decimals=6', `policy.path=${directory}`);
    const { policy, theta } = learner.actor(learner.initialParameters());
    const long = [Float64Array.from({ length: 8 }, () => -1.234567)];
    await expect(policy.distributions(theta, long)).rejects.toThrow(
      /has \d+ tokens.*\n[\s\S]*policy\.decimals/,
    );
  });
});
