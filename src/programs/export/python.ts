/** Translates programs from JavaScript to Python. */
import type { AnyNode, Pattern } from 'acorn';
import { UserError } from '../../base/errors.js';
import { type FunctionNode, isFunction, lineAt, nodesIn, syntaxTree } from '../syntax.js';
import {
  binary,
  expression,
  keyOf,
  type Lines,
  logical,
  pythonName,
  type Scope,
  test,
  Untranslatable,
} from './python-expressions.js';

/**
 * Translates a whole program, including `act` and, if declared, `constants`.
 * @throws UserError that names the code that can't be translated
 */
export function pythonLines(source: string): Lines {
  const script = syntaxTree(source);
  try {
    return block(script.body, { visible: new Set(), own: new Set(), outer: new Set() });
  } catch (error) {
    if (!(error instanceof Untranslatable)) throw error;
    const { end, start } = error.node;
    const [text = ''] = source.slice(start, end).split('\n');
    const shown = text.length > 50 ? `${text.slice(0, 50)}…` : text;
    throw new UserError({
      message: `line ${lineAt(source, start)}: \`${shown}\` can't be translated to Python`,
      remedy: 'export it as JavaScript (--language js)',
    });
  }
}

/** The variables that a pattern assigns. */
function namesIn(pattern: Pattern): Lines {
  if (pattern.type === 'Identifier') return [pattern.name];
  if (pattern.type === 'AssignmentPattern') return namesIn(pattern.left);
  if (pattern.type === 'ArrayPattern') return pattern.elements.flatMap((part) => (part ? namesIn(part) : []));
  if (pattern.type !== 'ObjectPattern') return [];
  return pattern.properties.flatMap((part) => (part.type === 'Property' ? namesIn(part.value) : []));
}

function declaredBy(node: AnyNode): Lines {
  if (node.type === 'FunctionDeclaration') return [node.id!.name];
  return node.type === 'VariableDeclaration' ? node.declarations.flatMap(({ id }) => namesIn(id)) : [];
}

/** The scope of a block. In Python, blocks share their function's variables, so nested blocks need new names. */
function declaring(nodes: readonly AnyNode[], scope: Scope): Scope {
  const visible = new Set(scope.visible);
  for (const node of nodes) {
    for (const name of declaredBy(node)) {
      if (scope.isNested && visible.has(name)) throw new Untranslatable(node);
      visible.add(name);
      scope.own.add(name);
    }
  }
  return { ...scope, visible };
}

const indent = (line: string) => `    ${line}`;
const indented = (lines: Lines) => (lines.length > 0 ? lines : ['pass']).map(indent);

/** Translates statements, with function declarations first, because JavaScript hoists them. */
function block(statements: readonly AnyNode[], outer: Scope): Lines {
  const scope = declaring(statements, outer);
  const isLater = ({ type }: AnyNode) => Number(type !== 'FunctionDeclaration');
  return statements.toSorted((a, b) => isLater(a) - isLater(b)).flatMap((node) => statement(node, scope));
}

const nested = (node: AnyNode, scope: Scope): Lines =>
  indented(block(node.type === 'BlockStatement' ? node.body : [node], { ...scope, isNested: true }));

/** @param onContinue lines to run at the end of each iteration, also before `continue` */
const loop = (node: AnyNode, scope: Scope, onContinue: Lines = []): Lines => [
  ...nested(node, { ...scope, onContinue }),
  ...onContinue.map(indent),
];

function statement(node: AnyNode, scope: Scope): Lines {
  switch (node.type) {
    case 'EmptyStatement':
      return [];
    case 'FunctionDeclaration':
      return define(node, node.id!.name, scope);
    case 'VariableDeclaration':
      return node.declarations.flatMap(({ id, init }) => {
        if (id.type === 'Identifier' && isFunction(init)) return define(init, id.name, scope);
        // In JavaScript, `var` without a value keeps the value of the previous iteration.
        if (!init && node.kind === 'var' && scope.onContinue) throw new Untranslatable(node);
        return bind(id, init ? expression(init, scope).text : 'None', scope);
      });
    case 'ExpressionStatement':
      return effect(node.expression, scope);
    case 'ReturnStatement':
      return [`return ${node.argument ? expression(node.argument, scope).text : 'None'}`];
    case 'IfStatement': {
      const then = [`if ${test(node.test, scope).text}:`, ...nested(node.consequent, scope)];
      if (!node.alternate) return then;
      if (node.alternate.type !== 'IfStatement') return [...then, 'else:', ...nested(node.alternate, scope)];
      const [first, ...rest] = statement(node.alternate, scope);
      return [...then, `el${first}`, ...rest];
    }
    case 'WhileStatement':
      return [`while ${test(node.test, scope).text}:`, ...loop(node.body, scope)];
    case 'ForStatement': {
      const { init, update } = node;
      const own = declaring(init ? [init] : [], { ...scope, isNested: true });
      const start =
        init?.type === 'VariableDeclaration' ? statement(init, own) : init ? effect(init, own) : [];
      const condition = node.test ? test(node.test, own).text : 'True';
      return [...start, `while ${condition}:`, ...loop(node.body, own, update ? effect(update, own) : [])];
    }
    case 'ForOfStatement': {
      const { left, right } = node;
      const own = declaring([left], { ...scope, isNested: true });
      const pattern = left.type === 'VariableDeclaration' ? left.declarations[0]!.id : left;
      const lines = [...indented(bind(pattern, '_each', own)), ...loop(node.body, own)];
      return [`for _each in ${expression(right, scope).text}:`, ...lines];
    }
    case 'BreakStatement':
    case 'ContinueStatement':
      if (node.label) throw new Untranslatable(node);
      return node.type === 'BreakStatement' ? ['break'] : [...scope.onContinue!, 'continue'];
    default:
      throw new Untranslatable(node);
  }
}

/** Translates an expression whose value isn't used. */
function effect(node: AnyNode, scope: Scope): Lines {
  const read = (part: AnyNode) => expression(part, scope);
  if (node.type === 'SequenceExpression') return node.expressions.flatMap((part) => effect(part, scope));
  if (node.type === 'UpdateExpression') {
    const one = { text: '1.0', kind: 'number' } as const;
    const old = { text: `num(${read(node.argument).text})`, kind: 'number' } as const;
    return changed(node.argument, binary(node, node.operator.charAt(0), old, one).text, scope);
  }
  if (node.type !== 'AssignmentExpression') return [read(node).text];
  const { left, right } = node;
  const operator = node.operator.slice(0, -1);
  if (operator === '') return bind(left, read(right).text, scope);
  const combine = operator === '||' || operator === '??' ? logical : binary.bind(undefined, node);
  return changed(left, combine(operator, read(left), read(right)).text, scope);
}

/** Assigns a value computed from the old one. The target is evaluated twice, so it must not contain calls. */
function changed(place: AnyNode, text: string, scope: Scope): Lines {
  if ([...nodesIn(place)].some(({ type }) => type === 'CallExpression')) throw new Untranslatable(place);
  return bind(place, text, scope);
}

/** Assigns a value to the variables of a pattern. */
function bind(pattern: AnyNode, text: string, scope: Scope, depth = 0): Lines {
  const t = `_${depth}`;
  const parts = (lines: readonly Lines[]) => [`${t} = ${text}`, ...lines.flat()];
  const deeper = (part: AnyNode, value: string) => bind(part, value, scope, depth + 1);
  switch (pattern.type) {
    case 'Identifier':
      if (!scope.visible.has(pattern.name)) throw new Untranslatable(pattern);
      if (!scope.own.has(pattern.name)) scope.outer.add(pattern.name);
      return [`${pythonName(pattern.name)} = ${text}`];
    case 'MemberExpression':
      if (keyOf(pattern, scope) === '"length"') throw new Untranslatable(pattern.property);
      return [`put(${expression(pattern.object, scope).text}, ${keyOf(pattern, scope)}, ${text})`];
    case 'AssignmentPattern': {
      const other = expression(pattern.right, scope).text;
      return parts([deeper(pattern.left, `${other} if ${t} is None else ${t}`)]);
    }
    case 'ArrayPattern':
      return parts(pattern.elements.map((part, i) => (part ? deeper(part, `get(${t}, ${i}.0)`) : [])));
    case 'ObjectPattern':
      return parts(
        pattern.properties.map((part) => {
          if (part.type !== 'Property') throw new Untranslatable(part);
          return deeper(part.value, `get(${t}, ${keyOf(part, scope)})`);
        }),
      );
    default:
      throw new Untranslatable(pattern);
  }
}

function define(node: FunctionNode, name: string, parent: Scope): Lines {
  if (parent.isNested || node.async || node.generator) throw new Untranslatable(node);
  const names = node.params.flatMap(namesIn);
  const scope: Scope = {
    visible: new Set([...parent.visible, ...names]),
    own: new Set(names),
    outer: new Set(),
  };
  const start: Lines[] = [];
  const given = node.params.map((parameter, i) => {
    if (parameter.type === 'Identifier') return `${pythonName(parameter.name)}=None`;
    start.push(bind(parameter, `_p${i}`, scope));
    return `_p${i}=None`;
  });
  const lines =
    node.body.type === 'BlockStatement'
      ? block(node.body.body, scope)
      : [`return ${expression(node.body, scope).text}`];
  const outer = scope.outer.size > 0 ? [`nonlocal ${[...scope.outer].map(pythonName).join(', ')}`] : [];
  const all = [...outer, ...start.flat(), ...lines];
  return [`def ${pythonName(name)}(${[...given, '*_'].join(', ')}):`, ...indented(all), ''];
}
