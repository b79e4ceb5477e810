/**
 * `npm run shape [-- <checkout> …]`: a table of size, layers and repetition, one column per checkout (default: this one).
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type Node, Visitor } from 'oxc-parser';
import { repeatedLines } from './duplication.js';
import { circles, fileGraph, floors, folderGraph, readModules, type SourceModule } from './module-graph.js';

interface Shape {
  readonly [measure: string]: string;
}

function shapeOf(checkout: string): Shape {
  const modules = readModules(checkout, ['src', 'finetune']);
  const lines = modules.map(({ text }) => lineCount(text)).toSorted((a, b) => a - b);
  const functions = modules.flatMap(functionsOf).toSorted((a, b) => b.lines - a.lines);
  const folders = new Map<string, number>();
  for (const { path } of modules) folders.set(dirname(path), (folders.get(dirname(path)) ?? 0) + 1);
  const largest = [...folders].toSorted(([, a], [, b]) => b - a)[0]!;
  const fileCircles = circles(fileGraph(modules));
  const folderCircles = circles(folderGraph(modules));
  const repeated = repeatedLines(modules);
  return {
    files: String(modules.length),
    lines: String(sum(lines)),
    'lines of comments': String(sum(modules.map(({ text }) => commentLines(text)))),
    'non-null assertions': String(sum(modules.map(({ program }) => assertions(program)))),
    'median lines per file': String(lines[Math.floor(lines.length / 2)]),
    'longest file': `${lines.at(-1)}`,
    'files over 300 lines': String(lines.filter((count) => count > 300).length),
    'longest function': `${functions[0]!.lines} (${functions[0]!.name})`,
    'functions over 60 lines': String(functions.filter((one) => one.lines > 60).length),
    folders: String(folders.size),
    'most files in a folder': `${largest[1]} (${largest[0]})`,
    'import cycles of files (files in them)': `${fileCircles.length} (${sum(fileCircles.map(({ length }) => length))})`,
    'import cycles of folders (folders in them)': `${folderCircles.length} (${sum(folderCircles.map(({ length }) => length))})`,
    'layers of files': String(floors(fileGraph(modules))),
    'layers of folders': String(floors(folderGraph(modules))),
    'repeated lines': String(repeated),
    'generated lines committed': String(generatedLines(checkout)),
  };
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

const commentLines = (text: string) => text.split('\n').filter((line) => /^\s*(\/[/*]|\*)/.test(line)).length;

function assertions(program: Node): number {
  let count = 0;
  new Visitor({ TSNonNullExpression: () => void count++ }).visit(program as Parameters<Visitor['visit']>[0]);
  return count;
}

/** Number of lines in generated schemas and in rows of experiments. */
function generatedLines(checkout: string): number {
  const files = execFileSync('git', ['ls-files', 'configs/*.json', 'bench/rows'], {
    cwd: checkout,
    encoding: 'utf8',
  });
  return sum(
    files
      .split('\n')
      .filter((file) => /\.jsonl?$/.test(file))
      .map((file) => lineCount(readFileSync(join(checkout, file), 'utf8'))),
  );
}

const lineCount = (text: string) => text.split('\n').length - 1;

/** The functions with a body, including methods and arrow functions, with their numbers of lines. */
function functionsOf({ path, text, program }: SourceModule): readonly { name: string; lines: number }[] {
  const found: { name: string; lines: number }[] = [];
  const add = (node: Node & { readonly start: number; readonly end: number }) => {
    const before = text.slice(0, node.start).split('\n');
    const name = /(?:function\*?|const|get|set|async)?\s*([\w#$]+)\s*(?:=|\(|$)/.exec(
      `${before.at(-1)}${text.slice(node.start, node.start + 80).split('\n')[0]}`,
    )?.[1];
    found.push({
      name: `${path}:${before.length}${name === undefined ? '' : ` ${name}`}`,
      lines: text.slice(node.start, node.end).split('\n').length,
    });
  };
  new Visitor({ FunctionDeclaration: add, FunctionExpression: add, ArrowFunctionExpression: add }).visit(
    program as Parameters<Visitor['visit']>[0],
  );
  return found;
}

const checkouts = process.argv.slice(2).map((path) => resolve(path));
const shapes = (checkouts.length > 0 ? checkouts : [resolve(import.meta.dirname, '../..')]).map(shapeOf);
const heads = checkouts.length > 0 ? checkouts.map((path) => basename(path)) : ['now'];
const rows = Object.keys(shapes[0]!).map((measure) => [measure, ...shapes.map((shape) => shape[measure]!)]);
const table = [['measure', ...heads], ['---', ...heads.map(() => '---')], ...rows];
process.stdout.write(`${table.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n`);
