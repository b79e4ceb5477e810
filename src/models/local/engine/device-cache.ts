/** Keys and values in device memory. Slots are allocated in blocks, so shapes rarely change. */
import { GraphBuilder, shaderDevice, type Value } from '../graph/graph.js';
import type { CacheShape, NewEntries, TokenCache } from './key-value-cache.js';
import { ort } from './onnx-runtime.js';

const slotBlockSize = 64;

/**
 * Maximum number of lines [headDim] to write in place. With more, copying is faster, because the runtime compares every
 * pair of them.
 */
const maxLinesInPlace = 64;

/** Graphs that change all tensors of a cache in a single run. */
interface CacheGraphs {
  /** Writes `new` to the lines `places` of `cache` in place, so `cache` must also be passed as the output. */
  readonly write: ort.InferenceSession;
  /** Concatenates `cache` and `new` along the slots, and selects `rows` and `slots` from the result. */
  readonly rearrange: ort.InferenceSession;
}

interface DeviceCacheFactory {
  /** @returns an empty cache for one row */
  newCache(): TokenCache;
  close(): Promise<void>;
}

/** @throws Error if the device can't run the graphs */
export async function openDeviceCaches(shape: CacheShape): Promise<DeviceCacheFactory> {
  const graphs = {
    write: await openGraph(shape, emitWrite, false),
    rearrange: await openGraph(shape, emitRearrange, true),
  };
  return {
    newCache: () => new DeviceCache(shape, graphs),
    async close() {
      await graphs.write.release();
      await graphs.rearrange.release();
    },
  };
}

type TensorEmitter = (g: GraphBuilder, shape: CacheShape) => (index: number) => Value;

/** Opens a graph with 2 × layers outputs, which stay on the device if `onDevice`. */
function openGraph(shape: CacheShape, emit: TensorEmitter, onDevice: boolean): Promise<ort.InferenceSession> {
  const g = new GraphBuilder();
  const emitTensor = emit(g, shape);
  for (let index = 0; index < 2 * shape.layers; index++)
    g.output(`changed.${index}`, emitTensor(index), 'float32', []);
  return ort.InferenceSession.create(g.build('cache').model, {
    executionProviders: [shaderDevice],
    enableMemPattern: false,
    logSeverityLevel: 3,
    ...(onDevice && { preferredOutputLocation: 'gpu-buffer' as const }),
  });
}

const emitWrite: TensorEmitter = (g, { headDim }) => {
  const lineIndices = g.input('places', 'int64', ['N', 1]);
  return (index) =>
    g.op('ScatterND', [
      g.input(`cache.${index}`, 'float32', ['L', headDim]),
      lineIndices,
      g.input(`new.${index}`, 'float32', ['N', headDim]),
    ]);
};

const emitRearrange: TensorEmitter = (g, { kvHeads, headDim }) => {
  const rows = g.input('rows', 'int32', ['R']);
  const slots = g.input('slots', 'int32', ['C']);
  return (index) => {
    const cache = g.input(`cache.${index}`, 'float32', [kvHeads, 'B', 'T', headDim]);
    const added = g.input(`new.${index}`, 'float32', [kvHeads, 'B', 'S', headDim]);
    const joined = g.op('Concat', [cache, added], { axis: 2 });
    return g.op('Gather', [g.op('Gather', [joined, rows], { axis: 1 }), slots], { axis: 2 });
  };
};

class DeviceCache implements TokenCache {
  readonly #shape: CacheShape;
  readonly #graphs: CacheGraphs;
  /** If undefined, the runtime gets one masked slot of zeros per row. */
  #stored: readonly ort.Tensor[] | undefined;
  #rows = 1;
  #length = 0;

  constructor(shape: CacheShape, graphs: CacheGraphs) {
    this.#shape = shape;
    this.#graphs = graphs;
  }

  get rows(): number {
    return this.#rows;
  }

  get lengths(): readonly number[] {
    return Array<number>(this.#rows).fill(this.#length);
  }

  get length(): number {
    return this.#length;
  }

  get capacity(): number {
    return this.#stored?.[0]?.dims[2] ?? 1;
  }

  tensors(): readonly ort.Tensor[] {
    return this.#stored ?? this.#zeros(this.#rows);
  }

  reset(rows: number): void {
    if (rows !== this.#rows) this.#replace(undefined);
    this.#rows = rows;
    this.#length = 0;
  }

  /** Truncated tokens stay in memory until they are overwritten. */
  truncate(length: number): void {
    this.#length = Math.min(length, this.#length);
  }

  async append({ keys, values, tokens }: NewEntries): Promise<void> {
    const length = this.#length + tokens;
    const newTensors = [...keys, ...values];
    const lineCount = this.#shape.kvHeads * this.#rows * tokens;
    if (this.#stored !== undefined && length <= this.capacity && lineCount <= maxLinesInPlace)
      await this.#write(this.#stored, newTensors, tokens);
    else {
      const { capacity } = this;
      const slots = new Int32Array(Math.max(capacity, Math.ceil(length / slotBlockSize) * slotBlockSize));
      for (let slot = 0; slot < length; slot++)
        slots[slot] = slot < this.#length ? slot : capacity + slot - this.#length;
      this.#replace(await this.#rearrange(newTensors, this.#allRows(), slots));
    }
    for (const tensor of newTensors) tensor.dispose();
    this.#length = length;
  }

  async keepRows(rows: readonly number[]): Promise<void> {
    this.#replace(await this.#selectRows(rows, 0, this.capacity));
    this.#rows = rows.length;
  }

  async entries(row: number, from = 0, to = this.#length): Promise<NewEntries> {
    const selected = await this.#selectRows([row], from, to);
    const { layers } = this.#shape;
    return { keys: selected.slice(0, layers), values: selected.slice(layers), tokens: to - from };
  }

  #replace(tensors: readonly ort.Tensor[] | undefined): void {
    for (const tensor of this.#stored ?? []) tensor.dispose();
    this.#stored = tensors;
  }

  #allRows(): number[] {
    return Array.from({ length: this.#rows }, (_, row) => row);
  }

  /** Creates one slot of zeros per row. */
  #zeros(rows: number): ort.Tensor[] {
    const { kvHeads, headDim, layers } = this.#shape;
    const zeroTensor = () =>
      new ort.Tensor('float32', new Float32Array(kvHeads * rows * headDim), [kvHeads, rows, 1, headDim]);
    return Array.from({ length: 2 * layers }, zeroTensor);
  }

  /** Returns new tensors with the selected rows and slots. */
  #selectRows(rows: readonly number[], from: number, to: number): Promise<ort.Tensor[]> {
    return this.#rearrange(
      this.#zeros(this.#rows),
      rows,
      Int32Array.from({ length: to - from }, (_, slot) => from + slot),
    );
  }

  async #rearrange(
    added: readonly ort.Tensor[],
    rows: readonly number[],
    slots: Int32Array,
  ): Promise<ort.Tensor[]> {
    const results = await this.#graphs.rearrange.run({
      ...nameTensors('cache', this.tensors()),
      ...nameTensors('new', added),
      rows: new ort.Tensor('int32', Int32Array.from(rows), [rows.length]),
      slots: new ort.Tensor('int32', slots, [slots.length]),
    });
    return added.map((_, index) => results[`changed.${index}`]!);
  }

  async #write(target: readonly ort.Tensor[], added: readonly ort.Tensor[], tokens: number): Promise<void> {
    const { kvHeads, headDim } = this.#shape;
    const asLines = (tensors: readonly ort.Tensor[], slots: number) =>
      tensors.map(({ gpuBuffer }) =>
        ort.Tensor.fromGpuBuffer(gpuBuffer, {
          dataType: 'float32',
          dims: [kvHeads * this.#rows * slots, headDim],
        }),
      );
    const lineIndices = new BigInt64Array(kvHeads * this.#rows * tokens);
    for (let line = 0; line < lineIndices.length; line++) {
      const strip = Math.floor(line / tokens);
      lineIndices[line] = BigInt(strip * this.capacity + this.#length + (line % tokens));
    }
    const cache = asLines(target, this.capacity);
    await this.#graphs.write.run(
      {
        ...nameTensors('cache', cache),
        ...nameTensors('new', asLines(added, tokens)),
        places: new ort.Tensor('int64', lineIndices, [lineIndices.length, 1]),
      },
      // An output that is the same tensor as its input is modified in place.
      nameTensors('changed', cache),
    );
  }
}

function nameTensors(name: string, tensors: readonly ort.Tensor[]): Record<string, ort.Tensor> {
  return Object.fromEntries(tensors.map((tensor, index) => [`${name}.${index}`, tensor]));
}
