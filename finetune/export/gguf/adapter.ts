/** Writes a LoRA adapter as a GGUF file, for llama.cpp (`--lora`) and Ollama (`ADAPTER`). */
import path from 'node:path';
import { writeWhole } from '../../../src/base/files/draft.js';
import type { ModuleChange } from '../../../src/models/local/graph/adapter.js';
import type { DecoderConfig } from '../../../src/models/local/weights/decoder-config.js';
import { ggufName } from '../../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../../src/models/local/weights/quantization.js';
import { readTensorBytes, type StoredTensor } from '../../../src/models/local/weights/safetensors.js';
import type { AdaptedModel } from '../merged/base-model.js';
import { encodeFloats } from '../merged/merged-rows.js';
import { writeParts } from '../merged/writing.js';
import { type GgufMetadata, type GgufTensor, ggufParts, ggufValue } from './format.js';
import { fileForm, ggufArchitecture } from './tensors.js';

/**
 * llama.cpp scales each product by alpha / rank, with one alpha for all modules. The file stores the first module's
 * alpha; B is rescaled in modules that need another one (rank_pattern, alpha_pattern). All tensors are float32.
 */
export async function writeGgufAdapter(
  { adapter }: AdaptedModel,
  config: DecoderConfig,
  output: string,
): Promise<void> {
  const [first] = [...adapter.modules.values()].filter(({ scale }) => scale !== 0);
  // llama.cpp treats an alpha of 0 as missing.
  const alpha = first === undefined ? 1 : Math.fround(first.scale * first.rank);
  const metadata: GgufMetadata = [
    ['general.architecture', ggufValue.string(ggufArchitecture(config))],
    ['general.type', ggufValue.string('adapter')],
    ['general.name', ggufValue.string(path.basename(adapter.directory))],
    ['general.file_type', ggufValue.uint32(0)],
    ['general.quantization_version', ggufValue.uint32(2)],
    ['adapter.type', ggufValue.string('lora')],
    ['adapter.lora.alpha', ggufValue.float32(alpha)],
  ];
  const tensors = [...adapter.modules].flatMap(([module, change]) =>
    factors(config, `${module}.weight`, change, alpha),
  );
  await writeWhole(output, (partial) => writeParts(partial, ggufParts(metadata, tensors)));
}

function factors(
  config: DecoderConfig,
  name: string,
  { a, b, rank, scale }: ModuleChange,
  alpha: number,
): readonly GgufTensor[] {
  const factor = (scale * rank) / alpha;
  const file = ggufName(ggufArchitecture(config), name);
  return [
    tensor(`${file}.lora_a`, a, (values) => values),
    tensor(`${file}.lora_b`, b, (values) =>
      // Round the factor to float32 like alpha, so that it is exactly 1 if all scales are equal.
      fileForm(config, name).change(
        Math.fround(factor) === 1 ? values : values.map((value) => factor * value),
        rank,
      ),
    ),
  ];
}

function tensor(
  name: string,
  stored: StoredTensor,
  change: (values: Float32Array) => Float32Array,
): GgufTensor {
  return {
    name,
    shape: stored.shape,
    type: 'F32',
    byteLength: 4 * stored.shape.reduce((product, size) => product * size, 1),
    *parts() {
      yield encodeFloats(change(toFloat32(readTensorBytes(stored), stored.dtype)), 'F32');
    },
  };
}
