import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Conversation } from '../../../finetune/dataset/read-dataset.js';
import { checkpointThreads } from '../../../finetune/engine/checkpoint.js';
import { isDecayed } from '../../../finetune/engine/optimisers.js';
import type { TrainingEvent } from '../../../finetune/train/events.js';
import { type FineTuning, fineTune } from '../../../finetune/train/sft.js';
import type { TrainingSettings } from '../../../finetune/train/supervised.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { adaptableModules, readAdapter } from '../../../src/models/local/graph/adapter.js';
import { decoderTensors } from '../../../src/models/local/graph/parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { referenceDirectory, referenceModels } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { adapterValues, values } from '../reference-training.js';

const folder = temporaryDirectory();

const model = referenceDirectory('qwen2-tied-bf16-sharded');

const conversations: readonly Conversation[] = Array.from({ length: 10 }, (_, i) => ({
  messages: [{ role: 'user', content: `f(params): ${'9'.repeat(1 + (i % 4))}. Propose.` }],
  completion: `params[0]: ${i}.5`,
  weight: i === 3 ? 0.5 : 1,
}));

const settings: TrainingSettings = {
  seed: 4,
  epochs: 2,
  batchExamples: 4,
  batchTokens: 64,
  packing: 'rows',
  learningRate: 0.01,
  schedule: 'cosine',
  warmupSteps: 1,
  learningRateFloor: 0,
  adamw: { betas: [0.9, 0.999], epsilon: 1e-8, weightDecay: 0.01 },
  maxGradientNorm: 1,
  evaluateEvery: 2,
  patience: undefined,
  checkpointEvery: 2,
};

const job = (name: string, change: Partial<FineTuning> = {}): FineTuning => ({
  model,
  method: {
    kind: 'lora',
    lora: { rank: 4, alpha: 8, dropout: 0.1, rankStabilized: false, modules: adaptableModules },
  },
  training: conversations.slice(2),
  validation: conversations.slice(0, 2),
  settings,
  template: {},
  output: path.join(folder, name),
  device: 'cpu',
  threads: 1,
  ...change,
});

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
    const long = { ...settings, epochs: 8 };
    const outcome = await fineTune(job('moved', { settings: long }), { onEvent });
    const losses = lossesOf(events);
    expect(losses).toHaveLength(16);
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.5);
    expect(outcome.ended).toBe('complete');
    const adapter = adapterValues(outcome.result!);
    expect(adapter.size).toBe(2 * 7 * readDecoderConfig(model).layers.length);
    for (const [name, numbers] of adapter)
      if (name.endsWith('lora_B.weight'))
        expect(
          numbers.every((value) => value !== 0),
          name,
        ).toBe(true);
    // A's first values come from the seed alone, so that a training of no effect would show them.
    const untrained = await fineTune(
      job('unmoved', { settings: { ...long, learningRate: 1e-30, epochs: 1 } }),
    );
    for (const [name, numbers] of adapterValues(untrained.result!))
      if (name.endsWith('lora_A.weight'))
        expect(
          numbers.every((value, i) => value !== adapter.get(name)![i]),
          name,
        ).toBe(true);
    expect(values(openWeights(model))).toEqual(before);
    expect(readAdapter(outcome.result!).scaling.rank).toBe(4);
  });

  it('resumes bit for bit after an interruption', async () => {
    const whole = recorded();
    const uninterrupted = await fineTune(job('whole', { threads: 2 }), whole);
    const first = recorded();
    const stopped = await fineTune(job('resumed', { threads: 2 }), {
      ...first,
      stop: () => lossesOf(first.events).length === 3,
    });
    expect(stopped).toMatchObject({ ended: 'interrupted', step: 3, result: undefined });
    const second = recorded();
    const resumed = await fineTune(job('resumed', { threads: 2 }), second);
    expect([...lossesOf(first.events), ...lossesOf(second.events)]).toEqual(lossesOf(whole.events));
    expect(resumed.best).toEqual(uninterrupted.best);
    expect(adapterValues(resumed.result!)).toEqual(adapterValues(uninterrupted.result!));
  });

  it('resumes with the number of threads that it started with', async () => {
    const whole = await fineTune(job('three', { threads: 3 }));
    const begun = job('three-resumed', { threads: 3 });
    await fineTune(begun, { stop: () => true });
    expect(checkpointThreads(path.join(begun.output, 'checkpoint.safetensors'))).toBe(3);
    const resumed = await fineTune(job('three-resumed', { threads: undefined }));
    expect(adapterValues(resumed.result!)).toEqual(adapterValues(whole.result!));
  });

  it('refuses a checkpoint made with different settings, data or weights', async () => {
    const own = copiedModel('own');
    const begun = job('begun', { model: own });
    await fineTune(begun, { stop: () => true });
    const [shard] = [...openWeights(own).values()].filter(({ name }) => name.includes('up_proj'));
    const bytes = readFileSync(shard!.file);
    const refused = /a training run with different settings, data or weights/;
    for (const change of [
      { settings: { ...settings, learningRate: 0.02 } },
      { training: conversations.slice(1) },
      { validation: [] },
    ])
      await expect(fineTune({ ...begun, ...change })).rejects.toThrow(refused);
    bytes[shard!.offset + 1]! ^= 1;
    writeFileSync(shard!.file, bytes);
    await expect(fineTune(begun)).rejects.toThrow(refused);
    // How often it is kept and how much is read at once change nothing of what is learnt.
    bytes[shard!.offset + 1]! ^= 1;
    writeFileSync(shard!.file, bytes);
    const smaller = { ...settings, batchTokens: 32, checkpointEvery: 1 };
    expect((await fineTune({ ...begun, settings: smaller })).ended).toBe('complete');
  });

  it('has the same losses when batches are split into parts', async () => {
    const run = async (name: string, batchTokens: number) => {
      const { events, onEvent } = recorded();
      const lora = { rank: 4, alpha: 8, dropout: 0, rankStabilized: false, modules: adaptableModules };
      const change = { settings: { ...settings, batchTokens }, method: { kind: 'lora', lora } as const };
      await fineTune(job(name, change), { onEvent });
      return lossesOf(events);
    };
    const whole = await run('together', 10_000);
    const split = await run('split', 1);
    whole.forEach((loss, step) => {
      expect(Math.abs(loss - split[step]!)).toBeLessThan(1e-4);
    });
  });

  it('stops early and keeps the best weights when the validation loss rises', async () => {
    const { events, onEvent } = recorded();
    const wild = { ...settings, epochs: 50, learningRate: 0.3, evaluateEvery: 1, patience: 3 };
    const outcome = await fineTune(job('early', { settings: wild }), { onEvent });
    expect(outcome.ended).toBe('early');
    expect(outcome.step).toBe(outcome.best!.step + 3);
    const validations = events.flatMap((event) => (event.kind === 'validation' ? [event.loss!] : []));
    expect(outcome.best!.loss).toBe(Math.min(...validations));
  });

  it('raises an alarm when the validation loss rises while the training loss falls', async () => {
    const { events, onEvent } = recorded();
    const fast = { ...settings, epochs: 12, evaluateEvery: 2, schedule: 'constant' as const };
    // The same prompts with other answers: what is learnt is wrong for them.
    const validation = conversations.slice(2, 6).map((one) => ({ ...one, completion: 'no idea at all' }));
    await fineTune(job('diverging', { settings: fast, validation }), { onEvent });
    const alarms = events.filter((event) => event.kind === 'alarm');
    expect(alarms).toHaveLength(1);
    expect(alarms[0]).toMatchObject({ alarm: 'validation-diverging' });
    const before = events.slice(0, events.indexOf(alarms[0]!));
    const validations = before.flatMap((event) => (event.kind === 'validation' ? [event.loss!] : []));
    const rise = validations.slice(-4);
    expect(rise.toSorted((a, b) => a - b)).toEqual(rise);
  });

  it('reports divergence when the loss is no longer a number', async () => {
    const wild = { ...settings, learningRate: 1e30, maxGradientNorm: undefined };
    await expect(fineTune(job('diverged', { settings: wild }))).rejects.toThrow(
      /training has diverged: in step/,
    );
    // The only step is finite, but not what it leads to: no such adapter is a result.
    const once = { ...wild, epochs: 1, batchExamples: 8 };
    await expect(fineTune(job('diverged-at-last', { settings: once }))).rejects.toThrow(
      /in step 1, the validation loss is NaN/,
    );
  });

  it('refuses examples that are longer than the context, have no weight or have an empty prompt', async () => {
    const long = { ...conversations[0]!, completion: 'params '.repeat(600) };
    await expect(fineTune(job('long', { training: [long] }))).rejects.toThrow(
      /longer than the context of 512 tokens: 1 of 1/,
    );
    const idle = conversations.map((one) => ({ ...one, weight: 0 }));
    await expect(fineTune(job('idle', { training: idle }))).rejects.toThrow(/no example has an answer/);
    const silent = copiedModel('silent');
    writeFileSync(path.join(silent, 'chat_template.jinja'), '');
    await expect(fineTune(job('silent', { model: silent }))).rejects.toThrow(/renders an empty prompt/);
  });
});

describe('training all weights', () => {
  it('leaves its finished model unchanged when rerun and refuses to overwrite any other model', async () => {
    const all = job('again', { method: { kind: 'full' } });
    const weights = () => readFileSync(path.join(all.output, 'model', 'model.safetensors'));
    await fineTune(all);
    const first = weights();
    const { events, onEvent } = recorded();
    expect((await fineTune(all, { onEvent })).ended).toBe('complete');
    expect(lossesOf(events)).toEqual([]);
    expect(weights().equals(first)).toBe(true);
    // Stored and random weights are trained alike, but one does not go on from the other.
    await expect(fineTune({ ...all, method: { kind: 'scratch' } })).rejects.toThrow(
      /different settings, data or weights/,
    );
    await expect(fineTune({ ...all, model: path.join(all.output, 'model') })).rejects.toThrow(
      /already contains a model/,
    );
    rmSync(path.join(all.output, 'checkpoint.safetensors'));
    await expect(fineTune(all)).rejects.toThrow(/already contains a model/);
    expect(weights().equals(first)).toBe(true);
  });

  it.each(['full', 'scratch'] as const)('%s decays matrices but not norms or biases', async (kind) => {
    const once = { ...settings, epochs: 1, batchExamples: 8, batchTokens: 4096, warmupSteps: 0 };
    const trained = async (weightDecay: number, muon?: { momentum: number; weightDecay: number }) => {
      const change = { ...once, adamw: { ...once.adamw, weightDecay }, muon };
      const name = `${kind}-decay-${weightDecay}-${muon !== undefined}`;
      const outcome = await fineTune(job(name, { method: { kind }, settings: change, validation: [] }));
      expect(outcome.step).toBe(1);
      return outcome.parameters;
    };
    for (const momentum of [undefined, 0.9]) {
      const muon = (weightDecay: number) => (momentum === undefined ? undefined : { momentum, weightDecay });
      const [without, decayed] = [await trained(0, muon(0)), await trained(0.5, muon(0.5))];
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

  it.each(referenceModels)('decays the same weights of %s as Transformers’ Trainer', (name) => {
    // `get_decay_parameter_names` of Transformers 5.23.
    const left = /bias|layernorm|rmsnorm|(?:^|\.)norm(?:$|\.)|_norm(?:$|\.)/;
    const all = decoderTensors(readDecoderConfig(referenceDirectory(name)));
    expect(all.filter((one) => !isDecayed(one))).toEqual(all.filter((one) => left.test(one.name)));
  });

  it('with Muon lowers the loss and resumes exactly', async () => {
    const muon = {
      ...settings,
      epochs: 4,
      learningRate: 0.003,
      muon: { momentum: 0.95, weightDecay: 0.01 },
    };
    const change = { method: { kind: 'scratch' } as const, settings: muon };
    const whole = recorded();
    const uninterrupted = await fineTune(job('muon', change), whole);
    const losses = lossesOf(whole.events);
    expect(losses.at(-1)).toBeLessThan(losses[0]! - 0.5);
    const first = recorded();
    await fineTune(job('muon-resumed', change), {
      ...first,
      stop: () => lossesOf(first.events).length === 3,
    });
    const resumed = await fineTune(job('muon-resumed', change));
    expect(values(openWeights(resumed.result!))).toEqual(values(openWeights(uninterrupted.result!)));
  });

  it.each(['full', 'scratch'] as const)(
    '%s: the written model loads and has the best validation loss of the training',
    async (kind) => {
      const { events, onEvent } = recorded();
      const full = { ...settings, epochs: 12, learningRate: 0.003 };
      const outcome = await fineTune(job(kind, { method: { kind }, settings: full }), { onEvent });
      const losses = lossesOf(events);
      expect(losses.at(-1)).toBeLessThan(losses[0]! - 1);
      const again = recorded();
      // Going on from the written model, the first validation is that of its weights but for a step of no size.
      const still = { ...settings, learningRate: 1e-30, evaluateEvery: 1, epochs: 1 };
      const change = { model: outcome.result!, method: { kind: 'full' } as const, settings: still };
      await fineTune(job(`${kind}-again`, change), again);
      const first = again.events.find((event) => event.kind === 'validation')!;
      expect(first.loss).toBeCloseTo(outcome.best!.loss, 5);
    },
  );
});
