/**
 * Changes random expressions of the core, one at a time, and checks that a test of their room fails.
 * Run: npm run mutants [-- --count 200 --seed 1 --room statistics --at src/statistics/tests.ts:26]
 */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';
import { BaseSequencer, createVitest, type TestSpecification } from 'vitest/node';
import { packageRoot } from '../src/base/package.js';
import { createGenerator } from '../src/base/random/generator.js';
import { common } from '../vitest.config.js';

/** Sources of a room, and its tests, at least one of which must fail. */
const rooms: Readonly<Record<string, readonly [sources: readonly string[], tests: readonly string[]]>> = {
  statistics: [['src/statistics'], ['test/statistics/*.test.ts']],
  rollout: [
    ['src/rollout'],
    [
      'test/rollout/**/*.test.ts',
      'test/environments/remote/openenv.test.ts',
      'test/agents/player.test.ts',
      'test/prompting/memory.test.ts',
      'test/proposers/random-and-hill-climb.test.ts',
      'test/experiment/{repeats,animations.long}.test.ts',
    ],
  ],
  policies: [
    ['src/policies'],
    ['test/policies/*.test.ts', 'test/policies/program/{library,machine}.test.ts'],
  ],
  answer: [['src/prompting/answer'], ['test/prompting/answer/!(*.long).test.ts']],
  budget: [
    ['src/proposers/budget.ts'],
    ['test/experiment/{ledger,limits,proposals/proposal}.test.ts', 'test/models/recorded-prices.test.ts'],
  ],
  advantages: [
    ['finetune/rl/advantages.ts', 'finetune/rl/credit.ts'],
    ['test/finetune/rl/{advantages,credit,improvement}.test.ts'],
  ],
  objectives: [
    ['finetune/train/objectives'],
    ['test/finetune/train/{objectives/*,policy-statistics,train-config}.test.ts'],
  ],
};

/** Operators and their replacements. */
const swapped: Readonly<Record<string, string>> = {
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '**': '*', '%': '*' },
  ...{
    '<': '<=',
    '<=': '<',
    '>': '>=',
    '>=': '>',
    '===': '!==',
    '!==': '===',
    '&&': '||',
    '||': '&&',
    '??': '&&',
  },
};

interface Mutant {
  readonly room: string;
  readonly file: string;
  readonly line: number;
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** All possible changes to a source, except in types: operators, numbers, booleans, negations and conditions. */
function mutantsOf(room: string, file: string): readonly Mutant[] {
  const source = readFileSync(file, 'utf8');
  const found: Mutant[] = [];
  const types = new Set<number>();
  const add = (from: number, to: number, text: string) =>
    found.push({ room, file, line: source.slice(0, from).split('\n').length, from, to, text });
  interface Part {
    readonly start: number;
    readonly end: number;
  }
  const operator = (node: { readonly left: Part; readonly right: Part; readonly operator: string }) => {
    const from = source.indexOf(node.operator, node.left.end);
    const other = swapped[node.operator];
    if (other !== undefined && from < node.right.start) add(from, from + node.operator.length, other);
  };
  new Visitor({
    BinaryExpression: operator,
    LogicalExpression: operator,
    TSLiteralType: ({ literal }) => types.add(literal.start),
    Literal({ end, start, value }) {
      if (types.has(start)) return;
      if (typeof value === 'number') add(start, end, `(${value} + 1)`);
      if (typeof value === 'boolean') add(start, end, String(!value));
    },
    UnaryExpression({ argument, end, operator: sign, start }) {
      if (sign === '!') add(start, end, source.slice(argument.start, argument.end));
    },
    ConditionalExpression: ({ test: { end, start } }) => add(start, end, `!(${source.slice(start, end)})`),
  }).visit(parseSync(file, source).program);
  return found;
}

/** The sources of a room: a file, or the files of a folder. */
const filesOf = (path: string): readonly string[] =>
  path.endsWith('.ts')
    ? [path]
    : readdirSync(path)
        .filter((name) => name.endsWith('.ts') && !name.startsWith('settings'))
        .map((name) => join(path, name));

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    room: { type: 'string' },
    at: { type: 'string' },
  },
});
const root = packageRoot();
const all = Object.entries(rooms)
  .filter(([room]) => values.room === undefined || room === values.room)
  .flatMap(([room, [sources]]) =>
    sources.flatMap((path) => filesOf(join(root, path))).flatMap((file) => mutantsOf(room, file)),
  )
  .filter(({ file, line }) => values.at === undefined || join(root, values.at) === `${file}:${line}`);
const random = createGenerator(Number(values.seed));
const order = all.map((mutant) => ({ mutant, key: random.random() })).toSorted((a, b) => a.key - b.key);
const chosen = order.slice(0, Number(values.count)).map(({ mutant }) => mutant);

/** Most changes make a test in a small file fail, so small files run first. */
class SmallFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const size = ({ moduleId }: TestSpecification) =>
      statSync(moduleId).size * (/\.(long|slow)\./.test(moduleId) ? 100 : 1);
    return files.toSorted((a, b) => size(a) - size(b));
  }
}

/** Prepares the tests of a room. @returns a function that runs them with a change, and one that closes the runner */
async function testsOf(room: string) {
  let change: Mutant | undefined;
  const mutant = {
    name: 'mutant',
    enforce: 'pre',
    transform: (code: string, id: string) =>
      id === change?.file ? code.slice(0, change.from) + change.text + code.slice(change.to) : undefined,
  } as const;
  const test = {
    ...common.test,
    include: [...rooms[room]![1]],
    exclude: ['test/**/!(evaluation-workers|trl).slow.test.ts'],
    ...{ pool: 'threads' as const, isolate: false, maxWorkers: 1, bail: 1, cache: false as const },
    ...{ sequence: { sequencer: SmallFirst }, reporters: [{}] },
  };
  const vitest = await createVitest(
    'test',
    { root, config: false, watch: false },
    { ...common, plugins: [mutant], test },
  );
  const files = await vitest.globTestSpecifications();
  /** A change may cause an endless loop, so the limit is derived from the time without a change. */
  let limitMs = 3_600_000;
  return {
    async run(next?: Mutant): Promise<'pass' | 'fail' | 'run too long'> {
      for (const one of [change, next]) if (one) vitest.invalidateFile(one.file);
      change = next;
      const start = performance.now();
      let isLate = false;
      // The second call ends a process that no longer responds.
      const stop = () => void vitest.cancelCurrentRun('keyboard-input');
      const timers = [limitMs, limitMs + 1000].map((ms) =>
        setTimeout(() => {
          isLate = true;
          stop();
        }, ms),
      );
      const { testModules, unhandledErrors } = await vitest.runTestSpecifications(files);
      for (const timer of timers) clearTimeout(timer);
      // On a busy machine, the thread of the tests may not start in time, whatever the change.
      if (unhandledErrors.some((error) => String(error).includes('Failed to start'))) return this.run(next);
      if (next === undefined) limitMs = 60_000 + 4 * (performance.now() - start);
      if (isLate) return 'run too long';
      return unhandledErrors.length === 0 && testModules.every((one) => one.ok()) ? 'pass' : 'fail';
    },
    end: () => vitest.close(),
  };
}

let survived = 0;
for (const room of new Set(chosen.map((mutant) => mutant.room))) {
  const mutants = chosen.filter((mutant) => mutant.room === room);
  const tests = await testsOf(room);
  if ((await tests.run()) !== 'pass') throw new Error(`the tests of ${room} fail without a change`);
  for (const [i, mutant] of mutants.entries()) {
    const result = await tests.run(mutant);
    if (result === 'fail') continue;
    if (result === 'pass') survived++;
    const { file, from, line, text, to } = mutant;
    const before = readFileSync(file, 'utf8').slice(from, to);
    // Tests that run too long may be in an endless loop, or the machine is busy.
    const place = `${file.slice(root.length + 1)}:${line}`;
    process.stdout.write(`${place}: tests ${result}: ${before} → ${text}  (${i + 1} tried)\n`);
  }
  await tests.end();
}
process.stdout.write(`${chosen.length - survived} of ${chosen.length} caught\n`);
