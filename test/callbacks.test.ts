/**
 * Array methods pass the index as the second argument, and a function with an optional second parameter takes it:
 * `returns.map(standardDeviation)` measured the spread of group i around i. No array method is given such a function.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type CallExpression,
  type Node,
  type ParameterDeclaration,
  type SourceFile,
  SyntaxKind,
} from 'typescript/unstable/ast';
import {
  isArrowFunction,
  isCallExpression,
  isElementAccessExpression,
  isFunctionExpression,
  isPropertyAccessExpression,
} from 'typescript/unstable/ast/is';
import { API, type Project, SignatureKind, type Type } from 'typescript/unstable/sync';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** How many arguments a callback is meant to take; the method passes more. */
const meant: ReadonlyMap<string, number> = new Map([
  ...[
    'map',
    'flatMap',
    'filter',
    'forEach',
    'some',
    'every',
    'find',
    'findIndex',
    'findLast',
    'findLastIndex',
    'from',
    'fromAsync',
  ].map((name) => [name, 1] as const),
  ['reduce', 2],
  ['reduceRight', 2],
]);

interface Passed {
  readonly call: CallExpression;
  readonly callback: Node;
  readonly taken: number;
}

function nameOf(callee: Node): string {
  if (isPropertyAccessExpression(callee)) return callee.name.text;
  return isElementAccessExpression(callee) ? callee.argumentExpression.getText().slice(1, -1) : '';
}

const isFunction = (node: Node) => isArrowFunction(node) || isFunctionExpression(node);

function passedIn(file: SourceFile): readonly Passed[] {
  const found: Passed[] = [];
  const visit = (node: Node): void => {
    if (isCallExpression(node)) {
      const name = nameOf(node.expression);
      const callback = node.arguments[name.startsWith('from') ? 1 : 0];
      const taken = meant.get(name);
      // An inline function was written for this call.
      if (taken !== undefined && callback !== undefined && !isFunction(callback))
        found.push({ call: node, callback, taken });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

/** True if the parameter takes what a method passes in addition to the `taken` arguments that are meant. */
const takesMore = (
  { dotDotDotToken, initializer, questionToken }: ParameterDeclaration,
  i: number,
  taken: number,
) => dotDotDotToken !== undefined || (i >= taken && (questionToken ?? initializer) !== undefined);

/** The calls of array methods in these files whose callback has optional parameters that the method fills. */
function faultyCalls({ checker, program }: Project, files: readonly string[]): readonly string[] {
  return files.flatMap((file) => {
    const source = program.getSourceFile(file);
    if (source === undefined) throw new Error(`no source of ${file}`);
    const passed = passedIn(source);
    const types = checker.getTypeAtLocation(passed.map(({ callback }) => callback));
    return passed
      .filter(({ taken }, i) =>
        membersOf(types[i])
          .flatMap((type) => checker.getSignaturesOfType(type, SignatureKind.Call))
          .some(({ declaration }) =>
            parametersOf(declaration?.resolve()).some((parameter, at) => takesMore(parameter, at, taken)),
          ),
      )
      .map(({ call }) => `${file}: ${call.getText(source)}`);
  });
}

/** The types of which a union consists; any other type itself. */
function membersOf(type: Type | undefined): readonly Type[] {
  if (type === undefined) return [];
  return type.isUnionType() ? type.getTypes().flatMap((member) => membersOf(member)) : [type];
}

function parametersOf(declaration: Node | undefined): readonly ParameterDeclaration[] {
  const parameters: ParameterDeclaration[] = [];
  declaration?.forEachChild((child) => {
    if (child.kind === SyntaxKind.Parameter) parameters.push(child as ParameterDeclaration);
  });
  return parameters;
}

/** Calls `use` with the project of a tsconfig.json. */
function inspect<T>(config: string, use: (project: Project) => T): T {
  const api = new API({ cwd: root });
  try {
    const snapshot = api.updateSnapshot({ openProjects: [config] });
    const project = snapshot.getProject(config);
    if (project === undefined) throw new Error(`no project ${config}`);
    return use(project);
  } finally {
    api.close();
  }
}

it.each(['tsconfig.json', 'src/web/app/tsconfig.json'])(
  'no array method fills an optional parameter (%s)',
  (config) => {
    inspect(join(root, config), (project) => {
      const folders = ['src', 'finetune'].map((folder) => `${join(root, folder)}/`);
      const files = project.program
        .getSourceFileNames()
        .filter((file) => folders.some((folder) => file.startsWith(folder)) && !file.endsWith('.json'));
      expect(files.length).toBeGreaterThan(20);
      expect(faultyCalls(project, files)).toEqual([]);
    });
  },
  300_000,
);

it('finds callbacks with optional parameters, wherever they are declared', () => {
  const folder = mkdtempSync(join(tmpdir(), 'callbacks-'));
  const text = `
    declare function f(values: number, centre?: number): number;
    const g = (value: number, digits = 2) => value + digits;
    const h = (...values: number[]) => values.length;
    const plain = (value: number) => value;
    const indexed = (value: number, index: number) => value + index;
    const tools = { f, g };
    const sum = (a: number, b: number, scale = 1) => a + b * scale;
    const list = [1, 2];
    export const wrong = [
      list.map(f), list.filter(g), list['flatMap'](tools.g), Array.from(list, h), ['1'].map(parseInt),
      list.reduce(sum), list.map(list.length > 1 ? f : g), Float64Array.from(list, f), list.map(Math.max),
    ];
    export const right = [
      list.map(plain), list.map(indexed), list.map((value) => f(value)), list.map(String), list.toSorted(f),
      ['1'].map(Number), list.filter(Boolean),
    ];
  `;
  writeFileSync(join(folder, 'a.ts'), text);
  const config = join(folder, 'tsconfig.json');
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { target: 'es2023', types: [] }, files: ['a.ts'] }),
  );
  try {
    inspect(config, (project) => {
      const found = faultyCalls(project, [join(folder, 'a.ts')]);
      expect(found.map((line) => line.slice(line.indexOf(': ') + 2))).toEqual([
        'list.map(f)',
        'list.filter(g)',
        "list['flatMap'](tools.g)",
        'Array.from(list, h)',
        "['1'].map(parseInt)",
        'list.reduce(sum)',
        'list.map(list.length > 1 ? f : g)',
        'Float64Array.from(list, f)',
        'list.map(Math.max)',
      ]);
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 300_000);
