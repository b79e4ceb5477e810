import { describe, expect, it } from 'vitest';
import { modulesOf } from '../../src/config/config.js';
import { loadConfig, parseConfig } from '../../src/config/load.js';
import { fingerprint } from '../../src/runs/fingerprint.js';

const local = { environment: 'CartPole-v1', candidates: 4, model: { provider: 'local' } } as const;

const refusal = (changes: Record<string, unknown>) => () =>
  parseConfig({ ...local, adapt: {}, ...changes } as Parameters<typeof parseConfig>[0]);

describe('adapt', () => {
  it('is off by default, and then not part of the fingerprint', () => {
    const config = parseConfig(local);
    expect(config.adapt).toBeUndefined();
    expect(fingerprint(config, '')).toBe(fingerprint({ ...config, adapt: undefined }, ''));
  });

  it('is part of the fingerprint', () => {
    const of = (adapt: object) => fingerprint(parseConfig({ ...local, adapt }), '');
    const all = [fingerprint(parseConfig(local), ''), of({}), of({ every: 2 }), of({ learningRate: 1e-3 })];
    expect(new Set([...all, of({ objective: { kind: 'imitation' } })]).size).toBe(5);
  });

  it.each([
    [{ provider: 'openai', name: 'gpt-5-mini' }, 'openai: the weights of a model on a server'],
    [{ provider: 'ollama', name: 'qwen3' }, 'ollama: the weights of a model on a server'],
    [{ provider: 'hill-climb' }, 'hill-climb: a baseline has no weights'],
    [{ provider: 'teacher' }, 'teacher: a baseline has no weights'],
    [{ provider: 'replayed', run: 'somewhere' }, 'replayed: a replayed run'],
    [{ provider: 'module', path: './m.js' }, 'module: the weights of a model in your own code'],
  ])('refuses the model %j with a reason and a remedy', (model, message) => {
    expect(refusal({ model })).toThrow(message);
    expect(refusal({ model })).toThrow('set model.provider to local, or remove adapt');
  });

  it.each([
    [{ candidates: 1 }, /candidates.*compares the candidates/s],
    [{ model: { provider: 'local', temperature: 0 } }, /makes all candidates identical/],
    [{ model: { provider: 'local', topP: 0.9 } }, /model\.topP.*changes the sampling/s],
    [{ model: { provider: 'local', repetitionPenalty: 1.1 } }, /model\.repetitionPenalty/],
    [{ model: { provider: 'local', batch: 4 } }, /model\.batch.*single run/s],
    [{ model: { provider: 'local', quantization: 'float16' } }, /only for serving/],
    [{ model: { provider: 'local', adapter: 'a' }, adapt: { lora: {} } }, /adapt\.lora.*has no effect/s],
    [{ evaluation: { episodes: 40, racing: {} } }, /racing.*same episodes/s],
    [{ adapt: { objective: { kind: 'reinforce' }, epochs: 2 } }, /adapt\.epochs.*one step/s],
    [{ adapt: { objective: { kind: 'ppo' } } }, /adapt\.objective\.kind/],
    [{ adapt: { reward: { kind: 'return', low: 1, high: 1 } } }, /must be below high/],
  ])('refuses %j', (changes, message) => {
    expect(refusal(changes)).toThrow(message);
  });

  it('is dropped with a note if an override changes the provider to a baseline', () => {
    const control = loadConfig({ file: 'adapt-cartpole', overrides: ['model.provider=random'] });
    expect(control.config.adapt).toBeUndefined();
    expect(control.notes.join()).toContain(
      'ignored adapt from the file, because it requires model.provider=local',
    );
    const kept = ['model.provider=random', 'adapt.every=2'];
    expect(() => loadConfig({ file: 'adapt-cartpole', overrides: kept })).toThrow(
      'a baseline has no weights',
    );
    const same = loadConfig({ file: 'adapt-cartpole', overrides: ['model.provider=local'] });
    expect(same.config.adapt).toBeDefined();
  });

  it('accepts a module path as reward.kind and lists it in modulesOf', () => {
    const adapt = { reward: { kind: './my-reward.js' } } as never;
    const { adapt: read } = parseConfig({ ...local, adapt });
    expect(read?.reward).toMatchObject({ kind: 'module', path: expect.stringContaining('my-reward.js') });
    expect(modulesOf(parseConfig({ ...local, adapt }))).toHaveLength(1);
  });

  it('allows values of topP and topK that filter nothing', () => {
    expect(refusal({ model: { provider: 'local', topP: 1, topK: 0 } })).not.toThrow();
  });
});
