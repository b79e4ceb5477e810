import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.js';

const text = `environment: MountainCar-v0
policy: {kind: q-table, form: values, low: -3, discretize: [{low: -1.2, high: 0.6, bins: 4}, {edges: [0]}]}
model: {provider: ollama, name: 'qwen3:8b', think: false, temperature: 0.7, price: {input: 1, output: 2}}
target: -120
warmup: 5
memory: none
prompts: {optimum: -110}
`;

const load = (...overrides: readonly string[]) =>
  loadConfig({ file: 'my.yaml', overrides, readFile: () => text });
const config = (...overrides: readonly string[]) => load(...overrides).config;

describe('an override', () => {
  it('sets a field to a YAML value', () => {
    expect(config('iterations=50').iterations).toBe(50);
    expect(config('policy.low=-1.5').policy).toMatchObject({ low: -1.5 });
    expect(config('model.think=high').model).toMatchObject({ think: 'high' });
    expect(config('memory={best: 3, recent: 4}').memory).toMatchObject({ best: 3, recent: 4 });
    expect(config(' seed = 7 ').seed).toBe(7);
    expect(config('model.name=llama3.1:8b').model).toMatchObject({ name: 'llama3.1:8b' });
    expect(config('prompts.description=a=b.hbs').prompts.description).toBe(resolve('a=b.hbs'));
  });

  it('adds a field and its section if the file lacks them', () => {
    expect(config('limits.calls=9').limits).toEqual({ calls: 9 });
    expect(config('prompts.stepSize=3').prompts.stepSize).toBe(3);
  });

  it('stays text in a text field, even if it looks like a number', () => {
    expect(config('model.name=123').model).toMatchObject({ name: '123' });
    expect(config('name=2024').name).toBe('2024');
    expect(config('model.keepAlive=10').model).toMatchObject({ keepAlive: '10' });
  });

  it('reaches list items by index', () => {
    const { policy } = config('policy.discretize.0.bins=8', 'policy.discretize.1.edges=[-0.01, 0, 0.01]');
    expect(policy).toMatchObject({ discretize: [{ bins: 8, low: -1.2 }, { edges: [-0.01, 0, 0.01] }] });
  });

  it('expands a shorthand to set a field inside it', () => {
    const { environment, target, warmup, memory } = config(
      'environment.options.goal_velocity=0.1',
      'target.hold=2',
      'warmup.from=runs/earlier',
      'memory.best=5',
    );
    expect(environment).toEqual({ id: 'MountainCar-v0', options: { goal_velocity: 0.1 } });
    expect(target).toEqual({ return: -120, hold: 2 });
    expect(warmup).toEqual({ policies: 5, from: resolve('runs/earlier') });
    expect(memory).toMatchObject({ best: 5, recent: 0 });
  });

  it('with an empty value removes the field', () => {
    const { target, prompts, warmup } = config('target=', 'prompts.optimum=', 'warmup=');
    expect(target).toBeUndefined();
    expect(prompts.optimum).toBeUndefined();
    expect(warmup).toEqual({ policies: 20 });
  });

  it('applies after earlier overrides', () => {
    expect(config('seed=1', 'seed=2').seed).toBe(2);
    expect(config('environment.options.x=1', 'environment=CartPole-v1').environment.options).toEqual({});
    expect(config('environment=CartPole-v1', 'environment.options.x=1').environment).toEqual({
      id: 'CartPole-v1',
      options: { x: 1 },
    });
    expect(config('model.sigma=0.5', 'model.provider=cma-es').model).toEqual({
      provider: 'cma-es',
      sigma: 0.5,
    });
  });
});

describe('a change of provider or kind', () => {
  it('drops settings that the new provider lacks, with a note', () => {
    const { config, notes } = load('model.provider=random');
    expect(config.model).toEqual({ provider: 'random' });
    expect(notes).toEqual([
      "model.provider=random: ignored model.name, model.think, model.temperature, model.price from the file, because random doesn't accept them",
    ]);
  });

  it('in a bundled config causes no note', () => {
    const { config, notes } = loadConfig({ file: 'cartpole-numeric', overrides: ['model.provider=gp'] });
    expect([config.model, notes]).toEqual([expect.not.objectContaining({ name: expect.anything() }), []]);
  });

  it('keeps shared settings', () => {
    const { config, notes } = load('model.provider=openai');
    expect(config.model).toMatchObject({ provider: 'openai', name: 'qwen3:8b', temperature: 0.7 });
    expect(notes).toEqual([
      "model.provider=openai: ignored model.think from the file, because openai doesn't accept it",
    ]);
  });

  it('in the model of a stage drops values that the new provider rejects', () => {
    const text = `{environment: CartPole-v1, model: {provider: random}, critic: {model: {provider: local, temperature: 4, format: constrained}}}`;
    const overrides = ['critic.model.provider=ollama', 'critic.model.name=m'];
    const { config, notes } = loadConfig({ file: 'my.yaml', overrides, readFile: () => text });
    expect(config.critic).toMatchObject({ model: { provider: 'ollama', name: 'm', format: 'auto' } });
    expect(notes).toEqual([
      "critic.model.provider=ollama: ignored critic.model.temperature, critic.model.format from the file, because ollama doesn't accept them",
    ]);
  });

  it('drops settings that the new kind of policy lacks, with a note', () => {
    const { config, notes } = load('policy.kind=linear');
    expect(config.policy).toEqual({ kind: 'linear', bias: true, low: -3, high: 6, decimals: 1 });
    expect(notes).toEqual([
      "policy.kind=linear: ignored policy.form, policy.discretize from the file, because linear doesn't accept them",
    ]);
  });

  it('rejects a setting from the command line instead of dropping it', () => {
    expect(() => load('model.provider=random', 'model.sigma=2')).toThrow(
      /^override model.sigma=2: unknown key/,
    );
  });

  it('has no effect if the new value equals the old one', () => {
    expect(load('model.provider=ollama')).toMatchObject({ notes: [], config: load().config });
  });
});
