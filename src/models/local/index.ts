import path from 'node:path';
import type { Completion, LanguageModel } from '../language-model.js';
import { openAdapter } from './adapter.js';
import type { LocalConfig } from './config.js';
import type { GeneratedAnswer } from './generation.js';
import { readDecoderConfig } from './hf-config.js';
import { checkModel } from './inspect.js';
import { openModelProcess } from './model-process.js';
import type { JobResult } from './protocol.js';

/**
 * A Hugging Face model directory, run in a process of its own on onnxruntime. The process starts with the first call.
 * The same seed gives the same text, whatever other candidates are generated beside it.
 * @throws UserError when the directory holds no model that can be run
 */
export function createLocalModel(config: LocalConfig): LanguageModel {
  checkModel(config.path);
  if (config.adapter !== undefined) openAdapter(config.adapter, readDecoderConfig(config.path));
  const id = `local/${[config.path, config.adapter]
    .filter((name) => name !== undefined)
    .map(modelName)
    .join('+')}`;
  const model = openModelProcess(id, config);
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
    const result = await model.generate(
      {
        messages: messages.map(({ role, content }) => ({ role, content })),
        seeds: options.seeds,
        maxTokens,
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
    async open() {
      const { device, threads, contextTokens } = await model.load();
      const weights =
        config.quantization === 'none' ? 'unquantised weights' : `${config.quantization} weights`;
      const processor = device === 'cpu' ? `cpu, ${threads} ${threads === 1 ? 'thread' : 'threads'}` : device;
      return `${id} on ${processor}, ${weights}, ${contextTokens} tokens of context`;
    },
    close: () => model.close(),
  };
}

/** The directory's name; in a Hugging Face cache, where that is a hash, the name of the repository. */
export function modelName(directory: string): string {
  const resolved = path.resolve(directory);
  const cached = /models--([^/\\]+)[/\\]snapshots[/\\][^/\\]+$/.exec(resolved);
  return cached === null ? path.basename(resolved) : cached[1]!.replaceAll('--', '/');
}

/** What is known of the whole call stands on the first completion. */
function completions(result: JobResult, latencyMs: number): Completion[] {
  const generated = result.answers.reduce((sum, answer) => sum + answer.ids.length, 0);
  return result.answers.map(
    (answer: GeneratedAnswer, index): Completion => ({
      text: answer.text,
      finishReason: answer.finishReason,
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
