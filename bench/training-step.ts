/**
 * `node dist/bench/training-step.js <directory> <none|int8|int4|compute> <threads> <tokens> <completion tokens>`: runs
 * in its own process, so that its peak memory can be measured. `compute` multiplies frozen weights in int8. For each
 * line `step` on standard input, it takes a training step; for each line `products`, it computes only the step's matrix
 * products. It prints one JSON object per line.
 */

import process from 'node:process';
import { createInterface } from 'node:readline';
import { makeBatch } from '../finetune/engine/batch.js';
import { initialAdapter } from '../finetune/engine/first-values.js';
import { loadInt8Weights } from '../finetune/engine/int8-weights.js';
import { adamWStep, zeroMoments } from '../finetune/engine/optimisers.js';
import { type TrainableSpec, trainedParameters } from '../finetune/engine/trainable.js';
import { buildTrainingGraph } from '../finetune/engine/training-graph.js';
import { openTrainingSession } from '../finetune/engine/training-session.js';
import { sft, sftInputs } from '../finetune/train/objectives/supervised.js';
import { singleFamilies } from '../finetune/train/packing.js';
import { ort } from '../src/models/local/engine/onnx-runtime.js';
import { readDecoderConfig } from '../src/models/local/families/hf-config.js';
import { GraphBuilder } from '../src/models/local/graph/graph.js';
import { packWeights } from '../src/models/local/graph/packed-parameters.js';
import type { DecoderConfig } from '../src/models/local/weights/decoder-config.js';
import { openWeights } from '../src/models/local/weights/gguf-tensors.js';
import type { Quantization } from '../src/models/local/weights/quantization.js';

/** Result that the process prints for each line. */
export interface StepTime {
  readonly seconds: number;
  /** Processor time of all threads, which depends less on other load than wall time does. */
  readonly processorSeconds: number;
  readonly peakBytes: number;
}

const [directory = '', quantization = 'none', ...numbers] = process.argv.slice(2);
const [threads = 1, tokens = 256, completion = 64] = numbers.map(Number);
const config = readDecoderConfig(directory);
const base = openWeights(directory);

async function openStep(): Promise<() => Promise<unknown>> {
  const trainable: TrainableSpec = {
    kind: 'adapter',
    lora: {
      rank: 8,
      alpha: 16,
      dropout: 0,
      rankStabilized: false,
      modules: ['q_proj', 'k_proj', 'v_proj', 'o_proj'],
    },
    base,
    ...(quantization === 'compute'
      ? { quantized: undefined, int8: loadInt8Weights(directory, config, base, undefined) }
      : { quantized: packWeights(directory, config, base, quantization as Quantization) }),
  };
  const session = await openTrainingSession(
    buildTrainingGraph({ config, trainable, objective: sft, precision: 'float32', purpose: 'train' }),
    { device: 'cpu', threads, optimize: true },
  );
  const parameters = initialAdapter(trainedParameters(config, trainable), 1);
  const moments = parameters.map(zeroMoments);
  const ids = (length: number) => Array.from({ length }, (_, i) => (i * 7919) % config.vocabulary);
  const example = { promptIds: ids(tokens + 1 - completion), completionIds: ids(completion), weight: 1 };
  const batch = makeBatch(singleFamilies([example]), sftInputs([example]));
  let step = 0;
  return async () => {
    const { gradients } = await session.run(parameters, batch, 0);
    step++;
    parameters.forEach(({ name, values }, index) => {
      adamWStep(values, gradients.get(name)!, moments[index]!, 1e-4, step, {
        betas: [0.9, 0.999],
        epsilon: 1e-8,
        weightDecay: 0.01,
      });
    });
  };
}

/**
 * Computes all products with frozen matrices of a step, forward and backward. Repeats the products of the first layer
 * for every layer. The runtime chooses the layout of the matrices, so the products run at its best rate.
 */
async function openProducts(): Promise<() => Promise<unknown>> {
  const first = 'model.layers.0.';
  const layer = [...base.keys()].filter(
    (name) => name.startsWith(first) && base.get(name)!.shape.length === 2,
  );
  const head = config.tied ? 'model.embed_tokens.weight' : 'lm_head.weight';
  const inLayer = await openProduct(config, layer, tokens);
  const inHead = await openProduct(config, [head], completion);
  return async () => {
    for (let repeat = 0; repeat < config.layers.length; repeat++) await inLayer();
    await inHead();
  };
}

async function openProduct({ vocabulary }: DecoderConfig, names: readonly string[], rows: number) {
  const g = new GraphBuilder();
  const widths = new Set(names.flatMap((name) => base.get(name)!.shape));
  for (const width of widths) g.input(`x${width}`, 'float32', [rows, width]);
  names.forEach((name, index) => {
    const tensor = base.get(name)!;
    const [out, inputs] = tensor.shape as [number, number];
    for (const [direction, x, transB] of [['y', inputs, 1] as const, ['dx', out, 0] as const]) {
      const product = g.op('Gemm', [`x${x}`, g.stored(tensor)], { transB });
      // Output only one row: the runtime still computes the whole product, but copies little.
      const row = g.op('Slice', [product, g.integers([0]), g.integers([1]), g.integers([0])]);
      g.output(`${direction}.${index}`, row, 'float32', [1, transB === 1 ? out : inputs]);
    }
  });
  const { model, folder } = g.build('products');
  const session = await ort.InferenceSession.create(model, {
    intraOpNumThreads: threads,
    enableMemPattern: false,
    logSeverityLevel: 3,
    extra: { session: { model_external_initializers_file_folder_path: folder } },
  });
  const feeds = Object.fromEntries(
    [...widths].map((width) => {
      const values = Float32Array.from({ length: rows * width }, (_, i) => Math.sin(i % vocabulary));
      return [`x${width}`, new ort.Tensor('float32', values, [rows, width])];
    }),
  );
  return () => session.run(feeds);
}

const step = await openStep();
let products: (() => Promise<unknown>) | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'products') products ??= await openProducts();
  const work = line === 'products' ? products! : step;
  const before = process.cpuUsage();
  const start = performance.now();
  await work();
  const seconds = (performance.now() - start) / 1000;
  const { user, system } = process.cpuUsage(before);
  const peakBytes = process.resourceUsage().maxRSS * 1024;
  const answer: StepTime = { seconds, processorSeconds: (user + system) / 1e6, peakBytes };
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
