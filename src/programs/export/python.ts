/** Translates programs from JavaScript to Python. */
import type { AnyNode, MemberExpression } from 'acorn';
import { UserError } from '../../base/errors.js';
import { type FunctionNode, isFunction, lineAt, nodesIn, syntaxTree } from '../syntax.js';
import { indented, type Lines, pythonName, Untranslatable } from './python-code.js';
import { bind, expression, test } from './python-expressions.js';
import {
  createScope,
  declare,
  declaredBy,
  namesIn,
  type Scope,
  target,
  temporary,
  varsIn,
} from './python-scope.js';

/**
 * Translates the top level of a program: `act` and, if it declares them, `constants`.
 * @throws UserError that names what has no translation
 */
export function pythonLines(source: string): Lines {
  const script = syntaxTree(source);
  const nodes = [...nodesIn(script)];
  const top = createScope({
    own: new Set(nodes.flatMap(propertyNames)),
    callbacks: new Set(nodes.flatMap((node) => (node.type === 'CallExpression' ? node.arguments : []))),
    ...{ before: [], count: 0, define },
  });
  try {
    declare(script, varsIn(script), top);
    return [...top.visible.map((one) => `${pythonName(one)} = None`), ...block(script.body, top)];
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

/** Lines of statements in a block of their own. */
function block(statements: readonly AnyNode[], scope: Scope): Lines {
  const { visible } = scope;
  const functionsFirst = statements.toSorted((a, b) => rank(a) - rank(b));
  for (const node of functionsFirst) {
    if (node.type === 'FunctionDeclaration') declare(node, [node.id!.name], scope);
    if (node.type === 'VariableDeclaration' && node.kind !== 'var') declare(node, declaredBy(node), scope);
  }
  const lines = functionsFirst.flatMap((node) => prefixed(scope, () => statement(node, scope)));
  scope.visible = visible;
  return lines;
}

/** Lines, after the functions that they define. */
function prefixed({ shared }: Scope, write: () => Lines): Lines {
  const outer = shared.before;
  shared.before = [];
  const lines = write();
  const all = [...shared.before, ...lines];
  shared.before = outer;
  return all;
}

const body = (node: AnyNode, scope: Scope): Lines =>
  block(node.type === 'BlockStatement' ? node.body : [node], scope);

function loop(node: AnyNode, scope: Scope, onContinue: Lines = []): Lines {
  scope.loops.push(onContinue);
  const lines = body(node, scope);
  scope.loops.pop();
  return [...lines, ...onContinue];
}

function statement(node: AnyNode, scope: Scope): Lines {
  switch (node.type) {
    case 'EmptyStatement':
      return [];
    case 'BlockStatement':
      return body(node, scope);
    case 'FunctionDeclaration':
      if (scope.loops.length > 0) throw new Untranslatable(node);
      return define(node, pythonName(node.id!.name), scope);
    case 'VariableDeclaration':
      return node.declarations.flatMap(({ id, init }) => {
        if (id.type === 'Identifier' && isFunction(init) && scope.loops.length === 0)
          return define(init, target(id, scope), scope);
        return init || node.kind !== 'var'
          ? bind(id, init ? expression(init, scope) : { text: 'None' }, scope)
          : [];
      });
    case 'ExpressionStatement':
      return effect(node.expression, scope);
    case 'ReturnStatement':
      return [`return ${node.argument ? expression(node.argument, scope).text : 'None'}`];
    case 'IfStatement': {
      const then = [`if ${test(node.test, scope).text}:`, ...indented(body(node.consequent, scope))];
      if (!node.alternate) return then;
      const other = body(node.alternate, scope);
      // Python limits how deeply blocks are nested.
      const isChain = node.alternate.type === 'IfStatement' && other[0]!.startsWith('if ');
      return isChain ? [...then, `el${other[0]}`, ...other.slice(1)] : [...then, 'else:', ...indented(other)];
    }
    case 'WhileStatement':
      return [`while ${test(node.test, scope).text}:`, ...indented(loop(node.body, scope))];
    case 'ForStatement': {
      const { init, update } = node;
      const { visible } = scope;
      if (init?.type === 'VariableDeclaration' && init.kind !== 'var') declare(init, declaredBy(init), scope);
      const start = !init
        ? []
        : init.type === 'VariableDeclaration'
          ? statement(init, scope)
          : effect(init, scope);
      const condition = node.test ? test(node.test, scope).text : 'True';
      const lines = loop(node.body, scope, update ? effect(update, scope) : []);
      scope.visible = visible;
      return [...start, `while ${condition}:`, ...indented(lines)];
    }
    case 'ForOfStatement': {
      const { left } = node;
      const { visible } = scope;
      const [t, values] = [temporary(scope), expression(node.right, scope).text];
      if (left.type === 'VariableDeclaration' && left.kind !== 'var') declare(left, declaredBy(left), scope);
      const pattern = left.type === 'VariableDeclaration' ? left.declarations[0]!.id : left;
      const lines = [...bind(pattern, { text: t }, scope), ...loop(node.body, scope)];
      scope.visible = visible;
      return [`for ${t} in each(${values}):`, ...indented(lines)];
    }
    case 'BreakStatement':
    case 'ContinueStatement':
      if (node.label) throw new Untranslatable(node);
      return node.type === 'BreakStatement' ? ['break'] : [...scope.loops.at(-1)!, 'continue'];
    default:
      throw new Untranslatable(node);
  }
}

/** Lines of an expression whose value isn't used. */
function effect(node: AnyNode, scope: Scope): Lines {
  if (node.type === 'Literal') return [];
  if (node.type === 'SequenceExpression') return node.expressions.flatMap((part) => effect(part, scope));
  if (node.type === 'AssignmentExpression' && node.operator === '=')
    return bind(node.left, expression(node.right, scope), scope);
  const { text } = expression(node.type === 'UpdateExpression' ? { ...node, prefix: true } : node, scope);
  const isSet = node.type === 'UpdateExpression' || node.type === 'AssignmentExpression';
  return [isSet ? text.replace(/^\((\w+) := (.*)\)$/, '$1 = $2') : text];
}

function define(node: FunctionNode, name: string, parent: Scope): Lines {
  if (node.async || node.generator) throw new Untranslatable(node);
  const scope = createScope(parent.shared, parent);
  declare(node, node.params.flatMap(namesIn), scope);
  const start: string[] = [];
  const given = node.params.map((parameter) => {
    if (parameter.type === 'Identifier') return `${pythonName(parameter.name)}=None`;
    const t = temporary(scope);
    start.push(...prefixed(scope, () => bind(parameter, { text: t }, scope)));
    return `${t}=None`;
  });
  const variables = varsIn(node.body).filter((one) => !scope.declared.has(one));
  declare(node, variables, scope);
  const { body: content } = node;
  const lines =
    content.type === 'BlockStatement'
      ? block(content.body, scope)
      : prefixed(scope, () => [`return ${expression(content, scope).text}`]);
  const outer = [...scope.assigned].filter((one) => !scope.declared.has(one));
  for (const one of outer) parent.assigned.add(one);
  const all = [
    ...(outer.length > 0 ? [`nonlocal ${outer.map(pythonName).join(', ')}`] : []),
    ...variables.map((one) => `${pythonName(one)} = None`),
    ...[...start, ...lines],
  ];
  return [`def ${name}(${[...given, '*_'].join(', ')}):`, ...indented(all), ''];
}

/** Function declarations come first. */
const rank = ({ type }: AnyNode) => (type === 'FunctionDeclaration' ? 0 : 1);

function propertyNames(node: AnyNode): Lines {
  const isSet = node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression';
  const key =
    node.type === 'Property' ? node.key : isSet ? (node.left as MemberExpression).property : undefined;
  return key?.type === 'Identifier' ? [key.name] : [];
}
