/** Runs training graphs: takes parameters and a batch, returns loss and gradients. */
import { messageOf, UserError } from '../../src/base/errors.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { ort } from '../../src/models/local/engine/onnx-runtime.js';
import { type BuiltGraph, GraphBuilder, type Precision } from '../../src/models/local/graph/graph.js';
import type { Batch } from './batch.js';
import { dropoutInputNames, dropoutModulus, type ParameterShape } from './trainable.js';

export type FloatArray = Float32Array | Float64Array;

export interface Parameter extends ParameterShape {
  readonly values: FloatArray;
}

export const parameterCount = (parameters: readonly Parameter[]): number =>
  parameters.reduce((count, { values }) => count + values.length, 0);

/** Gradients by parameter name, each in the parameter's shape. */
export type Gradients = ReadonlyMap<string, FloatArray>;

interface StepResult {
  readonly loss: number;
  readonly logp: FloatArray;
  /** The objective's additional outputs, each with one number per target. */
  readonly outputs: Readonly<Record<string, FloatArray>>;
  /** Empty for an evaluation graph. */
  readonly gradients: Gradients;
}

/** `device` is an ONNX Runtime provider. Float64 tests disable `optimize`: fused operators round differently. */
interface SessionSettings {
  readonly device: string;
  readonly threads: number;
  readonly optimize: boolean;
}

export interface TrainingSession {
  /** @param seed for the dropout masks */
  run(parameters: readonly Parameter[], batch: Batch, seed: number): Promise<StepResult>;
  close(): Promise<void>;
}

/** @throws UserError if memory runs out, or if int8 products aren't exact here (see `requireExactInt8`) */
export async function openTrainingSession(
  { model, folder, graph }: BuiltGraph,
  settings: SessionSettings,
): Promise<TrainingSession> {
  if (graph.nodes.some(({ op }) => op === 'MatMulIntegerToFloat')) await requireExactInt8(settings.device);
  const options: ort.InferenceSession.SessionOptions = {
    executionProviders: [settings.device],
    intraOpNumThreads: settings.threads,
    graphOptimizationLevel: settings.optimize ? 'all' : 'disabled',
    // Batch lengths vary, and the runtime would keep a memory pattern for each.
    enableMemPattern: false,
    logSeverityLevel: 3,
    extra: {
      session: {
        ...(folder !== undefined && { model_external_initializers_file_folder_path: folder }),
        // Prepacking would copy each matrix once per direction, but quantized matrices are slow without it.
        disable_prepacking: graph.nodes.some(({ op }) => op === 'MatMulNBits') ? '0' : '1',
      },
    },
  };
  const session = await guardMemory('loading the model', () => ort.InferenceSession.create(model, options));
  const precision = graph.outputs.find(({ name }) => name === 'loss')!.type as Precision;
  const extraOutputs = graph.outputs
    .map(({ name }) => name)
    .filter((name) => name !== 'loss' && name !== 'logp' && !name.startsWith('grad.'));
  const columns = graph.inputs.find(({ name }) => name === dropoutInputNames.columns)?.shape[0];
  return {
    async run(parameters, batch, seed) {
      const tokens = batch.input_ids!.values.length;
      const feeds: Record<string, ort.Tensor> =
        typeof columns === 'number' ? dropoutFeeds(tokens, columns, seed) : {};
      for (const { name } of graph.inputs) {
        const input = batch[name];
        if (input !== undefined) feeds[name] = ortTensor(input, precision);
      }
      for (const { name, shape, values } of parameters)
        feeds[name] = new ort.Tensor(precision, values, [...shape]);
      const results = await guardMemory(`reading ${tokens - 1} tokens at once`, () => session.run(feeds));
      const dataOf = (name: string) => results[name]!.data as FloatArray;
      return {
        loss: dataOf('loss')[0]!,
        logp: dataOf('logp'),
        outputs: Object.fromEntries(extraOutputs.map((name) => [name, dataOf(name)])),
        gradients: new Map(
          parameters
            .filter(({ name }) => `grad.${name}` in results)
            .map(({ name }) => [name, dataOf(`grad.${name}`)]),
        ),
      };
    },
    close: () => session.release(),
  };
}

/** Matches out-of-memory messages from ONNX Runtime, the C++ library and V8. */
const outOfMemoryPattern =
  /bad[ _]alloc|failed to allocate|cannot allocate|out of memory|allocation failed|not enough memory/i;

/** @throws UserError if `work` runs out of memory; other errors pass through */
export async function guardMemory<T>(activity: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof UserError || !outOfMemoryPattern.test(messageOf(error))) throw error;
    throw new UserError({
      message: `out of memory while ${activity}`,
      hint:
        'lower batchTokens (you can still resume from the checkpoint), train on shorter examples, ' +
        'or save memory with samples=0 (finetune train), method.kind=lora, fewer method.modules, a lower method.rank or method.quantization=int4',
    });
  }
}

function ortTensor({ values, shape }: Batch[string], precision: Precision): ort.Tensor {
  if (values instanceof Int32Array) return new ort.Tensor('int32', values, shape);
  const numbers = precision === 'float32' ? Float32Array.from(values) : values;
  return new ort.Tensor(precision, numbers, shape);
}

function dropoutFeeds(tokens: number, columns: number, seed: number): Record<string, ort.Tensor> {
  const random = createGenerator(seed);
  const draws = (count: number) =>
    BigInt64Array.from({ length: count }, () => BigInt(random.integers(1, dropoutModulus)));
  return {
    [dropoutInputNames.rows]: new ort.Tensor('int64', draws(tokens), [tokens]),
    [dropoutInputNames.columns]: new ort.Tensor('int64', draws(columns), [columns]),
  };
}

export function gradientNorm(gradients: Gradients): number {
  let sum = 0;
  for (const gradient of gradients.values()) for (const slope of gradient) sum += slope * slope;
  return Math.sqrt(sum);
}

/** Returns the factor that scales a gradient of this norm down to `maximum`, as in PyTorch's `clip_grad_norm_`. */
export function clipFactor(norm: number, maximum: number | undefined): number {
  return maximum === undefined ? 1 : Math.min(1, maximum / (norm + 1e-6));
}

/** Adds a part's gradients to `sum` in place and returns it; the first part becomes the sum. */
export function addGradients(sum: Gradients | undefined, part: Gradients): Gradients {
  if (sum === undefined) return part;
  for (const [name, gradient] of part) {
    const total = sum.get(name)!;
    for (let i = 0; i < total.length; i++) total[i] = total[i]! + gradient[i]!;
  }
  return sum;
}

/**
 * Checks that int8 products are exact. CPUs without VNNI instructions add two products in 16 bits, which can overflow.
 * @throws UserError if the products aren't exact, or the device isn't the CPU
 */
export async function requireExactInt8(device: string): Promise<void> {
  const int8Error = (message: string, field: string, value: string) =>
    new UserError({ field, value, message, hint: 'set method.compute to float32' });
  if (device !== 'cpu') throw int8Error('int8 products run only on the CPU', 'device', device);
  const width = 64;
  const g = new GraphBuilder();
  const a = g.input('a', 'uint8', [1, width]);
  const b = g.input('b', 'int8', [width, 1]);
  g.output('y', g.op('MatMulInteger', [a, b]), 'int32', [1, 1]);
  const session = await ort.InferenceSession.create(g.build('int8').model, { logSeverityLevel: 3 });
  const { y } = await session.run({
    a: new ort.Tensor('uint8', new Uint8Array(width).fill(255), [1, width]),
    b: new ort.Tensor('int8', new Int8Array(width).fill(127), [width, 1]),
  });
  await session.release();
  if (y!.data[0] !== 255 * 127 * width)
    throw int8Error("this CPU can't multiply 8-bit numbers exactly", 'method.compute', 'int8');
}
