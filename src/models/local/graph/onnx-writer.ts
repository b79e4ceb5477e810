/** Encodes an ONNX ModelProto with onnx.proto3's field numbers (IR version 9), limited to what the graphs need. */
import { floatField, integerField, messageField, textField } from '../../../base/files/tensorboard.js';

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

/** @param declaresShapes whether inputs and outputs declare their shapes */
export function writeOnnxModel(graph: OnnxGraph, declared = true): Uint8Array {
  return Buffer.concat([
    integerField(1, irVersion),
    textField(2, 'policyloop'),
    messageField(7, Buffer.concat(graphFields(graph, declared))),
    messageField(8, textField(1, ''), integerField(2, opset)),
    messageField(8, textField(1, 'com.microsoft'), integerField(2, 1)),
  ]);
}

type Fields = readonly Uint8Array[];

const graphFields = (graph: OnnxGraph, declared: boolean): Fields => [
  ...graph.nodes.map((node, index) => messageField(1, ...nodeFields(node, index))),
  textField(2, graph.name),
  ...graph.initializers.map((initializer) => messageField(5, ...tensorFields(initializer))),
  ...graph.inputs.map((value) => messageField(11, ...valueInfoFields(value, declared))),
  ...graph.outputs.map((value) => messageField(12, ...valueInfoFields(value, declared))),
];

const nodeFields = (node: OnnxNode, index: number): Fields => [
  ...node.inputs.map((name) => textField(1, name)),
  ...node.outputs.map((name) => textField(2, name)),
  textField(3, `${node.op}_${index}`),
  textField(4, node.op),
  ...Object.entries(node.attributes).map(([name, attribute]) =>
    messageField(5, textField(1, name), ...attributeFields(attribute)),
  ),
  ...(node.domain === '' ? [] : [textField(7, node.domain)]),
];

function attributeFields(attribute: Attribute): Fields {
  switch (attribute.kind) {
    case 'float':
      return [floatField(2, attribute.value), integerField(20, 1)];
    case 'int':
      return [integerField(3, attribute.value), integerField(20, 2)];
    case 'string':
      return [textField(4, attribute.value), integerField(20, 3)];
    case 'ints':
      return [...attribute.value.map((value) => integerField(8, value)), integerField(20, 7)];
  }
}

const tensorFields = ({ name, type, shape, data }: OnnxInitializer): Fields => [
  ...shape.map((dimension) => integerField(1, dimension)),
  integerField(2, elementTypeNumbers[type]),
  textField(8, name),
  ...(data.kind === 'inline'
    ? [messageField(9, data.bytes)]
    : [
        entry('location', data.location),
        entry('offset', String(data.offset)),
        entry('length', String(data.length)),
        integerField(14, 1),
      ]),
];

const entry = (key: string, value: string) => messageField(13, textField(1, key), textField(2, value));

function valueInfoFields({ name, type, shape }: OnnxValue, declared: boolean): Fields {
  const dimensions = shape.map((dimension) =>
    messageField(1, typeof dimension === 'number' ? integerField(1, dimension) : textField(2, dimension)),
  );
  const known = declared ? [messageField(2, ...dimensions)] : [];
  const tensorType = messageField(1, integerField(1, elementTypeNumbers[type]), ...known);
  return [textField(1, name), messageField(2, tensorType)];
}

export const elementTypeNumber = (type: ElementType): number => elementTypeNumbers[type];
