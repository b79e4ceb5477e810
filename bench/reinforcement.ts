/**
 * `node dist/bench/reinforcement.js [directory] [turns] [model]`: cost of a GRPO update on one thread, for models of one
 * million and 30 million parameters with random weights (written to the directory): 4 groups of 8 completions of at most
 * 64 tokens, all weights, one step. Alternates with TRL if POLICYLOOP_PYTHON has it; reports minima of processor time.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { writeRandomModel } from '../scripts/random-model.js';
import { packageRoot } from '../src/base/package.js';
import { terminalTable } from '../src/format/table.js';
import { Contender } from './contender.js';
import type { RlStepTime } from './rl-step.js';

const folder = process.argv[2] ?? join(tmpdir(), 'policyloop-bench-rl-models');
const turns = Number(process.argv[3] ?? 5);
const only = process.argv[4] as (typeof sizes)[number]['shape'] | undefined;
const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const sizes = [
  { shape: 'llama-1m', aim: 3 },
  { shape: 'llama-30m', aim: 1 },
] as const;
const settings = ['1', '4', '8', '64'];

mkdirSync(folder, { recursive: true });
const prompts = join(folder, 'prompts.json');
const words = 'the car is at 0.31 and moves at 1.2; name one of left, right and none, and say why';
writeFileSync(prompts, JSON.stringify(['a', 'b', 'c', 'd'].map((name) => `Task ${name}: ${words}.`)));

async function measure(shape: (typeof sizes)[number]['shape']): Promise<Map<string, readonly RlStepTime[]>> {
  const directory = join(folder, shape);
  if (!existsSync(join(directory, 'model.safetensors'))) writeRandomModel(shape, directory, 'F32');
  const ours = join(import.meta.dirname, 'rl-step.js');
  const trl = join(packageRoot(), 'bench', 'trl-grpo.py');
  const given = [directory, ...settings, prompts];
  const contenders = [
    ['policyloop', new Contender<RlStepTime>(process.execPath, [ours, ...given])],
    ['TRL', new Contender<RlStepTime>(python, [trl, ...given])],
  ] as const;
  const times = new Map<string, RlStepTime[]>();
  // The first turn warms up.
  for (let turn = 0; turn <= turns; turn++)
    for (const [name, contender] of contenders) {
      const time = await contender.ask('step');
      if (time !== undefined && turn > 0) times.set(name, [...(times.get(name) ?? []), time]);
    }
  for (const [, contender] of contenders) contender.close();
  return times;
}

const best = (times: readonly RlStepTime[], of: (time: RlStepTime) => number) => Math.max(...times.map(of));
const rows: (readonly string[])[] = [];
for (const { shape, aim } of sizes.filter((one) => [one.shape, undefined].includes(only))) {
  const measured = await measure(shape);
  const speed = (name: string) => best(measured.get(name) ?? [], (time) => time.sampledTokens / time.seconds);
  for (const [name, times] of measured) {
    const rest = ({ samplingSeconds, seconds, updateSeconds }: RlStepTime) =>
      (100 * (seconds - samplingSeconds - updateSeconds)) / seconds;
    rows.push([
      shape,
      name,
      best(times, (time) => time.sampledTokens / time.samplingSeconds).toFixed(0),
      best(times, (time) => time.trainedTokens / time.updateSeconds).toFixed(0),
      `${Math.min(...times.map(rest)).toFixed(1)} %`,
      `${Math.min(...times.map(({ seconds }) => 1000 * seconds)).toFixed(0)} ms`,
      name === 'TRL' ? '' : `${(speed(name) / speed('TRL')).toFixed(2)} × TRL (aim ≥ ${aim})`,
    ]);
  }
  if (!measured.has('TRL')) process.stderr.write(`${shape}: ${python} has no trl\n`);
}
const titles = ['model', 'by', 'sampled tokens/s', 'updated tokens/s', 'neither', 'update', ''];
process.stdout.write(
  `${terminalTable(
    rows,
    titles.map((title, i) => ({
      title,
      kind: i > 1 && i < 6 ? ('number' as const) : ('text' as const),
      cell: (row: readonly string[]) => row[i],
    })),
  )}\n`,
);
