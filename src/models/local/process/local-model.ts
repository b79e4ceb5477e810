import path from 'node:path';
import { type Completion, type LanguageModel, lowestLimit, resolveSampling } from '../../language-model.js';
import { replyFaults } from '../../reply-faults.js';
import { requireRuntime } from '../engine/find-devices.js';
import { checkModel, summarizeWeights } from '../engine/inspect.js';
import { readDecoderConfig } from '../families/hf-config.js';
import { type GenerationJob, type JobResult, type LoadSettings, loadKeys } from '../generation/protocol.js';
import { openAdapter } from '../graph/adapter.js';
import { type LocalConfig, modelDirectory, sharesProcess } from '../settings.js';
import { isHfReference } from '../stores/hf-cache.js';
import type { ChatTokenizer } from '../tokens/tokenizer.js';
import { blockType } from '../weights/gguf-blocks.js';
import { openWeights } from '../weights/gguf-tensors.js';
import { ModelProcess } from './model-process.js';

/**
 * Creates a model from a Hugging Face directory or GGUF file. It runs in a separate process, which starts when first
 * needed. The same seed gives the same text, whatever else is being generated.
 * @throws UserError if the files can't be used, or the runtime is missing
 */
export function createLocalModel(config: LocalConfig): LanguageModel {
  const adapter =
    config.adapter === undefined ? undefined : modelDirectory(config.adapter, undefined, 'model.adapter');
  const locatedConfig: LocalConfig = { ...config, path: modelDirectory(config.path), adapter };
  checkFiles(locatedConfig);
  const id = modelId(displayName(config.path), adapter);
  if (sharesProcess(config)) return createSharedModel(id, locatedConfig);
  const modelProcess = new ModelProcess(id, locatedConfig);
  return { ...createLanguageModel(id, locatedConfig, modelProcess), close: () => modelProcess.close() };
}

/** Shared processes by their settings, each with the models that use it. */
const sharedProcesses = new Map<string, { readonly process: ModelProcess; readonly users: Set<string> }>();
let conversationCount = 0;

/** Each model reuses only its own cached prompts, so `cachedTokens` never counts tokens that another model has read. */
function createSharedModel(id: string, config: LocalConfig): LanguageModel {
  const settings = Object.fromEntries(loadKeys.map((key) => [key, config[key]])) as unknown as LoadSettings;
  const key = JSON.stringify(settings);
  const conversation = `${conversationCount++}`;
  const acquireProcess = () => {
    const entry = sharedProcesses.get(key) ?? { process: new ModelProcess(id, settings), users: new Set() };
    sharedProcesses.set(key, entry);
    entry.users.add(conversation);
    return entry.process;
  };
  const sharedProcess: Pick<ModelProcess, 'generate' | 'load'> = {
    generate: (job, signal, onRead) => acquireProcess().generate(job, signal, onRead),
    load: () => acquireProcess().load(),
  };
  return {
    ...createLanguageModel(id, config, sharedProcess, { conversation }),
    async close() {
      const entry = sharedProcesses.get(key);
      if (entry?.users.delete(conversation) !== true || entry.users.size > 0) return;
      sharedProcesses.delete(key);
      await entry.process.close();
    },
  };
}

function checkFiles({ adapter, ignoreKeys, path }: LocalConfig): void {
  requireRuntime();
  checkModel(path, ignoreKeys);
  const config = readDecoderConfig(path, ignoreKeys);
  if (adapter !== undefined) openAdapter(adapter, config, ignoreKeys);
}

/** Returns what a model's id is based on: its path or, if it is in the Hugging Face cache, its reference. */
const displayName = (path: string): string => (isHfReference(path) ? path : modelDirectory(path));

function modelId(path: string, adapter?: string): string {
  return `local/${[path, ...(adapter === undefined ? [] : [adapter])].map(modelName).join('+')}`;
}

/** @param jobOptions options added to every job */
function createLanguageModel(
  id: string,
  config: LocalConfig,
  modelProcess: Pick<ModelProcess, 'generate' | 'load'>,
  jobOptions: Pick<GenerationJob, 'conversation'> = {},
): LanguageModel {
  let tokenizer: ChatTokenizer | undefined;
  const openTokenizer = async () => {
    const module = await import('../tokens/tokenizer.js');
    tokenizer ??= module.openTokenizer(config.path, config.template);
    return tokenizer;
  };
  return {
    id,
    givesSeveral: true,
    choosesTexts: true,
    async generate(messages, options) {
      const start = performance.now();
      const { choices, grammar, onRead, seeds, signal } = options;
      const result = await modelProcess.generate(
        {
          ...jobOptions,
          messages,
          seeds,
          maxTokens: lowestLimit(config.maxTokens, options.maxTokens)!,
          sampling: resolveSampling(config, options.sampling),
          ...(config.format !== 'text' && grammar && { grammar }),
          ...(choices && { choices }),
        },
        signal,
        onRead,
      );
      const replies = toCompletions(result, performance.now() - start);
      if (config.format === 'text' || grammar === undefined) return replies;
      const format = config.format === 'auto' ? { format: 'constrained' as const } : {};
      return replies.map((completion) => ({ ...completion, constrained: true, ...format }));
    },
    async context() {
      const tokenizer = await openTokenizer();
      const tokens = localContextTokens(config);
      return { tokens, count: (messages) => tokenizer.encodePrompt(messages).length };
    },
    async open() {
      const { device, threads, contextTokens } = await modelProcess.load();
      const processor = device === 'cpu' ? `cpu, ${threads} ${threads === 1 ? 'thread' : 'threads'}` : device;
      return `${id} on ${processor}, ${weightsText(config)} weights, ${contextTokens} tokens of context`;
    },
  };
}

/** Describes how the weights are stored in memory, e.g. `unquantised`, `int8` or, for a GGUF file, `Q4_K, Q6_K`. */
function weightsText({ path, quantization }: Pick<LocalConfig, 'path' | 'quantization'>): string {
  if (quantization !== 'none') return quantization;
  const { dtypes } = summarizeWeights(openWeights(path));
  return dtypes.filter((dtype) => blockType(dtype)?.packing !== undefined).join(', ') || 'unquantised';
}

export function localContextTokens({
  contextTokens,
  ignoreKeys,
  path: model,
}: Pick<LocalConfig, 'contextTokens' | 'ignoreKeys' | 'path'>): number {
  return lowestLimit(contextTokens, readDecoderConfig(modelDirectory(model), ignoreKeys).contextTokens)!;
}

/** Returns a short name: the reference, the repository's name in a Hugging Face cache, or the path's last part. */
export function modelName(directory: string): string {
  if (isHfReference(directory)) return directory;
  const resolved = path.resolve(directory);
  const cacheMatch = /models--([^/\\]+)[/\\]snapshots[/\\][^/\\]+$/.exec(resolved);
  return cacheMatch === null ? path.basename(resolved) : cacheMatch[1]!.replaceAll('--', '/');
}

/** Converts a result to completions; the first contains the usage and latency of the whole call. */
function toCompletions({ replies, cachedTokens, promptTokens }: JobResult, latencyMs: number): Completion[] {
  const completionTokens = replies.reduce((sum, { ids }) => sum + ids.length, 0);
  return replies.map((reply, index): Completion => {
    const faults = replyFaults(reply);
    return {
      text: reply.text,
      finishReason: reply.finishReason,
      ...(faults.length > 0 && { faults }),
      usage: index > 0 ? {} : { promptTokens, cachedTokens, completionTokens },
      latencyMs: index > 0 ? 0 : latencyMs,
      retries: 0,
    };
  });
}
