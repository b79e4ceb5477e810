/**
 * `node dist/bench/reinforcement.js [--model PATH] [--turns 5] [--prompts 4] [--game 8] [--directory DIRECTORY]
 * [--rows FILE]`: measures a GRPO update on one thread, with 8 completions per prompt. With --model, the update trains a
 * LoRA adapter on that model, a directory or a GGUF file, in float32 and in int8. Without, it trains all weights of
 * models of one million and 30 million parameters with random weights, which are written to the directory. With --game,
 * each prompt is a game of `text:cooking` with this number of turns, and a reply has at most 8 tokens. TRL makes the
 * same updates if POLICYLOOP_PYTHON has it. All of them stay in memory and take turns; the table shows the best turn of
 * each, by processor time. With --rows, every turn after the first is appended to the file as a line of JSON.
 */
import { appendFileSync, existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { writeRandomModel } from '../scripts/random-model.js';
import { packageRoot } from '../src/base/package.js';
import { createGenerator } from '../src/base/random/generator.js';
import { terminalTable } from '../src/base/text/table.js';
import { cookingGame, cookingOptions } from '../src/environments/text/cooking/cooking.js';
import { Contender } from './contender.js';
import type { RlStepTime, RlTask } from './rl-step.js';

const { values: given } = parseArgs({
  options: {
    model: { type: 'string' },
    turns: { type: 'string', default: '5' },
    prompts: { type: 'string', default: '4' },
    game: { type: 'string' },
    rows: { type: 'string' },
    directory: { type: 'string', default: join(tmpdir(), 'policyloop-bench-rl-models') },
  },
});
const python = process.env.POLICYLOOP_PYTHON ?? 'python3';
const words = 'the car is at 0.31 and moves at 1.2; name one of left, right and none, and say why';
const prompts = Array.from({ length: Number(given.prompts) }, (_, i) => [`Task ${i + 1}: ${words}.`]);

/** Observations of games that are won along their gold paths. */
function cookingGames(count: number, turns: number): string[][] {
  const options = cookingOptions.parse({ rooms: 3, ingredients: 2, distractors: 2 });
  const games: string[][] = [];
  for (let seed = 0; games.length < count; seed++) {
    const game = cookingGame(options, createGenerator(seed));
    const said = [game.start(), ...game.gold!.map((command) => game.step(command).text)];
    if (said.length >= turns) games.push(said.slice(0, turns));
    else if (seed === 1000) throw new Error(`--game ${turns}: cooking games are shorter`);
  }
  return games;
}

const games = given.game === undefined ? prompts : cookingGames(prompts.length, Number(given.game));

/** A measured update. */
export interface SpeedRow extends RlStepTime {
  readonly model: string;
  readonly prompts: number;
  /** Messages per prompt; more than one in games. */
  readonly turns: number;
  readonly by: string;
  readonly turn: number;
}

type Method = RlTask['method'];

interface Comparison {
  readonly model: string;
  readonly completion: number;
  /** Our methods, each compared with TRL. */
  readonly methods: Readonly<Record<string, Method>>;
}

function ofRandomWeights(shape: 'llama-1m' | 'llama-30m'): Comparison {
  const model = join(given.directory, shape);
  if (!existsSync(join(model, 'model.safetensors'))) writeRandomModel(shape, model, 'F32');
  return { model, completion: 64, methods: { policyloop: { kind: 'full' } } };
}

const lora = (compute: 'float32' | 'int8'): Method => ({ kind: 'lora', compute });
const comparisons =
  given.model === undefined
    ? [ofRandomWeights('llama-1m'), ofRandomWeights('llama-30m')]
    : [
        {
          model: given.model,
          completion: given.game === undefined ? 32 : 8,
          methods: { policyloop: lora('float32'), 'policyloop, int8': lora('int8') },
        },
      ];

async function measure({
  model,
  completion,
  methods,
}: Comparison): Promise<Map<string, readonly RlStepTime[]>> {
  const task = (method: Method) =>
    JSON.stringify({ model, method, threads: 1, groupSize: 8, completion, games } satisfies RlTask);
  const ours = join(import.meta.dirname, 'rl-step.js');
  const trl = join(packageRoot(), 'bench', 'trl-grpo.py');
  const contenders = Object.entries(methods).map(
    ([name, method]) => [name, new Contender<RlStepTime>(process.execPath, [ours, task(method)])] as const,
  );
  const [first = lora('float32')] = Object.values(methods);
  contenders.push(['TRL', new Contender<RlStepTime>(python, [trl, task(first)])]);
  const times = new Map<string, RlStepTime[]>();
  // The first turn warms up.
  for (let turn = 0; turn <= Number(given.turns); turn++)
    for (const [name, contender] of contenders) {
      const time = await contender.ask('step');
      if (time === undefined || turn === 0) continue;
      times.set(name, [...(times.get(name) ?? []), time]);
      const row: SpeedRow = {
        model: basename(model),
        prompts: games.length,
        turns: games[0]!.length,
        by: name,
        turn,
        ...time,
      };
      if (given.rows !== undefined) appendFileSync(given.rows, `${JSON.stringify(row)}\n`);
    }
  for (const [, contender] of contenders) contender.close();
  return times;
}

const best = (times: readonly RlStepTime[], of: (time: RlStepTime) => number) => Math.max(...times.map(of));
const sampling = (times: readonly RlStepTime[]) =>
  best(times, (time) => time.sampledTokens / time.samplingSeconds);
const updating = (times: readonly RlStepTime[]) =>
  best(times, (time) => time.trainedTokens / time.updateSeconds);

const rows: (readonly string[])[] = [];
for (const comparison of comparisons) {
  const name = basename(comparison.model);
  const measured = await measure(comparison);
  const reference = measured.get('TRL');
  if (reference === undefined) process.stderr.write(`${name}: ${python} has no trl, or no peft\n`);
  for (const [contender, times] of measured) {
    const share = (of: typeof sampling) =>
      reference === undefined || contender === 'TRL' ? '' : `${(of(times) / of(reference)).toFixed(2)} ×`;
    rows.push([
      name,
      contender,
      sampling(times).toFixed(0),
      share(sampling),
      updating(times).toFixed(0),
      share(updating),
      `${Math.min(...times.map(({ seconds }) => seconds)).toFixed(2)} s`,
      best(times, ({ peakGB }) => peakGB).toFixed(1),
    ]);
  }
}
const titles = ['model', 'by', 'sampled tokens/s', '÷ TRL', 'updated tokens/s', '÷ TRL', 'per update', 'GB'];
process.stdout.write(
  `${terminalTable(
    rows,
    titles.map((title, i) => ({
      title,
      kind: i > 1 ? ('number' as const) : ('text' as const),
      cell: (row: readonly string[]) => row[i],
    })),
  )}\n`,
);
