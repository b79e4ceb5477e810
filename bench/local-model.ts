/**
 * `node dist/bench/local-model.js [directory]`: measures the local model on one thread, with a model of Qwen2.5-0.5B's
 * shape and random weights (2 GB, written to the directory if missing). Takes some minutes.
 * `LLAMA_BENCH=llama-bench node dist/bench/local-model.js model.gguf [directory quantization]`: compares the file here
 * and in llama.cpp, in turns; with a directory of the same shape, that directory here.
 */
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { writeRandomModel } from '../scripts/random-model.js';
import { number, terminalTable, text } from '../src/base/text/table.js';
import { readDecoderConfig } from '../src/models/local/families/hf-config.js';
import { decoderTensors } from '../src/models/local/graph/parameters.js';
import type { Quantization } from '../src/models/local/weights/quantization.js';
import type { Finding } from './finding.js';
import { besideLlama } from './llama-bench.js';
import { batchRates, batchSizes, measure, type Speeds } from './local-speeds.js';

/** Bytes per second that one thread reads, measured by comparing two equal buffers. */
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

/** Bytes of float32 weights that one decoded token must read. */
function weightBytes(path: string): number {
  const config = readDecoderConfig(path);
  return decoderTensors(config)
    .filter(({ name }) => config.tied || name !== 'model.embed_tokens.weight')
    .reduce((sum, { shape }) => sum + 4 * shape.reduce((a, b) => a * b, 1), 0);
}

async function shapeFindings(path: string): Promise<Finding[]> {
  if (!existsSync(join(path, 'model.safetensors'))) writeRandomModel('qwen2.5-0.5b', path, 'F32');
  const before = memoryBandwidth();
  const exact = await measure(path, 'none');
  const four = await measure(path, 'int4');
  const eight = await measure(path, 'int8');
  const long = await measure(path, 'int4-block128');
  const batches = [
    { kind: 'float32', rates: await batchRates(path, 'none') },
    { kind: 'int4', rates: await batchRates(path, 'int4') },
  ];
  const bandwidth = Math.max(before, memoryBandwidth());
  const ceiling = bandwidth / weightBytes(path);
  const rate = (speeds: Speeds) => 1 / speeds.decodeSecondsPerToken;
  return [
    { name: 'memory bandwidth, one thread', value: `${(bandwidth / 1e9).toFixed(1)} GB/s` },
    {
      name: 'float32 decode',
      value: `${rate(exact).toFixed(1)} tokens/s`,
      note: `target ≥ 65 % of the bandwidth ceiling: ${((100 * rate(exact)) / ceiling).toFixed(0)} %`,
    },
    {
      name: 'int8 decode',
      value: `${rate(eight).toFixed(1)} tokens/s`,
      note: `${(rate(eight) / rate(exact)).toFixed(2)} × float32`,
    },
    {
      name: 'int4-block128 decode',
      value: `${rate(long).toFixed(1)} tokens/s`,
      note: `${(rate(long) / rate(four)).toFixed(2)} × int4`,
    },
    {
      name: 'int4 decode',
      value: `${rate(four).toFixed(1)} tokens/s`,
      note: `target ≥ 2.5 × float32: ${(rate(four) / rate(exact)).toFixed(2)} ×`,
    },
    ...(
      [
        ['float32', exact],
        ['int8', eight],
        ['int4-block128', long],
        ['int4', four],
      ] as const
    ).flatMap(([name, speeds]): Finding[] => [
      { name: `${name} prefill`, value: `${speeds.prefillTokensPerSecond.toFixed(0)} tokens/s` },
      {
        name: `${name}, 4 candidates over 1`,
        value: `${speeds.fourOverOne.toFixed(2)} ×`,
        note: `target < 1.6, prompt and replies together; one decoding step ${speeds.fourRowStep.toFixed(2)} ×`,
      },
      {
        name: `${name}, load and memory`,
        value: `${speeds.loadSeconds.toFixed(1)} s, ${(speeds.residentBytes / 1e6).toFixed(0)} MB`,
      },
    ]),
    ...batches.flatMap(({ kind, rates }) =>
      batchSizes.slice(1).map((size, i): Finding => {
        const ratio = rates[i + 1]! / rates[0]!;
        return {
          name: `${kind}, ${size} prompts in one batch`,
          value: `${rates[i + 1]!.toFixed(1)} tokens/s`,
          note: `${ratio.toFixed(2)} × one`,
        };
      }),
    ),
    {
      name: 'a prompt with one more line',
      value: `${exact.grown.computed} tokens computed`,
      note: `${exact.grown.added} tokens were added`,
    },
  ];
}

const path = process.argv[2] ?? join(tmpdir(), 'policyloop-qwen2.5-0.5b-f32');
const llama = process.env.LLAMA_BENCH;
const own = { path: process.argv[3] ?? path, quantization: (process.argv[4] ?? 'none') as Quantization };
const rows = llama === undefined ? await shapeFindings(path) : await besideLlama(llama, path, own);
process.stdout.write(
  `${terminalTable(rows, [
    text('what', ({ name }) => name),
    number('figure', ({ value }) => value),
    text('', ({ note }) => note ?? ''),
  ])}\n`,
);
