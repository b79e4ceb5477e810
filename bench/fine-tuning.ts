/**
 * `node dist/bench/fine-tuning.js [directory] [turns] [tokens]`: measures a training step on one thread, with a model
 * of Qwen2.5-0.5B's shape and random weights (2 GB, written to the directory if missing). LoRA of rank 8 on q, k, v and
 * o learns one example of 256 tokens (or the given number), 64 of them in the reply. Compares the step with its matrix
 * products alone and, if POLICYLOOP_PYTHON has them, with PyTorch + PEFT. All take turns; each row shows the minima.
 */
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { writeRandomModel } from '../scripts/random-model.js';
import { packageRoot } from '../src/base/package.js';
import { terminalTable } from '../src/base/text/table.js';
import { Contender } from './contender.js';
import type { StepTime } from './training-step.js';

const [threads, tokens, completion] = ['1', process.argv[4] ?? '256', '64'];

const directory = process.argv[2] ?? join(tmpdir(), 'policyloop-qwen2.5-0.5b-f32');
const turns = Number(process.argv[3] ?? 3);
if (!existsSync(join(directory, 'model.safetensors'))) writeRandomModel('qwen2.5-0.5b', directory, 'F32');
const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const ours = (quantization: string) =>
  new Contender<StepTime>(process.execPath, [
    join(import.meta.dirname, 'training-step.js'),
    directory,
    quantization,
    threads,
    tokens,
    completion,
  ]);
const torch = (dtype: string) =>
  new Contender<StepTime>(python, [
    join(packageRoot(), 'bench', 'torch-lora.py'),
    join(directory, 'config.json'),
    dtype,
    threads,
    tokens,
    completion,
  ]);
interface Asked {
  readonly name: string;
  readonly contender: Contender<StepTime>;
  readonly what: 'step' | 'products';
}

const times = new Map<string, StepTime[]>();
// Measured in the first turn, because the products need a second copy of their matrices.
const peaks = new Map<string, number>();

/** Runs the contenders in turns; the first turn warms them up. All of them are in memory at once. */
async function alternate(asked: readonly Asked[]): Promise<void> {
  for (const { name } of asked) times.set(name, []);
  for (let turn = 0; turn <= turns; turn++)
    for (const { name, contender, what } of asked) {
      const time = await contender.ask(what);
      if (time === undefined) continue;
      if (turn > 0) times.get(name)!.push(time);
      if (!peaks.has(name)) peaks.set(name, time.peakBytes);
    }
  for (const { contender } of asked) contender.close();
}

/** True unless the CPU is known to lack bf16 instructions; with emulated bf16, a step takes minutes. */
function computesBf16(): boolean {
  return (
    !existsSync('/proc/cpuinfo') ||
    /\b(avx512_bf16|amx_bf16|bf16)\b/.test(readFileSync('/proc/cpuinfo', 'utf8'))
  );
}

const names = { step: 'step, float32', products: 'its matrix products alone' } as const;
await alternate([
  { name: names.step, contender: ours('none'), what: 'step' },
  { name: 'step, int8 products (method.compute)', contender: ours('compute'), what: 'step' },
  ...(computesBf16()
    ? [{ name: 'PyTorch + PEFT, bf16 autocast', contender: torch('bfloat16'), what: 'step' } as const]
    : []),
]);
await alternate([
  { name: names.products, contender: ours('none'), what: 'products' },
  { name: 'PyTorch + PEFT, float32', contender: torch('float32'), what: 'step' },
  { name: 'step, int4 weights', contender: ours('int4'), what: 'step' },
  { name: 'step, int8 weights', contender: ours('int8'), what: 'step' },
]);

const least = (name: string, of: (time: StepTime) => number) => Math.min(...times.get(name)!.map(of));
const cost = (name: string) => least(name, ({ processorSeconds }) => processorSeconds);
const step = cost(names.step);
function noteOf(name: string): string {
  if (name === names.step) return 'target ≤ 3.5 GiB';
  if (name === names.products)
    return `${((100 * cost(name)) / step).toFixed(0)} % of the step (target ≥ 80 %)`;
  return `${(cost(name) / step).toFixed(2)} × our float32 step`;
}
const rows = [...times].map(([name, measured]) => {
  if (measured.length === 0) return [name, '–', '–', '–', `${python} has no torch or peft`];
  return [
    name,
    `${cost(name).toFixed(2)} s`,
    `${least(name, ({ seconds }) => seconds).toFixed(2)} s`,
    name === names.products ? '' : `${(peaks.get(name)! / 2 ** 30).toFixed(2)} GiB`,
    noteOf(name),
  ];
});
process.stdout.write(
  `${terminalTable(
    rows,
    ['what', 'processor time', 'wall time', 'peak memory', ''].map((title, i) => ({
      title,
      kind: i > 0 && i < 4 ? ('number' as const) : ('text' as const),
      cell: (row: readonly string[]) => row[i],
    })),
  )}\n`,
);
