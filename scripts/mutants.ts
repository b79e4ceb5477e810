/**
 * Changes random expressions of the core, one at a time, and runs the tests of their room: do the tests notice?
 * Run: npm run mutants [-- --count 200 --seed 1 --room statistics]
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { parseSync, Visitor } from 'oxc-parser';
import { packageRoot } from '../src/base/package.js';
import { createGenerator } from '../src/base/random/generator.js';

/** Sources of a room, and the tests that must notice. */
const rooms: Readonly<Record<string, readonly [sources: readonly string[], tests: readonly string[]]>> = {
  statistics: [['src/statistics'], ['test/statistics/*.test.ts']],
  rollout: [['src/rollout'], ['test/rollout/*.test.ts', 'test/experiment/*.test.ts']],
  policies: [['src/policies'], ['test/policies/**/*.test.ts']],
  answer: [['src/prompting/answer'], ['test/prompting/answer/*.test.ts']],
  budget: [['src/proposers/budget.ts'], ['test/proposers/*.test.ts', 'test/experiment/**/*.test.ts']],
  advantages: [['finetune/rl/advantages.ts', 'finetune/rl/credit.ts'], ['test/finetune/rl/*.test.ts']],
  objectives: [['finetune/train/objectives'], ['test/finetune/train/**/*.test.ts']],
};

/** Operators and what replaces them. */
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
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

/** All changes of a source: operators, numbers, booleans, negations and the branches of conditionals. */
function mutantsOf(room: string, file: string): readonly Mutant[] {
  const source = readFileSync(file, 'utf8');
  const found: Mutant[] = [];
  const add = (from: number, to: number, text: string) => found.push({ room, file, from, to, text });
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
    Literal({ end, start, value }) {
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
  },
});
const root = packageRoot();
const all = Object.entries(rooms)
  .filter(([room]) => values.room === undefined || room === values.room)
  .flatMap(([room, [sources]]) =>
    sources.flatMap((path) => filesOf(join(root, path))).flatMap((file) => mutantsOf(room, file)),
  );
const random = createGenerator(Number(values.seed));
const order = all.map((mutant) => ({ mutant, key: random.random() })).toSorted((a, b) => a.key - b.key);
const chosen = order.slice(0, Number(values.count)).map(({ mutant }) => mutant);

let survived = 0;
for (const [i, { room, ...mutant }] of chosen.entries()) {
  const tests = rooms[room]![1];
  const { status } = spawnSync(
    process.execPath,
    [
      join(root, 'node_modules/vitest/vitest.mjs'),
      'run',
      '--config',
      join(root, 'scripts/mutants.config.ts'),
    ],
    { cwd: root, env: { ...process.env, MUTANT: JSON.stringify({ ...mutant, tests }) }, timeout: 300_000 },
  );
  if (status !== 0) continue;
  survived++;
  const source = readFileSync(mutant.file, 'utf8');
  const line = source.slice(0, mutant.from).split('\n').length;
  const [before, text] = [source.slice(mutant.from, mutant.to), mutant.text];
  process.stdout.write(
    `${mutant.file.slice(root.length + 1)}:${line} survives: ${before} → ${text}  (${i + 1} tried)\n`,
  );
}
process.stdout.write(`${chosen.length - survived} of ${chosen.length} caught\n`);
