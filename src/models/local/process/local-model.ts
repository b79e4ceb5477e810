import path from 'node:path';
import type { Completion, LanguageModel } from '../../language-model.js';
import { replyFaults } from '../../reply-faults.js';
import type { GeneratedAnswer } from '../engine/generation.js';
import { checkModel } from '../engine/inspect.js';
import type { JobResult } from '../engine/protocol.js';
import { openAdapter } from '../graph/adapter.js';
import { type LocalConfig, modelDirectory } from '../settings.js';
import { readDecoderConfig } from '../weights/hf-config.js';
import { type ModelProcess, openModelProcess } from './model-process.js';

/**
 * A Hugging Face model directory, run in a process of its own on onnxruntime. The process starts with the first call.
 * The same seed gives the same text, whatever other candidates are generated beside it.
 * @throws UserError when the directory holds no model that can be run
 */
export function createLocalModel(config: LocalConfig): LanguageModel {
  const located = { ...config, path: modelDirectory(config.path) };
  checkFiles(located.path, config.adapter === undefined ? [] : [config.adapter]);
  const process = openModelProcess(modelId(located.path, config.adapter), located);
  return { ...languageModel(located, process), close: () => process.close() };
}

/** Models that differ in their adapter alone. */
export interface LocalModels {
  /**
   * The base with one of the adapters, or as it is. Closing is up to `close` here.
   * @param adapter its directory, as it was given
   */
  model(adapter?: string): LanguageModel;
  close(): Promise<void>;
}

/**
 * One process, and the base in memory once, for several adapters and the base itself: runs of all of them can follow
 * each other, or go on at the same time, without loading anything again.
 * @param adapters directories
 * @throws UserError when a directory holds no model that can be run, or no adapter of it
 */
export function openLocalModels(
  config: Omit<LocalConfig, 'adapter'>,
  adapters: readonly string[],
): LocalModels {
  const base = { ...config, path: modelDirectory(config.path) };
  checkFiles(base.path, adapters);
  const process = openModelProcess(modelId(base.path), { ...base, adapters });
  return {
    model: (adapter) => languageModel({ ...base, adapter }, process, adapter),
    close: () => process.close(),
  };
}

function checkFiles(path: string, adapters: readonly string[]): void {
  checkModel(path);
  const config = readDecoderConfig(path);
  for (const adapter of adapters) openAdapter(adapter, config);
}

function modelId(path: string, adapter?: string): string {
  return `local/${[path, adapter]
    .filter((name) => name !== undefined)
    .map(modelName)
    .join('+')}`;
}

/** @param chosen adapter that each job asks for, where the process has several */
function languageModel(config: LocalConfig, process: ModelProcess, chosen?: string): LanguageModel {
  const id = modelId(config.path, config.adapter);
  const { maxTokens, stop, format, temperature, topP, topK, minP, repetitionPenalty } = config;
  const sampling = {
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(minP !== undefined && { minP }),
    ...(repetitionPenalty !== undefined && { repetitionPenalty }),
  };
  const generateGroup: NonNullable<LanguageModel['generateGroup']> = async (messages, options) => {
    const start = performance.now();
    const result = await process.generate(
      {
        ...(chosen !== undefined && { adapter: chosen }),
        messages: messages.map(({ role, content }) => ({ role, content })),
        seeds: options.seeds,
        maxTokens: Math.min(maxTokens, options.maxTokens ?? maxTokens),
        sampling,
        stop,
        logProbabilities: false,
        ...(format === 'constrained' && { constraint: options.task.parameters }),
      },
      { signal: options.signal },
    );
    return completions(result, performance.now() - start);
  };
  return {
    id,
    generateGroup,
    generate: async (messages, { seed, ...options }) =>
      (await generateGroup(messages, { ...options, seeds: [seed] }))[0]!,
    async context() {
      const { contextTokens: own } = readDecoderConfig(config.path);
      const { openTokenizer } = await import('../tokens/tokenizer.js');
      const tokenizer = openTokenizer(config.path, config.template);
      return {
        tokens: Math.min(config.contextTokens ?? own, own),
        count: (messages) => tokenizer.encodePrompt(messages).length,
      };
    },
    async open() {
      const { device, threads, contextTokens } = await process.load();
      const weights =
        config.quantization === 'none' ? 'unquantised weights' : `${config.quantization} weights`;
      const processor = device === 'cpu' ? `cpu, ${threads} ${threads === 1 ? 'thread' : 'threads'}` : device;
      return `${id} on ${processor}, ${weights}, ${contextTokens} tokens of context`;
    },
  };
}

/** The directory's name; in a Hugging Face cache, where that is a hash, the name of the repository. */
export function modelName(directory: string): string {
  const resolved = path.resolve(directory);
  const cached = /models--([^/\\]+)[/\\]snapshots[/\\][^/\\]+$/.exec(resolved);
  return cached === null ? path.basename(resolved) : cached[1]!.replaceAll('--', '/');
}

function faultsOf(answer: GeneratedAnswer): Pick<Completion, 'faults'> {
  const faults = replyFaults(answer);
  return faults.length > 0 ? { faults } : {};
}

/** What is known of the whole call stands on the first completion. */
function completions(result: JobResult, latencyMs: number): Completion[] {
  const generated = result.answers.reduce((sum, answer) => sum + answer.ids.length, 0);
  return result.answers.map(
    (answer: GeneratedAnswer, index): Completion => ({
      text: answer.text,
      finishReason: answer.finishReason,
      ...faultsOf(answer),
      usage:
        index > 0
          ? {}
          : {
              promptTokens: result.promptTokens,
              cachedTokens: result.cachedTokens,
              completionTokens: generated,
            },
      latencyMs: index > 0 ? 0 : latencyMs,
      retries: 0,
    }),
  );
}
