/** Writes an ONNX ModelProto with onnx.proto3's field numbers (IR version 9), limited to what the graphs need. */
import { float, integer, nested, text } from '../../../base/files/tensorboard.js';

export type ElementType =
  | 'float32'
  | 'float64'
  | 'float16'
  | 'bfloat16'
  | 'int32'
  | 'int64'
  | 'uint8'
  | 'int8'
  | 'bool';

/** Values of `TensorProto.DataType`. */
const elementTypeNumbers: Readonly<Record<ElementType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  bool: 9,
  float16: 10,
  float64: 11,
  bfloat16: 16,
};

export type Attribute =
  | { readonly kind: 'int'; readonly value: number }
  | { readonly kind: 'float'; readonly value: number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'ints'; readonly value: readonly number[] };

export interface OnnxNode {
  readonly op: string;
  /** Empty for ONNX's standard operators. */
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/** An input or output of the graph. A string dimension is symbolic. */
export interface OnnxValue {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly (number | string)[];
}

export interface OnnxInitializer {
  readonly name: string;
  readonly type: ElementType;
  readonly shape: readonly number[];
  readonly data:
    | { readonly kind: 'inline'; readonly bytes: Uint8Array }
    /** `location` is relative to the folder passed to the session. */
    | {
        readonly kind: 'external';
        readonly location: string;
        readonly offset: number;
        readonly length: number;
      };
}

export interface OnnxGraph {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  readonly initializers: readonly OnnxInitializer[];
  readonly inputs: readonly OnnxValue[];
  readonly outputs: readonly OnnxValue[];
}

/** Version of the standard operators that the graphs use. */
const opset = 17;
const irVersion = 9;

/** @param declared whether inputs and outputs declare their shapes */
export function writeOnnxModel(graph: OnnxGraph, declared = true): Uint8Array {
  return Buffer.concat([
    integer(1, irVersion),
    text(2, 'policyloop'),
    nested(7, Buffer.concat(graphFields(graph, declared))),
    nested(8, text(1, ''), integer(2, opset)),
    nested(8, text(1, 'com.microsoft'), integer(2, 1)),
  ]);
}

type Fields = readonly Uint8Array[];

const graphFields = (graph: OnnxGraph, declared: boolean): Fields => [
  ...graph.nodes.map((node, index) => nested(1, ...nodeFields(node, index))),
  text(2, graph.name),
  ...graph.initializers.map((initializer) => nested(5, ...tensorFields(initializer))),
  ...graph.inputs.map((value) => nested(11, ...valueInfoFields(value, declared))),
  ...graph.outputs.map((value) => nested(12, ...valueInfoFields(value, declared))),
];

const nodeFields = (node: OnnxNode, index: number): Fields => [
  ...node.inputs.map((name) => text(1, name)),
  ...node.outputs.map((name) => text(2, name)),
  text(3, `${node.op}_${index}`),
  text(4, node.op),
  ...Object.entries(node.attributes).map(([name, attribute]) =>
    nested(5, text(1, name), ...attributeFields(attribute)),
  ),
  ...(node.domain === '' ? [] : [text(7, node.domain)]),
];

function attributeFields(attribute: Attribute): Fields {
  switch (attribute.kind) {
    case 'float':
      return [float(2, attribute.value), integer(20, 1)];
    case 'int':
      return [integer(3, attribute.value), integer(20, 2)];
    case 'string':
      return [text(4, attribute.value), integer(20, 3)];
    case 'ints':
      return [...attribute.value.map((value) => integer(8, value)), integer(20, 7)];
  }
}

const tensorFields = ({ name, type, shape, data }: OnnxInitializer): Fields => [
  ...shape.map((dimension) => integer(1, dimension)),
  integer(2, elementTypeNumbers[type]),
  text(8, name),
  ...(data.kind === 'inline'
    ? [nested(9, data.bytes)]
    : [
        entry('location', data.location),
        entry('offset', String(data.offset)),
        entry('length', String(data.length)),
        integer(14, 1),
      ]),
];

const entry = (key: string, value: string) => nested(13, text(1, key), text(2, value));

function valueInfoFields({ name, type, shape }: OnnxValue, declared: boolean): Fields {
  const dimensions = shape.map((dimension) =>
    nested(1, typeof dimension === 'number' ? integer(1, dimension) : text(2, dimension)),
  );
  const known = declared ? [nested(2, ...dimensions)] : [];
  const tensorType = nested(1, integer(1, elementTypeNumbers[type]), ...known);
  return [text(1, name), nested(2, tensorType)];
}

export const elementTypeNumber = (type: ElementType): number => elementTypeNumbers[type];
