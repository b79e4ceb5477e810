import { basename, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { type CommandContext, exitCodes } from '../context.js';
import { formatProblem, type Problem, UserError } from '../errors.js';
import { formatBytes } from '../format/numbers.js';
import type { QuantizationLoss } from '../models/local/engine/quantization-loss.js';
import { adapterFacts, adapterRows, isAdapter } from '../models/local/facts/adapter-facts.js';
import { type ModelFacts, modelFacts } from '../models/local/facts/model-facts.js';
import { embeddedModel, modelDirectory, type Quantization, quantizations } from '../models/local/settings.js';
import type { DecoderConfig, GenerationDefaults } from '../models/local/weights/hf-config.js';

export const options = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      describe: 'Directory of a Hugging Face model, or of a LoRA adapter (default: the embedded model)',
    })
    .option('quantization', { ...kinds.text, describe: 'Measure what int8 or int4 weights lose' })
    .option('base', {
      ...kinds.text,
      describe: 'Model that an adapter should fit (default: the one that the adapter names)',
    })
    .option('json', common.json)
    .example('$0 models check models/Qwen2.5-0.5B-Instruct --quantization int4', '');

type Args = Arguments<typeof options>;

/** `policyloop models check [directory]`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const quantization = readQuantization(args.quantization);
  const directory = resolve(context.cwd, modelDirectory(args.directory ?? embeddedModel));
  if (isAdapter(directory)) {
    const base = args.base === undefined ? undefined : resolve(context.cwd, args.base);
    return explain(adapterFacts(directory, base, context.cwd), adapterRows, args.json, context);
  }
  if (args.base !== undefined)
    throw new UserError({
      field: '--base',
      value: args.base,
      message: 'only an adapter has a base, and this directory holds none',
      remedy: 'name the directory of the adapter: adapter_config.json and adapter_model.safetensors',
    });
  if (quantization !== undefined) context.note(`measuring what ${quantization} loses …`);
  return explain(await modelFacts(directory, quantization), modelRows, args.json, context);
}

/** Prints what was found, and says by the exit code whether there are problems. */
function explain<Facts extends { readonly directory: string; readonly problems: readonly Problem[] }>(
  facts: Facts,
  rowsOf: (facts: Facts) => readonly (readonly [string, string])[],
  json: boolean,
  context: CommandContext,
): number {
  context.print(json ? JSON.stringify(facts) : screen(facts, rowsOf(facts)));
  return facts.problems.length === 0 ? 0 : exitCodes.failure;
}

function screen(
  { directory, problems }: { readonly directory: string; readonly problems: readonly Problem[] },
  rows: readonly (readonly [string, string])[],
): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return [
    directory,
    ...rows.map(([name, text]) => `${name.padEnd(width)}  ${text}`),
    ...(problems.length === 0 ? [] : ['', ...problems.map(formatProblem)]),
  ].join('\n');
}

function readQuantization(given: string | undefined): Exclude<Quantization, 'none'> | undefined {
  const known = quantizations.filter((name) => name !== 'none');
  if (given === undefined) return undefined;
  const found = known.find((name) => name === given);
  if (found !== undefined) return found;
  throw new UserError({
    field: '--quantization',
    value: given,
    message: 'there is no such quantization',
    alternatives: known,
  });
}

function modelRows(facts: ModelFacts): (readonly [string, string])[] {
  const { config, weights, tokenizer, generation, memory, devices, loss, problems } = facts;
  const rows: (readonly [string, string])[] = [];
  if (config !== undefined) rows.push(['architecture', architectureText(config)]);
  if (weights !== undefined) {
    const files = `${weights.files} ${weights.files === 1 ? 'file' : 'files'}`;
    rows.push([
      'parameters',
      `${count(weights.parameters)}, ${weights.dtypes.join(' and ')}, ${formatBytes(weights.bytes)} in ${files}`,
    ]);
  }
  if (config !== undefined && memory !== undefined) {
    const sizes = quantizations.map((name) => `${formatBytes(memory.weights[name])} (${name})`);
    rows.push(['memory', `${sizes.join(', ')} of weights, and about 200 MB for the program`]);
    const full = formatBytes(memory.contextToken * config.contextTokens);
    rows.push([
      'context',
      `${config.contextTokens} tokens, ${formatBytes(memory.contextToken)} each: ${full} when it is full`,
    ]);
  }
  if (tokenizer !== undefined) {
    const system = tokenizer.takesSystem ? 'takes a system message' : 'takes no system message';
    rows.push(['template', `${basename(tokenizer.templateFile)}, ${system}`]);
    const stated = generation?.eosTokens.length ? generation.eosTokens : (config?.eosTokens ?? []);
    const ends = [...new Set([...stated, ...tokenizer.eosTokens])];
    rows.push(['tokenizer', `tokenizer.json, an answer ends at token ${ends.join(' or ') || '(none)'}`]);
  }
  if (generation !== undefined) rows.push(['sampling', samplingText(generation)]);
  if (devices !== undefined)
    rows.push(['devices', `${devices.usable.join(', ')}; auto takes ${devices.auto}`]);
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

/** Figures of parameters: `162,624`, `494.0M`. */
function count(value: number): string {
  return value < 1e6 ? value.toLocaleString('en-US') : `${(value / 1e6).toFixed(1)}M`;
}

function samplingText(defaults: GenerationDefaults): string {
  const named = [
    ['temperature', defaults.temperature],
    ['top-p', defaults.topP],
    ['top-k', defaults.topK],
    ['min-p', defaults.minP],
    ['repetition penalty', defaults.repetitionPenalty],
  ] as const;
  const given = named.flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  return given.length === 0 ? 'temperature 1 (the publisher recommends nothing)' : given.join(', ');
}

function lossText({ tokens, perplexity, divergence, agreement }: QuantizationLoss): string {
  return (
    `perplexity ${perplexity.exact.toPrecision(5)} → ${perplexity.quantized.toPrecision(5)}, ` +
    `divergence ${divergence.toPrecision(2)} nats a token, ` +
    `the same likeliest token in ${(100 * agreement).toFixed(1)} % of ${tokens} places`
  );
}
