/** Formats the summary of a model directory for the terminal. */

import { basename } from 'node:path';
import { append } from '../../../base/append.js';
import { formatBytes, formatCount, plural } from '../../../format/numbers.js';
import type { SystemMessages } from '../engine/inspect.js';
import type { QuantizationLoss } from '../generation/quantization-loss.js';
import type { DecoderConfig } from '../weights/decoder-config.js';
import { samplingText } from '../weights/generation-config.js';
import type { ModelFacts } from './model-facts.js';

const systemTexts: Readonly<Record<SystemMessages, string>> = {
  rendered: 'takes a system message',
  'left-out': 'takes no system message: it is left out, and the model reads the others alone',
  refused: 'takes no system message, and refuses one',
};

export function modelRows(facts: ModelFacts): (readonly [string, string])[] {
  const { config, weights, tokenizer, generation, memory, devices, loss, problems, sampling } = facts;
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
    rows.push(['memory', `${sizes.join(', ')} of weights, and about 200 MB for the program`]);
    const full = formatBytes(memory.contextToken * config.contextTokens);
    rows.push([
      'context',
      `${config.contextTokens} tokens, ${formatBytes(memory.contextToken)} each: ${full} when it is full`,
    ]);
  }
  if (tokenizer !== undefined) {
    rows.push(['template', `${basename(tokenizer.templateFile)}, ${systemTexts[tokenizer.system]}`]);
    const stated = generation?.eosTokens.length ? generation.eosTokens : (config?.eosTokens ?? []);
    const ends = [...new Set([...stated, ...tokenizer.eosTokens])];
    rows.push([
      'tokenizer',
      `${basename(tokenizer.file)}, an answer ends at token ${ends.join(' or ') || '(none)'}`,
    ]);
  }
  if (sampling !== undefined)
    rows.push(
      ['free text', samplingText(sampling)],
      ['constrained', 'temperature 1, the whole distribution (model.format: auto or constrained)'],
    );
  if (devices !== undefined)
    append(rows, [
      ['devices', `${devices.usable.join(', ')}; auto takes ${devices.auto}`],
      ...devices.unusable.map(({ device, reason }) => [`not ${device}`, reason] as const),
    ]);
  if (loss !== undefined) rows.push([`${loss.quantization} loses`, lossText(loss)]);
  rows.push(['verdict', problems.length === 0 ? 'can be run' : "can't be run as it is"]);
  return rows;
}

function architectureText(config: DecoderConfig): string {
  const { architecture, layers, hidden, heads, kvHeads, tied } = config;
  return (
    `${architecture}, ${layers.length} layers of width ${hidden}, ${heads} heads with ${kvHeads} for keys and values` +
    (tied ? ', output layer shared with the embedding' : '')
  );
}

function lossText({ tokens, perplexity, divergence, agreement }: QuantizationLoss): string {
  return (
    `perplexity ${perplexity.exact.toPrecision(5)} → ${perplexity.quantized.toPrecision(5)}, ` +
    `divergence ${divergence.toPrecision(2)} nats a token, ` +
    `the same likeliest token in ${(100 * agreement).toFixed(1)} % of ${tokens} places`
  );
}
