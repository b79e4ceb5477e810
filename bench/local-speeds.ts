/** Speed of the local model on one thread. */
import process from 'node:process';
import { type Engine, loadEngine } from '../src/models/local/generation/engine.js';
import type { GenerationJob, JobResult } from '../src/models/local/generation/protocol.js';
import type { Quantization } from '../src/models/local/weights/quantization.js';
import { median } from '../src/statistics/descriptive.js';

const promptLines = 36;
export const replyTokens = 24;

/** @param first start of the prompt; a new one makes the cached prompt useless */
function job(lines: number, seeds: readonly number[], maxTokens: number, first = ''): GenerationJob {
  const content = Array.from(
    { length: lines },
    (_, i) => `params[0]: ${i}.5; params[1]: -${i}.2; f(params): ${i}`,
  );
  return {
    messages: [{ role: 'user', content: first + content.join('\n') }],
    seeds,
    maxTokens,
    sampling: { temperature: 1 },
  };
}

interface Timed {
  readonly result: JobResult;
  readonly seconds: number;
}

async function timed(engine: Engine, request: GenerationJob): Promise<Timed> {
  const start = performance.now();
  const result = await engine.generate(request, { isAborted: () => false });
  return { result, seconds: (performance.now() - start) / 1000 };
}

export interface Speeds {
  readonly loadSeconds: number;
  readonly prefillTokensPerSecond: number;
  readonly decodeSecondsPerToken: number;
  /** Cost of four candidates relative to one, including prefill and decoding. */
  readonly fourOverOne: number;
  /** Cost of a decoding step for four candidates relative to one. */
  readonly fourRowStep: number;
  /** Tokens recomputed for a prompt with one more line, and tokens in that line. */
  readonly grown: { readonly computed: number; readonly added: number };
  readonly residentBytes: number;
}

function openEngine(path: string, quantization: Quantization, batch?: number): Promise<Engine> {
  const settings = {
    path,
    quantization,
    device: 'cpu',
    threads: 1,
    contextTokens: 4096,
    template: {},
  } as const;
  return loadEngine({ ...settings, ...(batch !== undefined && { batch }) });
}

/** Numbers of prompts in a batch. */
export const batchSizes = [1, 2, 4, 8] as const;
/** Lines of the longest prompt in a batch; each further prompt is one line shorter. */
const batchLines = 14;

/**
 * Measures the tokens per second in the replies to several different prompts in one batch, without the time to read the
 * prompts; returns medians. Uses processor time, because wall time depends more on other programs.
 */
export async function batchRates(path: string, quantization: Quantization, rounds = 3): Promise<number[]> {
  const engine = await openEngine(path, quantization, Math.max(...batchSizes));
  const answered = async (count: number, maxTokens: number) => {
    const start = process.cpuUsage();
    const jobs = Array.from({ length: count }, (_, i) => job(batchLines - i, [1], maxTokens, `Run ${i}. `));
    const results = await Promise.all(jobs.map((one) => engine.generate(one, { isAborted: () => false })));
    const tokens = results.reduce((sum, { replies }) => sum + replies[0]!.ids.length, 0);
    const { user, system } = process.cpuUsage(start);
    return { tokens, seconds: (user + system) / 1e6 };
  };
  try {
    await answered(Math.max(...batchSizes), 1);
    const rates = batchSizes.map((): number[] => []);
    for (let round = 0; round < rounds; round++)
      for (const [i, count] of batchSizes.entries()) {
        const first = await answered(count, 1);
        const all = await answered(count, replyTokens);
        rates[i]!.push((all.tokens - first.tokens) / (all.seconds - first.seconds));
      }
    return rates.map(median);
  } finally {
    await engine.close();
  }
}

/** Loads a model for repeated measurements. */
export async function openSpeeds(path: string, quantization: Quantization) {
  const engine = await openEngine(path, quantization);
  const { result } = await timed(engine, job(promptLines, [1], 1));
  return {
    promptTokens: result.promptTokens,
    /** Returns the tokens per second for a new prompt and for the reply to it. */
    async round(round: number) {
      const first = `Round ${round}. `;
      const prefill = await timed(engine, job(promptLines, [1], 1, first));
      // With the prompt in the cache, one token costs only the prompt's last row.
      const one = await timed(engine, job(promptLines, [1], 1, first));
      const many = await timed(engine, job(promptLines, [1], replyTokens, first));
      const computed = prefill.result.promptTokens - prefill.result.cachedTokens;
      return {
        prefill: computed / prefill.seconds,
        decode: (many.result.replies[0]!.ids.length - 1) / (many.seconds - one.seconds),
      };
    },
    close: () => engine.close(),
  };
}

export async function measure(path: string, quantization: Quantization): Promise<Speeds> {
  const start = performance.now();
  const engine = await openEngine(path, quantization);
  const loadSeconds = (performance.now() - start) / 1000;
  try {
    const prefill = await timed(engine, job(promptLines, [1], 1));
    const { promptTokens } = prefill.result;
    // With the prompt in the cache, one token costs only the prompt's last row.
    const one = await timed(engine, job(promptLines, [1], 1));
    const many = await timed(engine, job(promptLines, [1], replyTokens));
    const four = await timed(engine, job(promptLines, [1, 2, 3, 4], replyTokens));
    const grown = await timed(engine, job(promptLines + 1, [1], 1));
    const steps = many.result.replies[0]!.ids.length - 1;
    return {
      loadSeconds,
      prefillTokensPerSecond: promptTokens / prefill.seconds,
      decodeSecondsPerToken: (many.seconds - one.seconds) / steps,
      fourOverOne: (prefill.seconds + four.seconds) / (prefill.seconds + many.seconds),
      fourRowStep: (four.seconds - one.seconds) / (many.seconds - one.seconds),
      grown: {
        computed: grown.result.promptTokens - grown.result.cachedTokens,
        added: grown.result.promptTokens - promptTokens,
      },
      residentBytes: many.result.residentBytes,
    };
  } finally {
    await engine.close();
  }
}
