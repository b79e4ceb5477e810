/**
 * `node dist/bench/local-model.js [directory]`: speed of the local model on one thread, on a Qwen2.5-0.5B-shaped model
 * with random weights, which is written to the directory (2 GB) where it is not there yet. Takes some minutes.
 */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { writeRandomModel } from '../scripts/random-model.js';
import { number, terminalTable, text } from '../src/format/table.js';
import { type Engine, loadEngine } from '../src/models/local/engine/engine.js';
import type { GenerateJob, JobResult } from '../src/models/local/engine/protocol.js';
import { decoderTensors } from '../src/models/local/graph/parameters.js';
import { readDecoderConfig } from '../src/models/local/weights/hf-config.js';
import type { Quantization } from '../src/models/local/weights/quantization.js';
import type { Finding } from './finding.js';

const promptLines = 36;
const answerTokens = 24;

/** Bytes a second that one thread reads: comparing two equal buffers reads both once. */
function memoryBandwidth(): number {
  const [a, b] = [Buffer.alloc(1 << 29, 1), Buffer.alloc(1 << 29, 1)];
  let best = 0;
  for (let turn = 0; turn < 5; turn++) {
    const start = performance.now();
    a.equals(b);
    best = Math.max(best, (2 * a.length) / ((performance.now() - start) / 1000));
  }
  return best;
}

function job(lines: number, seeds: readonly number[], maxTokens: number): GenerateJob {
  const content = Array.from(
    { length: lines },
    (_, i) => `params[0]: ${i}.5; params[1]: -${i}.2; f(params): ${i}`,
  );
  return {
    messages: [{ role: 'user', content: content.join('\n') }],
    seeds,
    maxTokens,
    sampling: { temperature: 1 },
    stop: [],
    logProbabilities: false,
  };
}

interface Timed {
  readonly result: JobResult;
  readonly seconds: number;
}

async function timed(engine: Engine, request: GenerateJob): Promise<Timed> {
  const start = performance.now();
  const result = await engine.generate(request, { aborted: () => false });
  return { result, seconds: (performance.now() - start) / 1000 };
}

interface Speeds {
  readonly loadSeconds: number;
  readonly prefillTokensPerSecond: number;
  readonly decodeSecondsPerToken: number;
  /** Cost of four candidates over that of one, prefill and decode together. */
  readonly fourOverOne: number;
  /** A step that decodes four candidates over a step that decodes one. */
  readonly fourRowStep: number;
  /** Tokens that a prompt with one more line computed anew, and tokens of the line. */
  readonly grown: { readonly computed: number; readonly added: number };
  readonly residentBytes: number;
}

async function measure(path: string, quantization: Quantization): Promise<Speeds> {
  const start = performance.now();
  const engine = await loadEngine({
    path,
    device: 'cpu',
    threads: 1,
    quantization,
    contextTokens: 4096,
    template: {},
  });
  const loadSeconds = (performance.now() - start) / 1000;
  try {
    const prefill = await timed(engine, job(promptLines, [1], 1));
    const { promptTokens } = prefill.result;
    // With the prompt in the cache, one token is its last row and nothing else.
    const one = await timed(engine, job(promptLines, [1], 1));
    const many = await timed(engine, job(promptLines, [1], answerTokens));
    const four = await timed(engine, job(promptLines, [1, 2, 3, 4], answerTokens));
    const grown = await timed(engine, job(promptLines + 1, [1], 1));
    const steps = many.result.answers[0]!.ids.length - 1;
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

/** Bytes of float32 weights that one decoded token must read. */
function weightBytes(path: string): number {
  const config = readDecoderConfig(path);
  return decoderTensors(config)
    .filter(({ name }) => config.tied || name !== 'model.embed_tokens.weight')
    .reduce((sum, { shape }) => sum + 4 * shape.reduce((a, b) => a * b, 1), 0);
}

const path = process.argv[2] ?? join(tmpdir(), 'policyloop-qwen2.5-0.5b-f32');
if (!existsSync(join(path, 'model.safetensors'))) writeRandomModel('qwen2.5-0.5b', path, 'F32');
const before = memoryBandwidth();
const exact = await measure(path, 'none');
const four = await measure(path, 'int4');
const eight = await measure(path, 'int8');
const bandwidth = Math.max(before, memoryBandwidth());
const ceiling = bandwidth / weightBytes(path);
const rate = (speeds: Speeds) => 1 / speeds.decodeSecondsPerToken;
const rows: Finding[] = [
  { name: 'memory bandwidth, one thread', value: `${(bandwidth / 1e9).toFixed(1)} GB/s` },
  {
    name: 'float32 decode',
    value: `${rate(exact).toFixed(1)} tokens/s`,
    note: `aim ≥ 65 % of the bandwidth ceiling: ${((100 * rate(exact)) / ceiling).toFixed(0)} %`,
  },
  {
    name: 'int8 decode',
    value: `${rate(eight).toFixed(1)} tokens/s`,
    note: `${(rate(eight) / rate(exact)).toFixed(2)} × float32`,
  },
  {
    name: 'int4 decode',
    value: `${rate(four).toFixed(1)} tokens/s`,
    note: `aim ≥ 2.5 × float32: ${(rate(four) / rate(exact)).toFixed(2)} ×`,
  },
  ...(
    [
      ['float32', exact],
      ['int8', eight],
      ['int4', four],
    ] as const
  ).flatMap(([name, speeds]): Finding[] => [
    { name: `${name} prefill`, value: `${speeds.prefillTokensPerSecond.toFixed(0)} tokens/s` },
    {
      name: `${name}, 4 candidates over 1`,
      value: `${speeds.fourOverOne.toFixed(2)} ×`,
      note: `aim < 1.6; prompt and answers together; one decoding step ${speeds.fourRowStep.toFixed(2)} ×`,
    },
    {
      name: `${name}, load and memory`,
      value: `${speeds.loadSeconds.toFixed(1)} s, ${(speeds.residentBytes / 1e6).toFixed(0)} MB`,
    },
  ]),
  {
    name: 'a prompt that grew by a line',
    value: `${exact.grown.computed} tokens computed`,
    note: `${exact.grown.added} tokens were added`,
  },
];
process.stdout.write(
  `${terminalTable(rows, [
    text('what', ({ name }) => name),
    number('figure', ({ value }) => value),
    text('', ({ note }) => note ?? ''),
  ])}\n`,
);
