/** Whether an adapter's weights are such that they can be used. */
import { UserError } from '../../src/errors.js';
import type { Adapter } from '../../src/models/local/graph/adapter.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes, type StoredTensor } from '../../src/models/local/weights/safetensors.js';

/** @throws UserError for a factor without its partner, numbers that are not finite, or an adapter that changes nothing */
export function checkFactors({ directory, tensors }: Adapter): void {
  if (tensors.size === 0) throw unusable(directory, 'it holds no factors');
  let changes = false;
  for (const [name, tensor] of tensors) {
    const other = name.replace(
      /\.lora_([AB])\.weight$/,
      (_, factor) => `.lora_${factor === 'A' ? 'B' : 'A'}.weight`,
    );
    if (!tensors.has(other)) throw unusable(directory, `${name} lacks its partner ${other}`);
    const values = valuesOf(tensor);
    if (!values.every(Number.isFinite)) {
      throw unusable(directory, `${name} holds numbers that are not finite: the training diverged`);
    }
    if (name.endsWith('.lora_B.weight') && values.some((value) => value !== 0)) changes = true;
  }
  if (!changes) throw unusable(directory, 'all its B factors are 0: it was not trained and changes nothing');
}

function valuesOf(tensor: StoredTensor): Float32Array {
  if (['F32', 'F16', 'BF16'].includes(tensor.dtype)) return toFloat32(readTensorBytes(tensor), tensor.dtype);
  throw new UserError({
    file: tensor.file,
    field: tensor.name,
    value: tensor.dtype,
    message: 'factors of this type are not supported',
    alternatives: ['F32', 'F16', 'BF16'],
  });
}

function unusable(directory: string, message: string): UserError {
  return new UserError({ file: directory, message: `this adapter can't be used: ${message}` });
}
