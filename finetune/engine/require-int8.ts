import { UserError } from '../../src/base/errors.js';
import { ort } from '../../src/models/local/engine/onnx-runtime.js';
import { GraphBuilder } from '../../src/models/local/graph/graph.js';

/**
 * Checks that int8 products are exact. CPUs without VNNI (before Zen 4 and Ice Lake) add two products in 16
 * bits, which can overflow: results are wrong there and hardly faster.
 * @throws UserError if products of 8-bit numbers aren't exact
 */
export async function requireInt8(device: string): Promise<void> {
  const refuse = (message: string, field: string, value: string) =>
    new UserError({ field, value, message, remedy: 'take method.compute float32' });
  if (device !== 'cpu') throw refuse('products in int8 are those of the processor', 'device', device);
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
    throw refuse('this processor has no exact products of 8-bit numbers', 'method.compute', 'int8');
}
