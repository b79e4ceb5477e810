/** A summary of a model directory, printed by `policyloop models check`. */
import { append } from '../../../base/append.js';
import { type Problem, problemsOf } from '../../../base/errors.js';
import { defaultSampling } from '../default-sampling.js';
import { type Devices, findDevices } from '../engine/find-devices.js';
import { attempt, inspectModel, type ModelReport } from '../engine/inspect.js';
import type { QuantizationLoss } from '../generation/quantization-loss.js';
import { decoderTensors } from '../graph/parameters.js';
import { attentionLayers, type DecoderConfig } from '../weights/decoder-config.js';
import {
  type GenerationDefaults,
  readGenerationDefaults,
  type SourcedSampling,
} from '../weights/generation-config.js';
import { blockType, type Packing } from '../weights/gguf-blocks.js';
import { openWeights } from '../weights/open-weights.js';
import { type Quantization, type RoundedTo, roundings } from '../weights/quantization.js';
import type { StoredTensors } from '../weights/safetensors.js';

export interface ModelFacts extends ModelReport {
  readonly memory?: MemoryNeed;
  /** The publisher's recommended sampling settings, and the tokens that end an answer. */
  readonly generation?: GenerationDefaults;
  /** How it samples unless a config overrides it. */
  readonly sampling?: SourcedSampling;
  readonly devices?: Devices;
  /** Present if measuring it was requested. */
  readonly loss?: QuantizationLoss & { readonly quantization: Quantization };
}

/** In bytes. */
export interface MemoryNeed {
  /** Memory of the weights, for each available quantization. */
  readonly weights: Readonly<Partial<Record<Quantization, number>>>;
  /** Keys and values of one token. */
  readonly contextToken: number;
}

/**
 * @param quantization whose quality loss to measure; takes a minute for half a billion parameters
 * @param reference by which the model was named, if it is in a store
 */
export async function modelFacts(
  directory: string,
  quantization: Exclude<Quantization, 'none'> | undefined,
  ignoredKeys: readonly string[] = [],
  reference = directory,
): Promise<ModelFacts> {
  const report = inspectModel(directory, ignoredKeys);
  const problems: Problem[] = [...report.problems, ...templateProblems(report)];
  const generation = report.config && attempt(() => readGenerationDefaults(directory), problems);
  const devices = await findDevices().catch((error: unknown) => {
    append(problems, problemsOf(error));
  });
  const loss =
    quantization && problems.length === 0
      ? await measureLoss(directory, quantization, ignoredKeys)
      : undefined;
  return {
    ...report,
    problems,
    ...(devices && { devices }),
    ...(report.config && {
      memory: memoryNeed(
        report.config,
        attempt(() => openWeights(directory), []),
      ),
    }),
    ...(generation && { generation, sampling: defaultSampling({ path: reference, format: 'text' }) }),
    ...(loss && quantization && { loss: { quantization, ...loss } }),
  };
}

async function measureLoss(
  directory: string,
  quantization: Exclude<Quantization, 'none'>,
  ignoredKeys: readonly string[],
) {
  const { measureQuantizationLoss } = await import('../generation/quantization-loss.js');
  return measureQuantizationLoss(directory, quantization, ignoredKeys);
}

/** Every prompt of an experiment has a system message. */
function templateProblems({ tokenizer }: ModelReport): Problem[] {
  if (tokenizer?.system !== 'refused') return [];
  return [
    {
      file: tokenizer.templateFile,
      message: 'the chat template takes no system message, which every prompt of an experiment has',
      remedy:
        "write a chat_template.jinja that puts the system message before the first user's, where the model was trained so",
    },
  ];
}

/**
 * Memory that a model needs. An embedding that isn't also the output layer stays on disk, because its rows
 * are looked up individually; vectors are always float32.
 * @param stored weights, whose blocks of codes are kept as they are
 */
export function memoryNeed(config: DecoderConfig, stored?: StoredTensors): MemoryNeed {
  let matrices = 0;
  let vectors = 0;
  let asStored = 0;
  let isQuantized = false;
  for (const { name, shape } of decoderTensors(config)) {
    const size = shape.reduce((a, b) => a * b, 1);
    if (shape.length === 1) vectors += size;
    else if (config.tied || name !== `${config.modules.embedding}.weight`) {
      const packing = blockType(stored?.get(name)?.dtype ?? '')?.packing;
      matrices += size;
      isQuantized ||= packing !== undefined;
      asStored += packing === undefined ? 4 * size : (size * packedBits(packing)) / 8;
    }
  }
  const ofBits = (bits: number) => Math.round((matrices * bits) / 8 + vectors * 4);
  const rounded = (name: RoundedTo) => ofBits(packedBits({ ...roundings[name], offset: false }));
  return {
    weights: isQuantized
      ? { none: Math.round(asStored + vectors * 4), float32: ofBits(32) }
      : {
          none: ofBits(32),
          int8: rounded('int8'),
          int4: rounded('int4'),
          'int4-block128': rounded('int4-block128'),
          float16: ofBits(16),
        },
    contextToken: 2 * 4 * attentionLayers(config).length * config.kvHeads * config.headDim,
  };
}

/** Bits per weight, including its share of the block's scale and offset. */
const packedBits = ({ bits, block, offset }: Packing) => bits + (32 * (offset ? 2 : 1)) / block;
