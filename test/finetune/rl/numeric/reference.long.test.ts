import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type PpoState, ppoLoss, ppoStep } from '../../../../finetune/rl/numeric/algorithms/ppo.js';
import {
  conjugateGradient,
  fisherProduct,
  policyGradient,
  trpoUpdate,
} from '../../../../finetune/rl/numeric/algorithms/trpo.js';
import type { LayerSizes } from '../../../../finetune/rl/numeric/network/network.js';
import {
  mlpDefinition,
  type NumericNetwork,
  openNetwork,
  type Row,
} from '../../../../finetune/rl/numeric/network/network.js';
import {
  createHead,
  createNumericPolicy,
  type NumericPolicy,
} from '../../../../finetune/rl/numeric/network/policy.js';
import { openDecoder, transformerDefinition } from '../../../../finetune/rl/numeric/network/transformer.js';
import type { Space } from '../../../../src/environments/environment.js';
import { readSafetensors, readTensorBytes } from '../../../../src/models/local/weights/safetensors.js';

const folder = join(import.meta.dirname, '../../../fixtures/numeric-heads');
const inputs = 4;
const damping = 0.1;
const trpoSettings = { damping, backtracks: 10 };
const ppoSettings = {
  clip: 0.2,
  valueClip: 0.2,
  epochs: 1,
  minibatchSteps: 24,
  entropy: 0.01,
  valueFactor: 0.5,
};
const maxGradientNorm = 0.5;

/** The numbers that PyTorch computed, by their names. */
function referenceOf(name: string): (key: string) => Float64Array {
  const { tensors } = readSafetensors(join(folder, `${name}.safetensors`));
  const byName = new Map(tensors.map((tensor) => [tensor.name, tensor]));
  return (key) => new Float64Array(Uint8Array.from(readTensorBytes(byName.get(key)!)).buffer);
}

const box = (length: number): Space => ({
  kind: 'box',
  low: Array(length).fill(-1),
  high: Array(length).fill(1),
});
const choice: Space = { kind: 'discrete', n: 3 };
const layersOf = (space: Space, activation: LayerSizes['activation'], width = inputs): LayerSizes => ({
  inputs: width,
  hidden: [7, 6],
  outputs: space.kind === 'box' ? space.low.length : 3,
  activation,
});
const mlp = (space: Space, activation: LayerSizes['activation']) => ({
  space,
  definition: () => mlpDefinition(layersOf(space, activation)),
});
const text = (precision: 'float32' | 'float64') => ({
  space: box(2),
  definition: () =>
    transformerDefinition(openDecoder(join(folder, 'gpt2'), 1), layersOf(box(2), 'tanh', 8), precision),
});

const cases = [
  { name: 'mlp-gaussian', ...mlp(box(3), 'tanh'), bound: 1e-8 },
  { name: 'mlp-categorical', ...mlp(choice, 'relu'), bound: 1e-8 },
  { name: 'text-gaussian', ...text('float64'), bound: 1e-8 },
  { name: 'text-gaussian', ...text('float32'), bound: 1e-4 },
];

/** ‖a − b‖ / ‖b‖ */
function distance(a: ArrayLike<number>, b: Float64Array): number {
  expect(a.length).toBe(b.length);
  const differences = b.map((value, i) => a[i]! - value);
  return Math.hypot(...differences) / Math.hypot(...b);
}

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

function policyOf({ space, definition }: (typeof cases)[number]): NumericPolicy {
  const policy = createNumericPolicy(
    openNetwork(definition(), 1),
    createHead({ id: 'test', observationSpace: box(inputs), actionSpace: space }),
  );
  opened.push(policy);
  return policy;
}

function batchOf(read: (key: string) => Float64Array, number: number) {
  const flat = read(`batch${number}.rows`);
  const rows = Array.from(
    { length: flat.length / inputs },
    (_, i): Row => flat.slice(i * inputs, (i + 1) * inputs),
  );
  const [actions, advantages] = [read(`batch${number}.actions`), read(`batch${number}.advantages`)];
  const none = new Float64Array(rows.length);
  return { observations: rows, actions, advantages, values: none, targets: none };
}

describe.each(cases)('$name (tolerance about $bound)', (one) => {
  const { name, bound } = one;
  const read = referenceOf(name);
  // As many as the reference makes.
  const conjugateGradientSteps = name.startsWith('mlp') ? 10 : 3;

  it.each([1, 2])('makes the same TRPO update as PyTorch on batch %i', async (number) => {
    const policy = policyOf(one);
    const expected = (key: string) => read(`trpo${number}.${key}`);
    const theta = number === 1 ? read('theta') : read('trpo1.theta');
    const batch = batchOf(read, number);
    const before = await policy.distributions(theta, batch.observations);
    const close = (values: ArrayLike<number>, key: string, times = 1) =>
      expect(distance(values, expected(key)), key).toBeLessThan(times * bound);

    close(policy.head.logProbabilities(before, batch.actions), 'log_probabilities');
    const gradient = await policyGradient(policy, theta, batch, before);
    close(gradient, 'gradient');
    const product = fisherProduct(policy, theta, batch, before, damping);
    close(await product(expected('v')), 'product');
    close(await conjugateGradient(product, expected('gradient'), conjugateGradientSteps), 'direction', 10);
    const maxKl = expected('max_kl')[0]!;
    const update = await trpoUpdate(policy, theta, batch, { ...trpoSettings, conjugateGradientSteps, maxKl });
    expect(update.backtracks ?? -1).toBe(expected('backtracks')[0]);
    close(update.theta, 'theta');
    close([update.gain], 'gain', 10);
    close([update.kl], 'kl', 10);
  });

  it('makes the same PPO update as PyTorch', async () => {
    const policy = policyOf(one);
    const value: NumericNetwork = openNetwork(
      mlpDefinition({ inputs, hidden: [7, 6], outputs: 1, activation: 'tanh' }),
      1,
    );
    opened.push(value);
    const zeros = (key: string) => ({ first: read(key).fill(0), second: read(key).fill(0) });
    const state: PpoState = {
      theta: read('ppo.theta'),
      valueTheta: read('ppo.value_theta'),
      moments: zeros('ppo.theta'),
      valueMoments: zeros('ppo.value_theta'),
      adamSteps: 0,
    };
    const part = {
      ...batchOf(read, 2),
      logProbabilities: read('trpo2.log_probabilities'),
      values: read('ppo.values'),
      targets: read('ppo.targets'),
    };
    const settings = { ...ppoSettings, maxGradientNorm };
    const found = await ppoLoss({ policy, value }, state, part, settings);
    const losses = [found.loss, found.policyLoss, found.valueLoss, found.entropy];
    expect(distance(losses, read('ppo.losses'))).toBeLessThan(bound);
    expect(distance([found.clipShare], read('ppo.clip_share'))).toBeLessThan(bound);
    expect(distance(found.gradient, read('ppo.gradient'))).toBeLessThan(bound);
    expect(distance(found.valueGradient, read('ppo.value_gradient'))).toBeLessThan(bound);
    ppoStep(state, found, 1e-3, maxGradientNorm);
    expect(distance(state.theta, read('ppo.after_theta'))).toBeLessThan(bound);
    expect(distance(state.valueTheta, read('ppo.after_value_theta'))).toBeLessThan(bound);
  });
});
