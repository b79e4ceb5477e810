/**
 * Adapters as inputs of the graph: one loaded base serves them all, and itself. Each module that some adapter changes has
 * its factors as inputs, of any rank; an adapter that leaves such a module alone, and the base itself, feed zeros of
 * rank 1.
 */
import { type Adapter, factorsOf, loraScale } from '../graph/adapter.js';
import type { GraphBuilder } from '../graph/graph.js';
import type { ParameterSource } from '../graph/parameters.js';
import { toFloat32 } from '../weights/quantization.js';
import { readTensorBytes, type StoredTensor } from '../weights/safetensors.js';
import { ort } from './onnx-runtime.js';

/** A linear module that an adapter changes, and the widths of its input and output. */
export interface AdaptedModule {
  readonly name: string;
  readonly width: { readonly in: number; readonly out: number };
}

/** Factors of all adapted modules, by the names of the graph's inputs. Made once, fed at every run. */
export type AdapterInputs = Readonly<Record<string, ort.Tensor>>;

/** Modules that any of the adapters changes. */
export function adaptedModules(adapters: readonly Adapter[]): AdaptedModule[] {
  const modules = adapters
    .flatMap((adapter) => [...factorsOf(adapter)])
    .map(([name, { a, b }]) => [name, { name, width: { in: a.shape[1]!, out: b.shape[0]! } }] as const);
  return [...new Map(modules).values()];
}

const inputNames = (module: string) => ({ a: `${module}.lora_A`, b: `${module}.lora_B` });

/** Adds A [in, rank] and B [rank, out] of each module as inputs: x·W + (x·A)·B, the scale being part of B. */
export function fedAdapterParameters(
  g: GraphBuilder,
  modules: readonly AdaptedModule[],
  base: ParameterSource,
): ParameterSource {
  const factors = new Map(
    modules.map(({ name, width }) => {
      const names = inputNames(name);
      const rank = `rank of ${name}`;
      const a = g.input(names.a, 'float32', [width.in, rank]);
      return [name, { a, b: g.input(names.b, 'float32', [rank, width.out]) }];
    }),
  );
  return {
    ...base,
    linear(module, x, bias) {
      const product = base.linear(module, x, bias);
      const found = factors.get(module);
      if (found === undefined) return product;
      return g.op('Gemm', [g.op('Gemm', [x, found.a]), found.b, product]);
    },
  };
}

/** The inputs of a run: an adapter's factors, read into memory, or zeros. */
export function adapterInputs(modules: readonly AdaptedModule[], adapter?: Adapter): AdapterInputs {
  const factors = adapter === undefined ? undefined : factorsOf(adapter);
  const scale = adapter === undefined ? 1 : loraScale(adapter);
  return Object.fromEntries(
    modules.flatMap(({ name, width }) => {
      const names = inputNames(name);
      const found = factors?.get(name);
      return [
        [names.a, found ? transposed(found.a, 1) : zeros([width.in, 1])],
        [names.b, found ? transposed(found.b, scale) : zeros([1, width.out])],
      ];
    }),
  );
}

function zeros(shape: readonly [number, number]): ort.Tensor {
  return new ort.Tensor('float32', new Float32Array(shape[0] * shape[1]), shape);
}

/** Products of one row, which decoding consists of, are quicker with the factors stored the other way round. */
function transposed(tensor: StoredTensor, scale: number): ort.Tensor {
  const [rows, columns] = tensor.shape as [number, number];
  const stored = toFloat32(readTensorBytes(tensor), tensor.dtype);
  const values = new Float32Array(stored.length);
  for (let row = 0; row < rows; row++)
    for (let column = 0; column < columns; column++)
      values[column * rows + row] = scale * stored[row * columns + column]!;
  return new ort.Tensor('float32', values, [columns, rows]);
}
