/** A summary of a model directory or GGUF file, printed by `policyloop models check`. */

import { basename } from 'node:path';
import type { Problem } from '../../../base/errors.js';
import { formatBytes, formatCount, plural } from '../../../base/text/numbers.js';
import type { Sampling } from '../../language-model.js';
import { defaultSampling, samplingText } from '../default-sampling.js';
import { attempt, inspectModel, type ModelReport, type SystemMessageSupport } from '../engine/inspect.js';
import { decoderTensors } from '../graph/parameters.js';
import { attentionLayers, type DecoderConfig } from '../weights/decoder-config.js';
import { type GenerationDefaults, readGenerationDefaults } from '../weights/generation-config.js';
import { blockType, type Packing } from '../weights/gguf-blocks.js';
import { openWeights } from '../weights/gguf-tensors.js';
import { type Quantization, type WeightFormat, weightFormats } from '../weights/quantization.js';
import type { StoredTensors } from '../weights/safetensors.js';

export interface ModelSummary extends ModelReport {
  readonly memory?: MemoryRequirements;
  readonly generation?: GenerationDefaults;
  /** Sampling settings for `format: text` if the config sets none. */
  readonly sampling?: Sampling;
}

export interface MemoryRequirements {
  /** Bytes of memory that the weights need with each available quantization. */
  readonly weights: Readonly<Partial<Record<Quantization, number>>>;
  readonly contextToken: number;
}

export function modelSummary(
  directory: string,
  ignoredKeys: readonly string[] = [],
  reference = directory,
): ModelSummary {
  const report = inspectModel(directory, ignoredKeys);
  const problems: Problem[] = [...report.problems];
  if (report.tokenizer?.system === 'rejected')
    problems.push({
      file: report.tokenizer.templateFile,
      message: 'the chat template rejects system messages, but every prompt of an experiment has one',
      hint: 'write a chat_template.jinja that puts the system message before the first user message, if the model was trained with such prompts',
    });
  const weights = report.config && attempt(() => openWeights(directory), []);
  const generation = report.config && attempt(() => readGenerationDefaults(directory), problems);
  return {
    ...report,
    problems,
    ...(report.config && { memory: memoryRequirements(report.config, weights) }),
    ...(generation && { generation, sampling: defaultSampling({ path: reference, format: 'text' }) }),
  };
}

/** Computes the memory that a model needs. Rows of an untied embedding are looked up on disk; vectors are float32. */
export function memoryRequirements(config: DecoderConfig, stored?: StoredTensors): MemoryRequirements {
  let matrixWeights = 0;
  let vectorWeights = 0;
  let storedBytes = 0;
  let isQuantized = false;
  for (const { name, shape } of decoderTensors(config)) {
    const size = shape.reduce((a, b) => a * b, 1);
    if (shape.length === 1) vectorWeights += size;
    else if (config.tied || name !== `${config.modules.embedding}.weight`) {
      const packing = blockType(stored?.get(name)?.dtype ?? '')?.packing;
      matrixWeights += size;
      isQuantized ||= packing !== undefined;
      storedBytes += packing === undefined ? 4 * size : (size * packedBits(packing)) / 8;
    }
  }
  const bytesAt = (bits: number) => Math.round((matrixWeights * bits) / 8 + vectorWeights * 4);
  const quantizedBytes = (name: WeightFormat) =>
    bytesAt(packedBits({ ...weightFormats[name], hasOffset: false }));
  return {
    weights: isQuantized
      ? { none: Math.round(storedBytes + vectorWeights * 4), float32: bytesAt(32) }
      : {
          none: bytesAt(32),
          int8: quantizedBytes('int8'),
          int4: quantizedBytes('int4'),
          'int4-block128': quantizedBytes('int4-block128'),
        },
    contextToken: 2 * 4 * attentionLayers(config).length * config.kvHeads * config.headDim,
  };
}

/** Returns the bits per weight, including the weight's share of its block's scale and offset. */
const packedBits = ({ bits, block, hasOffset }: Packing) => bits + (32 * (hasOffset ? 2 : 1)) / block;

const systemTexts: Readonly<Record<SystemMessageSupport, string>> = {
  rendered: 'accepts a system message',
  'left-out': 'omits system messages, so the model reads only the other messages',
  rejected: 'rejects system messages',
};

export function modelRows(summary: ModelSummary): (readonly [string, string])[] {
  const { config, weights, tokenizer, generation, memory, problems, sampling } = summary;
  const rows: (readonly [string, string])[] = [];
  if (config !== undefined) rows.push(['architecture', architectureText(config)]);
  if (weights !== undefined) {
    rows.push([
      'parameters',
      `${formatCount(weights.parameters)}, ${weights.dtypes.join(', ')}, ${formatBytes(weights.bytes)} in ${plural(weights.files, 'file')}`,
    ]);
  }
  if (config !== undefined && memory !== undefined) {
    const sizes = Object.entries(memory.weights).map(([name, bytes]) => `${formatBytes(bytes)} (${name})`);
    rows.push(['memory', `${sizes.join(', ')} for the weights; about 200 MB more for the program`]);
    const fullSize = formatBytes(memory.contextToken * config.contextTokens);
    rows.push([
      'context',
      `${config.contextTokens} tokens, ${formatBytes(memory.contextToken)} each: ${fullSize} when full`,
    ]);
  }
  if (tokenizer !== undefined) {
    rows.push(['template', `${basename(tokenizer.templateFile)}, ${systemTexts[tokenizer.system]}`]);
    const configTokens = generation?.eosTokens.length ? generation.eosTokens : (config?.eosTokens ?? []);
    const endTokens = [...new Set([...configTokens, ...tokenizer.eosTokens])];
    rows.push([
      'tokenizer',
      `${basename(tokenizer.file)}; ${endTokens.length === 0 ? 'no end token' : `a reply ends at token ${endTokens.join(' or ')}`}`,
    ]);
  }
  if (sampling !== undefined)
    rows.push(
      ['free text', samplingText(sampling)],
      ['constrained', 'temperature 1, full distribution (unless model.format is text)'],
    );
  rows.push(['verdict', problems.length === 0 ? 'can run' : "can't run as it is"]);
  return rows;
}

function architectureText(config: DecoderConfig): string {
  const { architecture, layers, hidden, heads, kvHeads, tied } = config;
  return (
    `${architecture}, ${plural(layers.length, 'layer')} of width ${hidden}, ${plural(heads, 'attention head')} (${kvHeads} for keys and values)` +
    (tied ? ', output layer shared with the embedding' : '')
  );
}
