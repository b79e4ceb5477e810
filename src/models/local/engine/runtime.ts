import { type BuiltGraph, shaderDevice } from '../graph/graph.js';
import { attentionLayers, type DecoderConfig, stateShapes } from '../weights/decoder-config.js';
import { longRopeStart } from '../weights/rope.js';
import { openDeviceCaches } from './device-cache.js';
import {
  type CacheShape,
  cacheShape,
  KeyValueCache,
  type LayerStates,
  type NewEntries,
  type TokenCache,
} from './key-value-cache.js';
import { ort } from './onnx-runtime.js';

export interface SessionSettings {
  /** Execution provider of the runtime: `cpu`, `cuda`, `webgpu`, … */
  readonly device: string;
  readonly threads: number;
}

/** Parameters that are inputs of a graph (the factors of an adapter, or all weights), by input name. */
export type ParameterInputs = Readonly<Record<string, ort.Tensor>>;

interface ForwardInput {
  /** Token ids, row by row: rows × tokens. */
  readonly ids: ArrayLike<number>;
  readonly rows: number;
  /** Position of the first new token in its sequence; one per row if they may differ. */
  readonly position: number | readonly number[];
  /** Maximum length of the sequences, which affects rotation (longrope); default: their current length. */
  readonly sequenceTokens?: number | readonly number[];
  /** Only for a graph whose parameters are inputs. */
  readonly adapter?: ParameterInputs | undefined;
  /** The prompt's cache, shared by all rows; it has a single row. */
  readonly promptCache: TokenCache;
  /** The cached tokens of each row. */
  readonly ownCache: TokenCache;
  /** States of recurrent layers before the new tokens; if absent, the sequences start with these tokens. */
  readonly states?: LayerStates;
  /** Indices of the new tokens (row by row) at which to return logits. */
  readonly logitIndices: readonly number[];
}

interface ForwardOutput {
  /** [logitIndices.length, vocabulary] */
  readonly logits: Float32Array;
  readonly entries: NewEntries;
  readonly states: LayerStates;
}

export interface DecoderSession {
  /** Creates an empty cache with one row, in the memory that this session uses. */
  newCache(): TokenCache;
  forward(input: ForwardInput): Promise<ForwardOutput>;
  close(): Promise<void>;
}

/** Position of spare cache slots: later than any query's, so they are always masked. */
const spareSlotPosition = 2 ** 30;

/** Loads the inference graph, with weights memory-mapped from their files. */
export async function openSession(
  graph: BuiltGraph,
  config: DecoderConfig,
  settings: SessionSettings,
): Promise<DecoderSession> {
  const caches = await openCaches(settings, cacheShape(config));
  const session = await ort.InferenceSession.create(graph.model, sessionOptions(graph, settings));
  const layers = attentionLayers(config);
  const shapes = stateShapes(config);
  return {
    newCache: caches.newCache,
    async forward(input) {
      const results = await session.run(buildFeeds(config, input));
      return {
        logits: results.logits!.data as Float32Array,
        entries: newEntries(results, layers.length, input.ids.length / input.rows),
        states: shapes.map((_, i) => results[`new_state.${i}`]!.data as Float32Array),
      };
    },
    async close() {
      await session.release();
      await caches.close();
    },
  };
}

/** Takes the new entries from separate outputs, or splits one output that has all keys before all values. */
function newEntries(results: Record<string, ort.Tensor>, layers: number, tokens: number): NewEntries {
  const allEntries = results.entries;
  const part = (index: number): ort.Tensor => {
    if (allEntries === undefined) return results[`entries.${index}`]!;
    const size = allEntries.size / (2 * layers);
    const shape = [allEntries.dims[0]! / (2 * layers), ...allEntries.dims.slice(1)];
    const numbers = (allEntries.data as Float32Array).subarray(index * size, (index + 1) * size);
    return new ort.Tensor('float32', numbers, shape);
  };
  const parts = Array.from({ length: 2 * layers }, (_, index) => part(index));
  return { keys: parts.slice(0, layers), values: parts.slice(layers), tokens };
}

/** Opens a factory of caches on the device (WebGPU) or in memory: in Node, only WebGPU can keep tensors on a device. */
async function openCaches({ device }: SessionSettings, shape: CacheShape) {
  if (device === shaderDevice) return openDeviceCaches(shape);
  return { newCache: () => new KeyValueCache(shape), close: async () => undefined };
}

function sessionOptions(graph: BuiltGraph, settings: SessionSettings): ort.InferenceSession.SessionOptions {
  return {
    executionProviders: [settings.device],
    intraOpNumThreads: settings.threads,
    graphOptimizationLevel: 'all',
    // Shapes vary between calls, and a memory pattern would be cached for each shape.
    enableMemPattern: false,
    logSeverityLevel: 3,
    ...(settings.device === shaderDevice && {
      // Only cache entries stay on the device; reading other outputs from there would crash the process.
      preferredOutputLocation: Object.fromEntries(
        graph.graph.outputs.map(({ name }) => [name, name.startsWith('entries.') ? 'gpu-buffer' : 'cpu']),
      ),
    }),
    extra: {
      session:
        graph.folder === undefined ? {} : { model_external_initializers_file_folder_path: graph.folder },
    },
  };
}

function buildFeeds(config: DecoderConfig, input: ForwardInput): Record<string, ort.Tensor> {
  const { promptCache, ownCache, rows } = input;
  const tokens = input.ids.length / rows;
  const starts = [input.position].flat();
  const tensors: Record<string, ort.Tensor> = {
    ...input.adapter,
    ids: int32(Int32Array.from(input.ids), [rows, tokens]),
    positions: int32(
      Int32Array.from(
        { length: starts.length * tokens },
        (_, i) => starts[Math.floor(i / tokens)]! + (i % tokens),
      ),
      [starts.length, tokens],
    ),
    cached_positions: cachedPositions(promptCache, ownCache, starts.length),
    rows: int32(Int32Array.from(input.logitIndices), [input.logitIndices.length]),
  };
  if (longRopeStart(config.layers) !== undefined) {
    const lengths = [input.sequenceTokens ?? starts.map((start) => start + tokens)].flat();
    tensors.sequence_tokens = int32(Int32Array.from(lengths), [lengths.length]);
  }
  for (const [name, cache] of [['prompt', promptCache] as const, ['own', ownCache] as const]) {
    const parts = cache.tensors();
    const layers = parts.length / 2;
    for (let layer = 0; layer < layers; layer++) {
      tensors[`${name}_keys.${layer}`] = parts[layer]!;
      tensors[`${name}_values.${layer}`] = parts[layers + layer]!;
    }
  }
  for (const [i, shape] of stateShapes(config).entries()) {
    const fullShape = [rows, ...shape];
    const state = input.states?.[i] ?? new Float32Array(fullShape.reduce((product, size) => product * size));
    tensors[`state.${i}`] = new ort.Tensor('float32', state, fullShape);
  }
  return tensors;
}

/** @param distinctRows number of rows, or 1 if all rows have the same positions */
function cachedPositions(prompt: TokenCache, own: TokenCache, distinctRows: number): ort.Tensor {
  const slots = prompt.capacity + own.capacity;
  const positions = new Int32Array(distinctRows * slots).fill(spareSlotPosition);
  for (let row = 0; row < distinctRows; row++) {
    const at = row * slots;
    for (let i = 0; i < prompt.length; i++) positions[at + i] = i;
    for (let i = 0; i < own.lengths[row]!; i++) positions[at + prompt.capacity + i] = prompt.length + i;
  }
  return int32(positions, [distinctRows, slots]);
}

const int32 = (data: Int32Array, shape: number[]): ort.Tensor => new ort.Tensor('int32', data, shape);
