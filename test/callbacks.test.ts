/**
 * Array methods pass the index as the second argument, and a function with an optional second parameter takes it:
 * `returns.map(standardDeviation)` measured the spread of group i around i. No array method is given such a function.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Node, type ParameterDeclaration, SyntaxKind } from 'typescript/unstable/ast';
import * as is from 'typescript/unstable/ast/is';
import { API, type Project, SignatureKind, type Type } from 'typescript/unstable/sync';
import { expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');

/** Methods whose callbacks get one argument for the value (two in `reduce`), and more for its position. */
const methods = /^(map|flatMap|filter|forEach|some|every|find(Last)?(Index)?|from(Async)?|reduce(Right)?)$/;

function nameOf(callee: Node): string {
  if (is.isPropertyAccessExpression(callee)) return callee.name.text;
  return is.isElementAccessExpression(callee) ? callee.argumentExpression.getText().slice(1, -1) : '';
}

/** Calls of array methods with a callback that is declared elsewhere; `taken`: its arguments for values. */
function passedIn(file: Node) {
  const found: { readonly call: Node; readonly callback: Node; readonly taken: number }[] = [];
  const visit = (node: Node): void => {
    if (is.isCallExpression(node)) {
      const name = nameOf(node.expression);
      const callback = node.arguments[name.startsWith('from') ? 1 : 0];
      if (
        callback &&
        methods.test(name) &&
        !is.isArrowFunction(callback) &&
        !is.isFunctionExpression(callback)
      )
        found.push({ call: node, callback, taken: name.startsWith('reduce') ? 2 : 1 });
    }
    node.forEachChild(visit);
  };
  visit(file);
  return found;
}

const takesMore = ({ dotDotDotToken, initializer, questionToken }: ParameterDeclaration, extra: boolean) =>
  dotDotDotToken !== undefined || (extra && (questionToken ?? initializer) !== undefined);

function parametersOf(declaration: Node | undefined): readonly ParameterDeclaration[] {
  const parameters: ParameterDeclaration[] = [];
  declaration?.forEachChild((child) => {
    if (child.kind === SyntaxKind.Parameter) parameters.push(child as ParameterDeclaration);
  });
  return parameters;
}

/** The member types of a union; for any other type, the type itself. */
function membersOf(type: Type | undefined): readonly Type[] {
  if (type === undefined) return [];
  return type.isUnionType() ? type.getTypes().flatMap((member) => membersOf(member)) : [type];
}

function faultyCalls({ checker, program }: Project, file: string): readonly string[] {
  const passed = passedIn(program.getSourceFile(file)!);
  const types = checker.getTypeAtLocation(passed.map(({ callback }) => callback));
  return passed
    .filter(({ taken }, i) =>
      membersOf(types[i])
        .flatMap((type) => checker.getSignaturesOfType(type, SignatureKind.Call))
        .some(({ declaration }) =>
          parametersOf(declaration?.resolve()).some((parameter, at) => takesMore(parameter, at >= taken)),
        ),
    )
    .map(({ call }) => call.getText());
}

/** The faulty calls in the files of a project that `chosen` accepts. */
function faultyIn(config: string, chosen: (file: string) => boolean): readonly string[] {
  const api = new API({ cwd: root });
  try {
    const project = api.updateSnapshot({ openProjects: [config] }).getProject(config)!;
    const files = project.program.getSourceFileNames().filter(chosen);
    expect(files).not.toEqual([]);
    return files.flatMap((file) => faultyCalls(project, file));
  } finally {
    api.close();
  }
}

it.each(['tsconfig.json', 'src/web/app/tsconfig.json'])(
  'no array method in src or finetune passes an index to an optional parameter of a named function (%s)',
  (config) => {
    const folders = ['src', 'finetune'].map((folder) => `${join(root, folder)}/`);
    const isOurs = (file: string) =>
      file.endsWith('.ts') && folders.some((folder) => file.startsWith(folder));
    expect(faultyIn(join(root, config), isOurs)).toEqual([]);
  },
  300_000,
);

it('the check finds named callbacks whose optional or rest parameters would get an index', () => {
  const wrong =
    "list.map(f) list.filter(g) list['flatMap'](tools.g) Array.from(list,h) ['1'].map(parseInt) list.reduce(sum) " +
    'list.map(list[0]?f:g) Float64Array.from(list,f) list.map(Math.max)';
  const right =
    "list.map(plain) list.map(indexed) list.map((x)=>f(x)) list.map(String) list.toSorted(f) ['1'].map(Number)";
  const text = `
    declare function f(values: number, centre?: number): number;
    const g = (value: number, digits = 2) => value + digits;
    const h = (...values: number[]) => values.length;
    const plain = (value: number) => value;
    const indexed = (value: number, index: number) => value + index;
    const sum = (a: number, b: number, scale = 1) => a + b * scale;
    const [list, tools] = [[1, 2], { f, g }];
    ${`${wrong} ${right}`.replaceAll(' ', ';\n')}`;
  const folder = mkdtempSync(join(tmpdir(), 'callbacks-'));
  const config = join(folder, 'tsconfig.json');
  writeFileSync(join(folder, 'a.ts'), text);
  writeFileSync(
    config,
    JSON.stringify({ compilerOptions: { target: 'es2023', types: [] }, files: ['a.ts'] }),
  );
  try {
    expect(faultyIn(config, (file) => file.endsWith('/a.ts'))).toEqual(wrong.split(' '));
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 300_000);
