import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Conversation } from '../../../finetune/dataset/read-dataset.js';
import { checkpointThreads } from '../../../finetune/engine/checkpoint.js';
import { isDecayed } from '../../../finetune/engine/optimisers.js';
import type { TrainingEvent } from '../../../finetune/train/events.js';
import type { TrainingHooks } from '../../../finetune/train/loop.js';
import { fineTune } from '../../../finetune/train/supervised.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { adaptableModules, readAdapter } from '../../../src/models/local/graph/adapter.js';
import { decoderTensors } from '../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { referenceDirectory, referenceModels } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { adapterValues, values } from '../reference-training.js';
import { tuning } from './tuning.js';

const folder = temporaryDirectory();

const model = referenceDirectory('qwen2-tied-bf16-sharded');

const conversations: readonly Conversation[] = Array.from({ length: 10 }, (_, i) => ({
  messages: [{ role: 'user', content: `f(params): ${'9'.repeat(1 + (i % 4))}. Propose.` }],
  completion: `params[0]: ${i}.5`,
  weight: i === 3 ? 0.5 : 1,
}));

const data = { training: conversations.slice(2), validation: conversations.slice(0, 2) };
const lora = { kind: 'lora', rank: 4, alpha: 8, modules: adaptableModules };

const tune = (name: string, change: object = {}, hooks: TrainingHooks = {}, own: object = {}) =>
  fineTune(
    tuning({
      method: { ...lora, dropout: 0.1 },
      epochs: 2,
      batchTokens: 64,
      schedule: 'cosine',
      warmupSteps: 1,
      evaluateEvery: 2,
      checkpointEvery: 2,
      output: path.join(folder, name),
      ...change,
    }),
    { ...data, ...own },
    hooks,
  );

function copiedModel(name: string): string {
  const directory = path.join(folder, 'models', name);
  cpSync(model, directory, { recursive: true });
  return directory;
}

const recorded = () => {
  const events: TrainingEvent[] = [];
  return { events, onEvent: (event: TrainingEvent) => void events.push(event) };
};

const lossesOf = (events: readonly TrainingEvent[]) =>
  events.flatMap((event) => (event.kind === 'step' ? [event.loss!] : []));

describe('training an adapter', () => {
  it('lowers the loss and changes every adapter weight but no model weight', async () => {
    const before = values(openWeights(model));
    const { events, onEvent } = recorded();
    const outcome = await tune('moved', { epochs: 8 }, { onEvent });
    const losses = lossesOf(events);
    expect(losses).toHaveLength(16);
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.5);
    expect(outcome.ended).toBe('complete');
    const adapter = adapterValues(outcome.result!);
    expect(adapter.size).toBe(2 * 7 * readDecoderConfig(model).layers.length);
    // Initial values depend only on the seed (those of B are 0), so training without effect would leave them there.
    const untrained = await tune('unmoved', { learningRate: 1e-30, epochs: 1 });
    const first = adapterValues(untrained.result!);
    for (const [name, numbers] of adapter) {
      const unchanged = numbers.filter(
        (value, i) => value === (name.endsWith('_A.weight') ? first.get(name)![i] : 0),
      );
      expect(unchanged, name).toHaveLength(0);
    }
    expect(values(openWeights(model))).toEqual(before);
    expect(readAdapter(outcome.result!).scaling.rank).toBe(4);
  });

  it.each(['after', 'within', 'late in'])(
    'resumes bit for bit after an interruption %s a step',
    async (when) => {
      const whole = recorded();
      const uninterrupted = await tune(`whole-${when}`, { threads: 2 }, whole);
      const first = recorded();
      const abort = new AbortController();
      let isAsked = false;
      let parts = 0;
      const steps = () => lossesOf(first.events).length;
      // Like a signal, it is handled once the step's last part has been read.
      const askLate = (read: number, of: number) => {
        if (steps() !== 2 || read === of) return;
        const part = ++parts;
        const ask = () => {
          isAsked ||= part === parts;
        };
        setImmediate(setImmediate, () => setImmediate(ask));
      };
      const hooks = {
        after: { stop: () => steps() === 3 },
        within: { abort: abort.signal, onRead: (read: number) => steps() === 3 && read > 0 && abort.abort() },
        'late in': { stop: () => isAsked, onRead: askLate },
      }[when];
      const stopped = await tune(`resumed-${when}`, { threads: 2 }, { ...first, ...hooks });
      expect(stopped).toMatchObject({ ended: 'interrupted', step: 3, result: undefined });
      const second = recorded();
      const resumed = await tune(`resumed-${when}`, { threads: 2 }, second);
      expect([...lossesOf(first.events), ...lossesOf(second.events)]).toEqual(lossesOf(whole.events));
      expect(resumed.lowest).toEqual(uninterrupted.lowest);
      expect(adapterValues(resumed.result!)).toEqual(adapterValues(uninterrupted.result!));
    },
  );

  it('resumes with the number of threads that it started with', async () => {
    const whole = await tune('three', { threads: 3 });
    await tune('three-resumed', { threads: 3 }, { stop: () => true });
    expect(checkpointThreads(path.join(folder, 'three-resumed', 'checkpoint.safetensors'))).toBe(3);
    const resumed = await tune('three-resumed', { threads: undefined });
    expect(adapterValues(resumed.result!)).toEqual(adapterValues(whole.result!));
  });

  it('rejects a checkpoint made with different settings, data or weights', async () => {
    const own = copiedModel('own');
    const begun = (change: object = {}, other: object = {}) =>
      tune('begun', { model: own, ...change }, {}, other);
    await tune('begun', { model: own }, { stop: () => true });
    const [shard] = [...openWeights(own).values()].filter(({ name }) => name.includes('up_proj'));
    const bytes = readFileSync(shard!.file);
    const refused = /a training run with different settings, data or weights/;
    await expect(begun({ learningRate: 0.02 })).rejects.toThrow(refused);
    for (const other of [{ training: conversations.slice(1) }, { validation: [] }])
      await expect(begun({}, other)).rejects.toThrow(refused);
    bytes[shard!.offset + 1]! ^= 1;
    writeFileSync(shard!.file, bytes);
    await expect(begun()).rejects.toThrow(refused);
    // Checkpoints and the number of tokens read at once don't affect what is learned.
    bytes[shard!.offset + 1]! ^= 1;
    writeFileSync(shard!.file, bytes);
    expect((await begun({ batchTokens: 32, checkpointEvery: 1 })).ended).toBe('complete');
  });

  it('has the same losses when batches are split into parts', async () => {
    const run = async (name: string, batchTokens: number) => {
      const { events, onEvent } = recorded();
      await tune(name, { batchTokens, method: lora }, { onEvent });
      return lossesOf(events);
    };
    const whole = await run('together', 10_000);
    const split = await run('split', 1);
    whole.forEach((loss, step) => {
      expect(Math.abs(loss - split[step]!)).toBeLessThan(1e-4);
    });
  });

  it('stops early after `patience` validations without a lower loss', async () => {
    const { events, onEvent } = recorded();
    const wild = { epochs: 50, learningRate: 0.3, evaluateEvery: 1, patience: 3 };
    const outcome = await tune('early', wild, { onEvent });
    expect(outcome.ended).toBe('early');
    expect(outcome.step).toBe(outcome.lowest!.step + 3);
    const validations = events.flatMap((event) => (event.kind === 'validation' ? [event.loss!] : []));
    expect(outcome.lowest!.loss).toBe(Math.min(...validations));
  });

  it('reports divergence when the loss is no longer a number', async () => {
    const wild = { learningRate: 1e30, maxGradientNorm: 1e30 };
    await expect(tune('diverged', wild)).rejects.toThrow(/training has diverged: in step/);
    // The only step is finite, but the weights after it aren't, so no adapter is kept.
    const once = { ...wild, epochs: 1, batchExamples: 8 };
    await expect(tune('diverged-at-last', once)).rejects.toThrow(/in step 1, the validation loss is NaN/);
    expect(existsSync(path.join(folder, 'diverged-at-last', 'adapter'))).toBe(false);
  });

  it('rejects examples that are longer than the context, have no weight or have an empty prompt', async () => {
    const long = { ...conversations[0]!, completion: 'params '.repeat(600) };
    await expect(tune('long', {}, {}, { training: [long] })).rejects.toThrow(
      /longer than the context of 512 tokens: 1 of 1/,
    );
    const idle = conversations.map((one) => ({ ...one, weight: 0 }));
    await expect(tune('idle', {}, {}, { training: idle })).rejects.toThrow(/no example has a reply/);
    const silent = copiedModel('silent');
    writeFileSync(path.join(silent, 'chat_template.jinja'), '');
    await expect(tune('silent', { model: silent })).rejects.toThrow(/renders an empty prompt/);
  });
});

describe('training all weights', () => {
  it('keeps its finished model when rerun, even with other settings or without its checkpoint', async () => {
    const result = path.join(folder, 'again', 'model');
    const again = (change: object = {}, hooks: TrainingHooks = {}) =>
      tune('again', { method: { kind: 'full' }, ...change }, hooks);
    const weights = () => readFileSync(path.join(result, 'model.safetensors'));
    await again();
    const first = weights();
    const { events, onEvent } = recorded();
    expect((await again({}, { onEvent })).ended).toBe('complete');
    expect(lossesOf(events)).toEqual([]);
    expect(weights().equals(first)).toBe(true);
    // Training from stored and from random weights is alike, but one can't resume from the other's checkpoint.
    await expect(again({ method: { kind: 'scratch' } })).rejects.toThrow(
      /different settings, data or weights/,
    );
    await expect(again({ model: result })).rejects.toThrow(/already contains a model/);
    rmSync(path.join(folder, 'again', 'checkpoint.safetensors'));
    await expect(again()).rejects.toThrow(/already contains a model/);
    expect(weights().equals(first)).toBe(true);
  });

  it.each(['full', 'scratch'] as const)('decays matrices, not norms or biases (method %s)', async (kind) => {
    const once = { method: { kind }, epochs: 1, batchExamples: 8, batchTokens: 4096, warmupSteps: 0 };
    const trained = async (weightDecay: number, optimizer: string) => {
      const change = { ...once, weightDecay, optimizer: { kind: optimizer } };
      const outcome = await tune(`${kind}-${optimizer}-${weightDecay}`, change, {}, { validation: [] });
      expect(outcome.step).toBe(1);
      return outcome.parameters;
    };
    for (const optimizer of ['adamw', 'muon']) {
      const [without, decayed] = [await trained(0, optimizer), await trained(0.5, optimizer)];
      const equal = without.filter(({ values }, i) =>
        decayed[i]!.values.every((value, k) => value === values[k]),
      );
      expect(equal.map(({ name }) => name)).toEqual(
        without.flatMap(({ name, shape }) => (shape.length === 1 ? [name] : [])),
      );
      // With biases and norms; the test would pass for a model that has none.
      expect(equal.length).toBe(16);
    }
  });

  it.each(referenceModels)("decays the same weights of %s as Transformers' Trainer", (name) => {
    // `get_decay_parameter_names` of Transformers 5.23.
    const left = /bias|layernorm|rmsnorm|(?:^|\.)norm(?:$|\.)|_norm(?:$|\.)/;
    const all = decoderTensors(readDecoderConfig(referenceDirectory(name)));
    expect(all.filter((one) => !isDecayed(one))).toEqual(all.filter((one) => left.test(one.name)));
  });

  it('with Muon lowers the loss and resumes exactly', async () => {
    const optimizer = { kind: 'muon' };
    const change = { method: { kind: 'scratch' }, epochs: 4, learningRate: 0.003, optimizer };
    const whole = recorded();
    const uninterrupted = await tune('muon', change, whole);
    const losses = lossesOf(whole.events);
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.5);
    const first = recorded();
    await tune('muon-resumed', change, { ...first, stop: () => lossesOf(first.events).length === 3 });
    const resumed = await tune('muon-resumed', change);
    expect(values(openWeights(resumed.result!))).toEqual(values(openWeights(uninterrupted.result!)));
  });

  it.each(['full', 'scratch'] as const)(
    '%s: the written model loads and has the best validation loss of the training run',
    async (kind) => {
      const { events, onEvent } = recorded();
      const outcome = await tune(kind, { method: { kind }, epochs: 12, learningRate: 0.003 }, { onEvent });
      const losses = lossesOf(events);
      expect(losses.at(-1)).toBeLessThan(losses[0]! - 1);
      const again = recorded();
      // Training continues from the written model with a negligible step, so the first validation is that model's.
      const still = { learningRate: 1e-30, evaluateEvery: 1, epochs: 1 };
      await tune(`${kind}-again`, { ...still, model: outcome.result!, method: { kind: 'full' } }, again);
      const first = again.events.find((event) => event.kind === 'validation')!;
      expect(first.loss).toBeCloseTo(outcome.lowest!.loss, 5);
    },
  );
});
