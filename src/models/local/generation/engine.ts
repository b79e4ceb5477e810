/** A loaded model, which turns messages into replies. Runs in the model's own process. */
import { plural } from '../../../base/text/numbers.js';
import { type AnswerGrammar, type ChatMessage, shortenPromptHint } from '../../language-model.js';
import { choiceConstraint } from '../constraint/choices.js';
import {
  type Constraint,
  type ConstraintVocabulary,
  createConstraint,
  createVocabulary,
} from '../constraint/constraint.js';
import { freeCores } from '../cores.js';
import { chooseDevice } from '../engine/device.js';
import { openSession } from '../engine/runtime.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { openAdapter } from '../graph/adapter.js';
import { buildInferenceGraph } from '../graph/decoder.js';
import type { BuiltGraph, GraphBuilder } from '../graph/graph.js';
import { adapterParameters } from '../graph/lora.js';
import { packedParameters, packWeights, unpackedParameters } from '../graph/packed-parameters.js';
import { storedParameters } from '../graph/parameters.js';
import type { Device } from '../settings.js';
import { type ChatTokenizer, openTokenizer } from '../tokens/tokenizer.js';
import type { DecoderConfig } from '../weights/decoder-config.js';
import { type GenerationDefaults, readGenerationDefaults, samplingOf } from '../weights/generation-config.js';
import { openWeights } from '../weights/gguf-tensors.js';
import type { StoredTensors } from '../weights/safetensors.js';
import type { GenerationHooks } from './candidate.js';
import { TextGenerator } from './generation.js';
import type { GenerationJob, JobResult, LoadReport, LoadSettings } from './protocol.js';

export interface Engine {
  readonly report: LoadReport;
  /** Calls may overlap. @throws RequestError or UserError for a job that can't be run, AbortedError if aborted */
  generate(job: GenerationJob, hooks: GenerationHooks): Promise<JobResult>;
  close(): Promise<void>;
}

export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    message: string,
    readonly kind: 'bad-request' | 'too-long' = 'bad-request',
  ) {
    super(message);
  }
}

/** @throws UserError if the model, an adapter or the device can't be used */
export async function loadEngine(settings: LoadSettings): Promise<Engine> {
  const config = readDecoderConfig(settings.path, settings.ignoreKeys);
  const tokenizer = openTokenizer(settings.path, settings.template);
  const defaults = readGenerationDefaults(settings.path);
  const weights = openWeights(settings.path);
  const device = await chooseDevice(settings.device);
  const threads = settings.threads ?? freeCores();
  const graph = buildGraph({ ...settings, device }, config, weights);
  const session = await openSession(graph, config, { device, threads });
  const contextTokens = Math.min(settings.contextTokens ?? config.contextTokens, config.contextTokens);
  const eosTokens = endTokens(config, defaults, tokenizer);
  const generator = new TextGenerator(session, config, tokenizer.bytes, settings.batch);
  const constraints = createConstraintCache(tokenizer, config, eosTokens);
  return {
    report: { device, threads, contextTokens },
    close: () => session.close(),
    async generate(job, hooks) {
      const { choices, grammar, messages } = job;
      const prompt = tokenizer.encodePrompt(messages);
      if (prompt.length === 0) throw new RequestError('the prompt is empty');
      if (prompt.length >= contextTokens)
        throw new RequestError(
          `the prompt has ${prompt.length} tokens, but the context only holds ${contextTokens}, reply included: ` +
            shortenPromptHint +
            (contextTokens < config.contextTokens ? ' or raise model.contextTokens' : ''),
          'too-long',
        );
      const system = messages.find(({ role }) => role === 'system')?.content;
      const room = contextTokens - prompt.length;
      const maxTokens = Math.min(job.maxTokens, room);
      const constraint =
        choices === undefined
          ? grammar && constraints.forGrammar(grammar, opensThinking(tokenizer, messages))
          : constraints.forChoices(choices);
      if (constraint !== undefined && maxTokens < constraint.answerTokens)
        throw new RequestError(
          `an answer ${grammar === undefined ? '' : `of ${plural(grammar.labels.length, 'number')} `}may need ${plural(constraint.answerTokens, 'token')}, ` +
            `but only ${maxTokens} are allowed: ` +
            (room < job.maxTokens ? 'shorten the prompt' : 'raise the token limit (model.maxTokens)'),
        );
      // The caller's settings take precedence, then the publisher's, then plain sampling.
      const sampling = samplingOf(defaults, [job.sampling]);
      const request = { ...job, system, prompt, maxTokens, sampling, eosTokens };
      const generation = await generator.generate({ ...request, ...(constraint && { constraint }) }, hooks);
      return { ...generation, residentBytes: process.memoryUsage.rss() };
    },
  };
}

/** Returns the token ids of complete replies. Without an end token, no prefix of another text could be chosen. */
function replyTokenIds(
  texts: readonly string[],
  tokenizer: ChatTokenizer,
  eosTokens: ReadonlySet<number>,
): readonly (readonly number[])[] {
  const roles = ['user', 'assistant', 'user'] as const;
  const [next] = tokenizer.encodeNext(roles.map((role) => ({ role, content: 'x' })));
  const end =
    next !== undefined && eosTokens.has(next) ? next : (tokenizer.eosTokens[0] ?? [...eosTokens][0]);
  return texts.map((text) => [...tokenizer.encodeText(text), ...(end === undefined ? [] : [end])]);
}

/** Builds the inference graph, with weights as stored, quantised or unpacked, and the adapter, if any. */
export function buildGraph(
  settings: Pick<LoadSettings, 'path' | 'adapter' | 'quantization' | 'ignoreKeys'> & {
    readonly device?: Device;
  },
  config: DecoderConfig,
  weights: StoredTensors,
): BuiltGraph {
  const { device, ignoreKeys, path, quantization } = settings;
  const packed = packWeights(path, config, weights, quantization);
  const adapter =
    settings.adapter === undefined ? undefined : openAdapter(settings.adapter, config, ignoreKeys);
  const parametersOf = (g: GraphBuilder) => {
    const stored = storedParameters(g, weights, 'float32');
    const toParameters = quantization === 'float32' ? unpackedParameters : packedParameters;
    const base = packed === undefined ? stored : toParameters(g, packed, stored, true);
    return adapter === undefined ? base : adapterParameters(g, adapter, base, 'float32');
  };
  return buildInferenceGraph(config, parametersOf, device);
}

/** Returns the end tokens of generation_config.json (config.json if it lists none) and of the tokenizer. */
export function endTokens(
  config: DecoderConfig,
  defaults: GenerationDefaults,
  tokenizer: ChatTokenizer,
): ReadonlySet<number> {
  const configTokens = defaults.eosTokens.length > 0 ? defaults.eosTokens : config.eosTokens;
  return new Set([...configTokens, ...tokenizer.eosTokens]);
}

/** True if the template ends the prompt inside a thinking block. */
export function opensThinking(tokenizer: ChatTokenizer, messages: readonly ChatMessage[]): boolean {
  const text = tokenizer.promptText(messages);
  return text.lastIndexOf('<think>') > text.lastIndexOf('</think>');
}

/** Maximum number of cached constraints; in a text world, the choices change with each step. */
const maxCachedConstraints = 4096;

/** Caches constraints, with their masks, by grammar or choices. */
export function createConstraintCache(
  tokenizer: ChatTokenizer,
  config: DecoderConfig,
  eosTokens: ReadonlySet<number>,
) {
  let vocabulary: ConstraintVocabulary | undefined;
  const cache = new Map<string, Constraint>();
  const getOrMake = (key: string, make: () => Constraint) => {
    const constraint = cache.get(key) ?? make();
    if (cache.size >= maxCachedConstraints) cache.clear();
    cache.set(key, constraint);
    return constraint;
  };
  return {
    forGrammar: (grammar: AnswerGrammar, isThinking: boolean) =>
      getOrMake(JSON.stringify([grammar, isThinking]), () => {
        vocabulary ??= createVocabulary(tokenizer, config.vocabulary, eosTokens);
        return createConstraint(grammar, vocabulary, isThinking);
      }),
    forChoices: (texts: readonly string[]) =>
      getOrMake(JSON.stringify(texts), () => choiceConstraint(replyTokenIds(texts, tokenizer, eosTokens))),
  };
}
