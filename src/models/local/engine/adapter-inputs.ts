/** Passes adapters to a loaded base model as graph inputs. Modules that an adapter doesn't change get rank-1 zeros. */
import type { Adapter } from '../graph/adapter.js';
import { GraphBuilder } from '../graph/graph.js';
import { rowScaleOf, scaledRows } from '../graph/lora.js';
import type { ParameterSource } from '../graph/parameters.js';
import { toFloat32 } from '../weights/quantization.js';
import { readTensorBytes, type StoredTensor, type StoredTensors } from '../weights/safetensors.js';
import { ort } from './onnx-runtime.js';

export interface AdaptedModule {
  readonly name: string;
  readonly width: { readonly in: number; readonly out: number };
  /** True if at least one of the adapters scales this module's rows. */
  readonly scaled: boolean;
}

/** Factors of all adapted modules, and row scales of the scaled ones, by input name. */
export type AdapterInputs = Readonly<Record<string, ort.Tensor>>;

export function adaptedModules(adapters: readonly Adapter[]): AdaptedModule[] {
  const changed = new Map(adapters.flatMap((adapter) => [...adapter.modules]));
  return [...changed].map(([name, { a, b }]) => ({
    name,
    width: { in: a.shape[1]!, out: b.shape[0]! },
    scaled: adapters.some((adapter) => adapter.modules.get(name)?.magnitude !== undefined),
  }));
}

const inputNames = (module: string) => ({
  a: `${module}.lora_A`,
  b: `${module}.lora_B`,
  rowScale: `${module}.row_scale`,
});

/** Adds inputs for A [in, rank] and B [rank, out] of each module, where B includes the adapter's scale. */
export function fedAdapterParameters(
  g: GraphBuilder,
  modules: readonly AdaptedModule[],
  base: ParameterSource,
): ParameterSource {
  const factors = new Map(
    modules.map(({ name, width, scaled }) => {
      const names = inputNames(name);
      const rank = `rank of ${name}`;
      const a = g.input(names.a, 'float32', [width.in, rank]);
      const b = g.input(names.b, 'float32', [rank, width.out]);
      return [name, { a, b, rowScale: scaled ? g.input(names.rowScale, 'float32', [width.out]) : undefined }];
    }),
  );
  return {
    ...base,
    stacked: (modules, x, bias) =>
      modules.some((module) => factors.has(module)) ? undefined : base.stacked?.(modules, x, bias),
    linear(module, x, bias) {
      const found = factors.get(module);
      if (found === undefined) return base.linear(module, x, bias);
      return scaledRows(g, base, found.rowScale, { module, x, bias }, (product) =>
        g.op('Gemm', [g.op('Gemm', [x, found.a]), found.b, product]),
      );
    },
  };
}

/** Inputs for one adapter, or for the unchanged base. Row scales depend on the base model's weights. */
export async function adapterInputs(
  modules: readonly AdaptedModule[],
  weights: StoredTensors,
  adapter?: Adapter,
): Promise<AdapterInputs> {
  const scales = adapter === undefined ? {} : await rowScales(adapter, weights);
  const inputs = modules.flatMap(({ name, width, scaled }) => {
    const names = inputNames(name);
    const found = adapter?.modules.get(name);
    const ones = () => new ort.Tensor('float32', new Float32Array(width.out).fill(1), [width.out]);
    return [
      [names.a, found ? transposed(found.a, 1) : zeros([width.in, 1])] as const,
      [names.b, found ? transposed(found.b, found.scale) : zeros([1, width.out])] as const,
      ...(scaled ? [[names.rowScale, scales[names.rowScale] ?? ones()] as const] : []),
    ];
  });
  return Object.fromEntries(inputs);
}

/** An adapter's row scales, by input name, computed from the weights as stored. */
async function rowScales(
  { modules }: Adapter,
  weights: StoredTensors,
): Promise<Readonly<Record<string, ort.Tensor>>> {
  const g = new GraphBuilder();
  for (const [name, change] of modules) {
    const scale = rowScaleOf(g, weights, name, change, 'float32');
    if (scale !== undefined) g.output(inputNames(name).rowScale, scale, 'float32', [change.b.shape[0]!]);
  }
  const { model, folder, graph } = g.build('row scales');
  if (graph.outputs.length === 0 || folder === undefined) return {};
  const session = await ort.InferenceSession.create(model, {
    // All inputs are constants, so graph optimisation would already compute the results, one operator at a time.
    graphOptimizationLevel: 'disabled',
    enableMemPattern: false,
    logSeverityLevel: 3,
    extra: { session: { model_external_initializers_file_folder_path: folder } },
  });
  try {
    const results = await session.run({});
    return Object.fromEntries(
      Object.entries(results).map(([name, { data, dims }]) => {
        return [name, new ort.Tensor('float32', (data as Float32Array).slice(), dims)];
      }),
    );
  } finally {
    await session.release();
  }
}

function zeros(shape: readonly [number, number]): ort.Tensor {
  return new ort.Tensor('float32', new Float32Array(shape[0] * shape[1]), shape);
}

/** Transposes and scales a factor. Decoding multiplies single rows, which is faster with transposed factors. */
function transposed(tensor: StoredTensor, scale: number): ort.Tensor {
  const [rows, columns] = tensor.shape as [number, number];
  const stored = toFloat32(readTensorBytes(tensor), tensor.dtype);
  const values = new Float32Array(stored.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      values[column * rows + row] = scale * stored[row * columns + column]!;
  return new ort.Tensor('float32', values, [columns, rows]);
}
