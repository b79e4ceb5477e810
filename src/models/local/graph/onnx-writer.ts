/**
 * Writes an ONNX ModelProto in the protobuf wire format (https://protobuf.dev/programming-guides/encoding), by the
 * field numbers of onnx.proto3 (IR version 9). Only what the graphs of this project use is covered.
 */

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

/** TensorProto.DataType */
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
  /** Empty for ONNX's own operators. */
  readonly domain: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes: Readonly<Record<string, Attribute>>;
}

/** An input or output of the graph. A text dimension is symbolic. */
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
    /** `location` is relative to the folder that the session is told of. */
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

/** Version of ONNX's own operators that the graphs are written against. */
const opset = 17;
const irVersion = 9;

/** The bytes of a ModelProto. */
export function writeOnnxModel(graph: OnnxGraph): Uint8Array {
  return message([
    integer(1, irVersion),
    text(2, 'policyloop'),
    nested(7, graphProto(graph)),
    nested(8, message([text(1, ''), integer(2, opset)])),
    nested(8, message([text(1, 'com.microsoft'), integer(2, 1)])),
  ]);
}

function graphProto(graph: OnnxGraph): Uint8Array {
  return message([
    ...graph.nodes.map((node, index) => nested(1, nodeProto(node, index))),
    text(2, graph.name),
    ...graph.initializers.map((initializer) => nested(5, tensorProto(initializer))),
    ...graph.inputs.map((value) => nested(11, valueInfoProto(value))),
    ...graph.outputs.map((value) => nested(12, valueInfoProto(value))),
  ]);
}

function nodeProto(node: OnnxNode, index: number): Uint8Array {
  return message([
    ...node.inputs.map((name) => text(1, name)),
    ...node.outputs.map((name) => text(2, name)),
    text(3, `${node.op}_${index}`),
    text(4, node.op),
    ...Object.entries(node.attributes).map(([name, attribute]) => nested(5, attributeProto(name, attribute))),
    ...(node.domain === '' ? [] : [text(7, node.domain)]),
  ]);
}

function attributeProto(name: string, attribute: Attribute): Uint8Array {
  switch (attribute.kind) {
    case 'float':
      return message([text(1, name), float(2, attribute.value), integer(20, 1)]);
    case 'int':
      return message([text(1, name), integer(3, attribute.value), integer(20, 2)]);
    case 'string':
      return message([text(1, name), text(4, attribute.value), integer(20, 3)]);
    case 'ints':
      return message([text(1, name), ...attribute.value.map((value) => integer(8, value)), integer(20, 7)]);
  }
}

function tensorProto({ name, type, shape, data }: OnnxInitializer): Uint8Array {
  return message([
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
  ]);
}

function entry(key: string, value: string): Uint8Array {
  return nested(13, message([text(1, key), text(2, value)]));
}

function valueInfoProto({ name, type, shape }: OnnxValue): Uint8Array {
  const dimensions = shape.map((dimension) =>
    nested(1, message([typeof dimension === 'number' ? integer(1, dimension) : text(2, dimension)])),
  );
  const tensorType = message([integer(1, elementTypeNumbers[type]), nested(2, message(dimensions))]);
  return message([text(1, name), nested(2, message([nested(1, tensorType)]))]);
}

/** Number of an element type in ONNX, as the `to` attribute of Cast takes it. */
export function elementTypeNumber(type: ElementType): number {
  return elementTypeNumbers[type];
}

const encoder = new TextEncoder();

function message(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let position = 0;
  for (const part of parts) {
    bytes.set(part, position);
    position += part.length;
  }
  return bytes;
}

/** Base-128, least significant group first; negative numbers as 64-bit two's complement. */
function varint(value: number): number[] {
  let rest = BigInt.asUintN(64, BigInt(value));
  const bytes: number[] = [];
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return bytes;
}

function integer(field: number, value: number): Uint8Array {
  return Uint8Array.from([...varint(field << 3), ...varint(value)]);
}

function float(field: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return Uint8Array.from([...varint((field << 3) | 5), ...bytes]);
}

function nested(field: number, bytes: Uint8Array): Uint8Array {
  return message([Uint8Array.from([...varint((field << 3) | 2), ...varint(bytes.length)]), bytes]);
}

function text(field: number, value: string): Uint8Array {
  return nested(field, encoder.encode(value));
}
