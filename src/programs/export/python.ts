/** Translates programs from JavaScript to Python. */
import type { AnyNode, Pattern } from 'acorn';
import { UserError } from '../../base/errors.js';
import { type FunctionNode, isFunction, lineAt, nodesIn, syntaxTree } from '../syntax.js';
import {
  asNumber,
  binary,
  type Code,
  expression,
  float,
  helpers,
  keyOf,
  type Lines,
  logical,
  type Scope,
  test,
  Untranslatable,
} from './python-expressions.js';

const reserved = new Set(
  (
    'and as assert async await break class continue def del elif except finally for from global import in is lambda ' +
    'nonlocal not or pass raise with yield None True False math float int isinstance list dict Observation program'
  ).split(' '),
);

/**
 * Translates the top level of a program: `act` and, if it declares them, `constants`.
 * @throws UserError that names what has no translation
 */
export function pythonLines(source: string): Lines {
  const script = syntaxTree(source);
  try {
    const scope: Scope = { visible: new Map(), own: new Set(), outer: new Set(), before: [], define };
    return block(script.body, scope);
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

/** Gives a variable a name of its own in its function, so that a block can't change those around it. */
function declare(name: string, { own, visible }: Scope): string {
  const base = name.replaceAll('$', 'S').replace(/^_/, 'u_');
  const taken = [...visible.values()];
  let text = base;
  for (let i = 2; own.has(text) || taken.includes(text) || reserved.has(text) || helpers.has(text); i++)
    text = `${base}_${i}`;
  visible.set(name, text);
  own.add(text);
  return text;
}

function assigned(node: AnyNode & { name: string }, { outer, own, visible }: Scope): string {
  const name = visible.get(node.name);
  if (name === undefined) throw new Untranslatable(node);
  if (!own.has(name)) outer.add(name);
  return name;
}

/** The variables that a pattern assigns. */
function namesIn(pattern: Pattern): Lines {
  if (pattern.type === 'Identifier') return [pattern.name];
  if (pattern.type === 'AssignmentPattern') return namesIn(pattern.left);
  if (pattern.type === 'ArrayPattern') return pattern.elements.flatMap((part) => (part ? namesIn(part) : []));
  if (pattern.type !== 'ObjectPattern') return [];
  return pattern.properties.flatMap((part) => (part.type === 'Property' ? namesIn(part.value) : []));
}

const declaredBy = (node: AnyNode): Lines =>
  node.type === 'VariableDeclaration' ? node.declarations.flatMap(({ id }) => namesIn(id)) : [];

const indented = (lines: Lines) => (lines.length > 0 ? lines : ['pass']).map((line) => `    ${line}`);
const inner = (scope: Scope): Scope => ({ ...scope, visible: new Map(scope.visible) });

function block(statements: readonly AnyNode[], outer: Scope): Lines {
  const scope = inner(outer);
  const isFirst = (node: AnyNode) => node.type === 'FunctionDeclaration';
  const functions = statements.filter(isFirst);
  for (const node of functions) if (node.type === 'FunctionDeclaration') declare(node.id!.name, scope);
  for (const node of statements) for (const name of declaredBy(node)) declare(name, scope);
  return [...functions, ...statements.filter((node) => !isFirst(node))].flatMap((node) => {
    const before: string[] = [];
    const lines = statement(node, { ...scope, before });
    return [...before, ...lines];
  });
}

const body = (node: AnyNode, scope: Scope): Lines =>
  block(node.type === 'BlockStatement' ? node.body : [node], scope);

function statement(node: AnyNode, scope: Scope): Lines {
  switch (node.type) {
    case 'EmptyStatement':
      return [];
    case 'BlockStatement':
      return body(node, scope);
    case 'FunctionDeclaration':
      return define(node, assigned(node.id!, scope), scope);
    case 'VariableDeclaration':
      return node.declarations.flatMap(({ id, init }) => {
        if (id.type === 'Identifier' && isFunction(init)) return define(init, assigned(id, scope), scope);
        // In JavaScript, `var` keeps the value of the turn before.
        if (!init && node.kind === 'var' && scope.onContinue) throw new Untranslatable(node);
        return bind(id, init ? expression(init, scope).text : 'None', scope);
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
      return [
        `while ${test(node.test, scope).text}:`,
        ...indented(body(node.body, { ...scope, onContinue: [] })),
      ];
    case 'ForStatement': {
      const own = inner(scope);
      const { init, update } = node;
      for (const name of init ? declaredBy(init) : []) declare(name, own);
      const start =
        init?.type === 'VariableDeclaration' ? statement(init, own) : init ? effect(init, own) : [];
      const condition = node.test ? test(node.test, own).text : 'True';
      const onContinue = update ? effect(update, own) : [];
      const lines = [...body(node.body, { ...own, onContinue }), ...onContinue];
      return [...start, `while ${condition}:`, ...indented(lines)];
    }
    case 'ForOfStatement': {
      const own = inner(scope);
      const { left, right } = node;
      const values = expression(right, scope).text;
      for (const name of declaredBy(left)) declare(name, own);
      const pattern = left.type === 'VariableDeclaration' ? left.declarations[0]!.id : left;
      const lines = [...bind(pattern, '_each', own), ...body(node.body, { ...own, onContinue: [] })];
      return [`for _each in ${values}:`, ...indented(lines)];
    }
    case 'BreakStatement':
    case 'ContinueStatement':
      if (node.label) throw new Untranslatable(node);
      return node.type === 'BreakStatement' ? ['break'] : [...scope.onContinue!, 'continue'];
    default:
      throw new Untranslatable(node);
  }
}

/** Lines of an expression whose value isn't used. */
function effect(node: AnyNode, scope: Scope): Lines {
  const read = (part: AnyNode) => expression(part, scope);
  switch (node.type) {
    case 'SequenceExpression':
      return node.expressions.flatMap((part) => effect(part, scope));
    case 'UpdateExpression': {
      const old: Code = { text: asNumber(read(node.argument)), kind: 'number' };
      return changed(node.argument, binary(node, node.operator.charAt(0), old, float(1)), scope);
    }
    case 'AssignmentExpression': {
      const { left, right } = node;
      const operator = node.operator.slice(0, -1);
      if (operator === '') return bind(left, read(right).text, scope);
      const isLogical = operator === '||' || operator === '??';
      const value = isLogical
        ? logical(operator, read(left), read(right))
        : binary(node, operator, read(left), read(right));
      return changed(left, value, scope);
    }
    default:
      return [read(node).text];
  }
}

/** Assigns a value made of the old one; so the place is evaluated twice. */
function changed(place: Pattern | AnyNode, { text }: Code, scope: Scope): Lines {
  if ([...nodesIn(place)].some(({ type }) => type === 'CallExpression')) throw new Untranslatable(place);
  return bind(place, text, scope);
}

/** Assigns a value to the variables of a pattern. */
function bind(pattern: AnyNode, text: string, scope: Scope, depth = 0): Lines {
  const t = `_${depth}`;
  const deeper = (part: AnyNode, value: string) => bind(part, value, scope, depth + 1);
  switch (pattern.type) {
    case 'Identifier':
      return [`${assigned(pattern, scope)} = ${text}`];
    case 'MemberExpression': {
      const { computed, object, property: key } = pattern;
      if (!computed && key.type === 'Identifier' && key.name === 'length') throw new Untranslatable(key);
      return [`put(${expression(object, scope).text}, ${keyOf({ computed, key }, scope)}, ${text})`];
    }
    case 'AssignmentPattern': {
      const other = expression(pattern.right, scope).text;
      return [`${t} = ${text}`, ...deeper(pattern.left, `${other} if ${t} is None else ${t}`)];
    }
    case 'ArrayPattern':
      return [
        `${t} = ${text}`,
        ...pattern.elements.flatMap((part, i) => (part ? deeper(part, `get(${t}, ${i}.0)`) : [])),
      ];
    case 'ObjectPattern':
      return [
        `${t} = ${text}`,
        ...pattern.properties.flatMap((part) => {
          if (part.type !== 'Property') throw new Untranslatable(part);
          return deeper(part.value, `get(${t}, ${keyOf(part, scope)})`);
        }),
      ];
    default:
      throw new Untranslatable(pattern);
  }
}

function define(node: FunctionNode, name: string, parent: Scope): Lines {
  // In Python, the functions that a loop makes share its variables.
  if (node.async || node.generator || parent.onContinue) throw new Untranslatable(node);
  const visible = new Map(parent.visible);
  const scope: Scope = { visible, own: new Set(), outer: new Set(), before: [], define };
  const start: string[] = [];
  const given = node.params.map((parameter, i) => {
    if (parameter.type === 'Identifier') return `${declare(parameter.name, scope)}=None`;
    for (const one of namesIn(parameter)) declare(one, scope);
    start.push(...bind(parameter, `_p${i}`, scope));
    return `_p${i}=None`;
  });
  const { body: content } = node;
  const lines = [
    ...start,
    ...(content.type === 'BlockStatement'
      ? block(content.body, scope)
      : [`return ${expression(content, scope).text}`]),
  ];
  const outer = scope.outer.size > 0 ? [`nonlocal ${[...scope.outer].join(', ')}`] : [];
  return [
    `def ${name}(${[...given, '*_'].join(', ')}):`,
    ...indented([...outer, ...scope.before, ...lines]),
    '',
  ];
}
