/** Continues to train an existing adapter: its settings, and its weights as initial values. */
import type { UserError } from '../../src/base/errors.js';
import type { Adapter } from '../../src/models/local/graph/adapter.js';
import type { DecoderConfig } from '../../src/models/local/weights/decoder-config.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { type LoraSettings, type Trainable, trainedParameters } from './trainable.js';
import type { Parameter } from './training-session.js';

/**
 * @param refused makes the error for an adapter that can't be continued, given the reason
 * @throws the error, unless the adapter has one rank and scale, on the same modules in every layer
 */
export function continuedLora(
  adapter: Adapter,
  decoder: DecoderConfig,
  refused: (reason: string) => UserError,
): LoraSettings {
  const changes = [...adapter.modules.values()];
  const { rank, scale } = changes[0]!;
  if (changes.some((change) => change.rank !== rank || change.scale !== scale))
    throw refused('its modules have different ranks or scales');
  const modules = [...new Set([...adapter.modules.keys()].map((path) => path.replace(/^.*\./, '')))];
  const lora = { rank, alpha: scale * rank, rankStabilized: false, dropout: 0, modules };
  const factors = trainedParameters(decoder, shapesOnly(lora));
  if (factors.length !== 2 * changes.length) throw refused('it changes only some layers');
  return lora;
}

const shapesOnly = (lora: LoraSettings): Trainable => ({ kind: 'adapter', lora, base: new Map() });

/** A function that replaces a parameter's initial values with the adapter's. */
export const valuesOf =
  ({ modules }: Adapter) =>
  ({ name, shape }: Parameter): Parameter => {
    const [, module, factor] = /^(.*)\.lora_([AB])\.weight$/.exec(name)!;
    const change = modules.get(module!)!;
    const stored = factor === 'A' ? change.a : change.b;
    return { name, shape, values: toFloat32(readTensorBytes(stored), stored.dtype) };
  };
