import path from 'node:path';
import { append } from '../../../base/append.js';
import type { StoredTensor } from '../weights/safetensors.js';
import { modelWithoutShapes } from './hidden-shapes.js';
import {
  type Attribute,
  type ElementType,
  elementTypeNumber,
  type OnnxGraph,
  type OnnxInitializer,
  type OnnxNode,
  type OnnxValue,
  writeOnnxModel,
} from './onnx-writer.js';

/** Name of a value in a graph: an input, a constant or the output of a node. */
export type Value = string;

/** Type of most numbers in a graph. Decoders are built in float64 only for gradient tests. */
export type Precision = 'float32' | 'float64';

/**
 * The device that computes in shaders. Its sines have errors of up to 2⁻¹¹ even between −π and π, and rounding
 * activations to 8 bits doesn't make it faster.
 */
export const shaderDevice = 'webgpu';

type AttributeInput = number | string | readonly number[] | { readonly float: number };

/** A range of nodes, and the single node that replaces it in an outline. */
interface Composite {
  readonly start: number;
  readonly end: number;
  readonly node: OnnxNode;
}

const sizeOperators: ReadonlySet<string> = new Set(['Slice', 'Concat', 'Mul', 'Add']);

/** A graph and its ONNX model, which a session can load. */
export interface BuiltGraph {
  readonly model: Uint8Array;
  /** Common ancestor of all files with external data; undefined if there are none. */
  readonly folder: string | undefined;
  readonly graph: OnnxGraph;
}

/** Builds a graph; equal calls produce equal bytes. In attributes, numbers are ints, and `{ float: x }` is a float. */
export class GraphBuilder {
  readonly #nodes: OnnxNode[] = [];
  readonly #inputs: OnnxValue[] = [];
  readonly #outputs: OnnxValue[] = [];
  readonly #inline = new Map<string, OnnxInitializer>();
  readonly #external = new Map<string, { readonly type: ElementType; readonly tensor: StoredTensor }>();
  readonly #composites: Composite[] = [];
  /** int64 constants, and sizes computed from shapes. */
  readonly #integers = new Set<Value>();
  /** Computed sizes by operator, inputs and attributes. */
  #computed = new Map<string, Value>();
  #count = 0;
  /** True if the graph will run on `shaderDevice`. */
  readonly usesShaders: boolean;

  constructor(device = 'cpu') {
    this.usesShaders = device === shaderDevice;
  }

  input(name: string, type: ElementType, shape: readonly (number | string)[]): Value {
    this.#inputs.push({ name, type, shape });
    return name;
  }

  output(name: string, value: Value, type: ElementType, shape: readonly (number | string)[]): void {
    this.#nodes.push({ op: 'Identity', domain: '', inputs: [value], outputs: [name], attributes: {} });
    this.#outputs.push({ name, type, shape });
  }

  /** Adds an ONNX operator with one result. An input of '' omits an optional input. */
  op(op: string, inputs: readonly Value[], attributes: Readonly<Record<string, AttributeInput>> = {}): Value {
    if (!this.#computesSizes(op, inputs)) return this.addNode(op, inputs, 1, attributes)[0]!;
    const key = `${op}(${inputs})${JSON.stringify(attributes)}`;
    const known = this.#computed.get(key);
    if (known !== undefined) return known;
    const value = this.addNode(op, inputs, 1, attributes)[0]!;
    this.#integers.add(value);
    this.#computed.set(key, value);
    return value;
  }

  /** True if the operator computes sizes. Each size is computed only once, because a smaller graph loads faster. */
  #computesSizes(op: string, inputs: readonly Value[]): boolean {
    if (op === 'Shape') return true;
    return sizeOperators.has(op) && inputs.every((name) => this.#integers.has(name));
  }

  /** Adds an operator with `outputCount` results, and returns their names. */
  addNode(
    op: string,
    inputs: readonly Value[],
    outputCount: number,
    attributes: Readonly<Record<string, AttributeInput>> = {},
    domain = '',
  ): readonly Value[] {
    const names = Array.from({ length: outputCount }, () => `v${this.#count++}`);
    this.#nodes.push({ op, domain, inputs, outputs: names, attributes: toAttributes(attributes) });
    return names;
  }

  /** Repeats a node with different inputs; returns its results in order. */
  repeat(node: OnnxNode, inputs: readonly Value[]): readonly Value[] {
    const outputs = node.outputs.map(() => `v${this.#count++}`);
    this.#nodes.push({ ...node, inputs, outputs });
    return outputs;
  }

  /** Groups the operators that `emit` adds: an outline shows them as one `op`, which is differentiated as a unit. */
  composite(
    op: string,
    inputs: readonly Value[],
    attributes: Readonly<Record<string, AttributeInput>>,
    emit: () => Value,
  ): Value {
    const start = this.#nodes.length;
    const outerComputed = new Map(this.#computed);
    const output = emit();
    // An outline lacks the composite's inner sizes, so later operators must not reuse them.
    this.#computed = outerComputed;
    const node = { op, domain: '', inputs, outputs: [output], attributes: toAttributes(attributes) };
    this.#composites.push({ start, end: this.#nodes.length, node });
    return output;
  }

  cast(value: Value, type: ElementType): Value {
    return this.op('Cast', [value], { to: elementTypeNumber(type) });
  }

  /** Adds a tensor on disk, which is used in place. Repeated calls return the same value. */
  stored(tensor: StoredTensor): Value {
    this.#external.set(tensor.name, { type: storedType(tensor), tensor });
    return tensor.name;
  }

  storedAs(tensor: StoredTensor, precision: Precision): Value {
    const value = this.stored(tensor);
    return storedType(tensor) === precision ? value : this.cast(value, precision);
  }

  /** Adds an int64 constant, e.g. a shape. Equal constants are stored once. */
  integers(values: readonly number[], shape: readonly number[] = [values.length]): Value {
    const bytes = new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
    const name = this.#constant('int64', bytes, shape, values);
    this.#integers.add(name);
    return name;
  }

  int32s(values: readonly number[], shape: readonly number[] = [values.length]): Value {
    return this.#constant('int32', new Uint8Array(Int32Array.from(values).buffer), shape, values);
  }

  bytes(values: readonly number[], shape: readonly number[] = [values.length]): Value {
    return this.#constant('uint8', Uint8Array.from(values), shape, values);
  }

  floats(type: Precision, values: readonly number[], shape: readonly number[] = [values.length]): Value {
    const array = type === 'float32' ? Float32Array.from(values) : Float64Array.from(values);
    return this.#constant(type, new Uint8Array(array.buffer), shape, values);
  }

  #constant(type: ElementType, data: Uint8Array, shape: readonly number[], values: readonly number[]): Value {
    const key = `${type}[${shape}]=${values}`;
    const known = this.#inline.get(key);
    if (known !== undefined) return known.name;
    const name = `c${this.#inline.size}`;
    this.#inline.set(key, { name, type, shape, data: { kind: 'inline', bytes: data } });
    return name;
  }

  /** Returns a snapshot of the graph so far, in which each composite is one node. */
  outline(name: string): OnnxGraph {
    const graph = this.describe(name);
    const nodes = graph.nodes.slice(0, this.#composites[0]?.start);
    this.#composites.forEach(({ end, node }, index) => {
      append(nodes, [node, ...graph.nodes.slice(end, this.#composites[index + 1]?.start)]);
    });
    return { ...graph, nodes };
  }

  describe(name: string): OnnxGraph {
    const folder = this.#folder;
    const external = [...this.#external.values()].map(
      ({ type, tensor }): OnnxInitializer => ({
        name: tensor.name,
        type,
        shape: tensor.transposed ? [...tensor.shape].reverse() : tensor.shape,
        data: {
          kind: 'external',
          location: path.relative(folder ?? '', tensor.file),
          offset: tensor.offset,
          length: tensor.length,
        },
      }),
    );
    return {
      name,
      nodes: [...this.#nodes],
      initializers: [...this.#inline.values(), ...external],
      inputs: [...this.#inputs],
      outputs: [...this.#outputs],
    };
  }

  /** @param input a graph input with at least one dimension; if given, the model loads faster (except with shaders) */
  build(name: string, input?: Value): BuiltGraph {
    const graph = this.describe(name);
    const model =
      input === undefined || this.usesShaders ? writeOnnxModel(graph) : modelWithoutShapes(graph, input);
    return { model, folder: this.#folder, graph };
  }

  get #folder(): string | undefined {
    return commonAncestor([...this.#external.values()].map(({ tensor }) => tensor.file));
  }
}

const toAttributes = (attributes: Readonly<Record<string, AttributeInput>>) =>
  Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, toAttribute(value)]));

function toAttribute(input: AttributeInput): Attribute {
  if (typeof input === 'number') return { kind: 'int', value: input };
  if (typeof input === 'string') return { kind: 'string', value: input };
  return 'float' in input ? { kind: 'float', value: input.float } : { kind: 'ints', value: input };
}

const storedTypes: Readonly<Record<string, ElementType>> = {
  F32: 'float32',
  F16: 'float16',
  BF16: 'bfloat16',
  U8: 'uint8',
  I8: 'int8',
};

/** Returns ONNX's element type for a stored tensor. @throws Error for unsupported types */
function storedType(tensor: StoredTensor): ElementType {
  const type = storedTypes[tensor.dtype];
  if (type === undefined) throw new Error(`tensor ${tensor.name} has the unsupported dtype ${tensor.dtype}`);
  return type;
}

/** Returns the deepest folder that contains all files; the runtime rejects data outside the folder it is given. */
function commonAncestor(files: readonly string[]): string | undefined {
  const [first, ...others] = files.map((file) => path.dirname(file).split(path.sep));
  if (first === undefined) return undefined;
  let depth = first.length;
  for (const parts of others) {
    let level = 0;
    while (level < depth && level < parts.length && parts[level] === first[level]) level++;
    depth = level;
  }
  return first.slice(0, depth).join(path.sep) || path.sep;
}
