import { cpSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { makeBatch } from '../../../finetune/engine/batch.js';
import { type TrainableSpec, trainedParameters } from '../../../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../../../finetune/engine/training-graph.js';
import { openTrainingSession, type Parameter } from '../../../finetune/engine/training-session.js';
import { sft, sftInputs } from '../../../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../../../finetune/train/packing.js';
import { surveyDevices } from '../../../src/models/local/engine/device.js';
import { ort } from '../../../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../../../src/models/local/families/hf-config.js';
import { packWeights } from '../../../src/models/local/graph/packed-parameters.js';
import { openWeights } from '../../../src/models/local/weights/gguf-tensors.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/temporary-directory.js';
import { adapterValues, readReferenceTraining, relativeDistance } from '../reference-training.js';

const { usable } = await surveyDevices();

interface NodeRun {
  readonly cat: string;
  readonly name: string;
  readonly args: {
    readonly op_name?: string;
    readonly output_type_shape?: readonly Record<string, number[]>[];
  };
}

// A software Vulkan driver is enough, as in the serving tests.
describe.skipIf(!usable.includes('webgpu'))(
  'training on a GPU via WebGPU (skipped without a Vulkan driver)',
  () => {
    test.each([
      ['qwen3-fp32', 'none', 'lora'],
      ['llama3-rope-bf16', 'int4', 'lora'],
      ['qwen3-fp32', 'none', 'all'],
    ] as const)(
      "%s, quantisation %s, method %s: matches the CPU's loss and gradients, and copies little data",
      async (name, quantization, method) => {
        const [directory, profiles] = [temporaryDirectory(), temporaryDirectory()];
        cpSync(referenceDirectory(name), directory, { recursive: true });
        const config = readDecoderConfig(directory);
        const reference = readReferenceTraining(name);
        const base = openWeights(directory);
        const quantized = packWeights(directory, config, base, quantization);
        const lora = {
          kind: 'adapter',
          lora: reference.lora,
          base,
          ...(quantized && { quantized }),
        } as const;
        const trainable: TrainableSpec = method === 'all' ? { kind: 'all' } : lora;
        const start = adapterValues(path.join(referenceDirectory(name), 'adapter-start'));
        const wave = (size: number) => Float32Array.from({ length: size }, (_, i) => 0.05 * Math.sin(7 * i));
        const parameters = trainedParameters(config, trainable).map(
          (one): Parameter => ({
            ...one,
            values: start.get(one.name) ?? wave(one.shape.reduce((a, b) => a * b)),
          }),
        );
        const batch = makeBatch(singleFamilies(reference.examples), sftInputs(reference.examples));
        const { create } = ort.InferenceSession;
        const spy = vi
          .spyOn(ort.InferenceSession, 'create')
          .mockImplementation((model: Uint8Array, options) =>
            create.call(ort.InferenceSession, model, {
              ...options,
              enableProfiling: true,
              profileFilePrefix: `${profiles}/run`,
            }),
          );
        // Use the same graph on both, because the CPU's own graph rounds activations to 8 bits, but shaders don't.
        const settings = {
          config,
          trainable,
          objective: sft,
          precision: 'float32',
          purpose: 'train',
        } as const;
        const graph = buildTrainingGraph({ ...settings, device: 'webgpu' });
        const step = async (device: string) => {
          const session = await openTrainingSession(graph, { device, threads: 1, optimize: true });
          const result = await session.run(parameters, batch, 5);
          await session.close();
          return result;
        };
        try {
          const expected = await step('cpu');
          for (const file of readdirSync(profiles)) rmSync(path.join(profiles, file));
          const found = await step('webgpu');
          expect(Math.abs(found.loss - expected.loss)).toBeLessThan(1e-5);
          expect([...found.gradients.keys()]).toEqual([...expected.gradients.keys()]);
          for (const [parameter, gradient] of expected.gradients)
            expect(relativeDistance(found.gradients.get(parameter)!, gradient)).toBeLessThan(1e-3);
          const [profile] = readdirSync(profiles);
          const runs = JSON.parse(readFileSync(path.join(profiles, profile!), 'utf8')) as NodeRun[];
          const tokens = batch.input_ids!.values.length;
          // Only positions, angles and embedding rows: nothing that grows with tokens × tokens, or with the weights.
          const mostBytes =
            tokens * 4 * (config.hidden + 2 * config.headDim + 16) +
            16 * config.layers.length * config.vocabulary;
          expect(copiedBytes(runs)).toBeGreaterThan(0);
          expect(copiedBytes(runs)).toBeLessThan(mostBytes);
        } finally {
          spy.mockRestore();
          for (const folder of [directory, profiles]) rmSync(folder, { recursive: true });
        }
      },
    );
  },
);

const sizes: Readonly<Record<string, number>> = { float: 4, int32: 4, int64: 8, bool: 1, uint8: 1 };

/** Returns the bytes copied between CPU and GPU in a run, without the graph's inputs and outputs. */
function copiedBytes(runs: readonly NodeRun[]): number {
  return runs
    .filter(({ name, args }) => name.endsWith('_kernel_time') && args.op_name?.startsWith('Memcpy'))
    .flatMap(({ args }) => Object.entries(args.output_type_shape?.[0] ?? {}))
    .reduce((sum, [type, shape]) => sum + sizes[type]! * shape.reduce((a, b) => a * b, 1), 0);
}
