/** Translates programs from JavaScript to Python. */
import type { AnyNode, MemberExpression, Pattern, Property } from 'acorn';
import { UserError } from '../../base/errors.js';
import { packageText } from '../../base/package.js';
import { childrenOf, type FunctionNode, isFunction, lineAt, nodesIn, syntaxTree } from './syntax.js';

/** A Python expression; `kind` is the type that its value is known to have. */
interface Code {
  readonly text: string;
  readonly kind?: 'number' | 'boolean' | 'string' | undefined;
  /** True if it needs parentheses within another expression. */
  readonly isOpen?: boolean;
}

/** A function's variables, or the program's. */
interface Scope {
  readonly parent?: Scope;
  /** In the current block and the blocks around it; in Python, blocks share the variables of their function. */
  visible: readonly string[];
  readonly declared: Set<string>;
  /** Variables of outer functions. */
  readonly foreign: Set<string>;
  readonly assigned: Set<string>;
  /** For each loop around the current statement, what `continue` does first. */
  readonly loops: (readonly string[])[];
}

type Node<T extends AnyNode['type']> = Extract<AnyNode, { type: T }>;
type Lines = readonly string[];

/** Helpers by name. */
const helpers = new Map(
  packageText('src/policies/programs/helpers.py')
    .split(/\n+(?=\w)/)
    .slice(1)
    .map((text) => [/^(?:def |class )?(\w+)/.exec(text)![1]!, text.trimEnd()]),
);

/** The definitions of the helpers that the code uses, and of those that they use. */
export function helpersFor(code: string): Lines {
  const found = new Set<string>();
  const follow = (text: string): void => {
    for (const [name] of text.matchAll(/[a-zA-Z]\w*/g)) {
      if (!helpers.has(name) || found.has(name)) continue;
      found.add(name);
      follow(helpers.get(name)!);
    }
  };
  follow(code);
  return [...helpers].flatMap(([name, text]) => (found.has(name) ? [text] : []));
}

const reserved = new Set([
  ...'and as assert async await break class continue def del elif except finally for from global import in is'.split(
    ' ',
  ),
  ...'lambda nonlocal not or pass raise with yield None True False math float int list program policy'.split(
    ' ',
  ),
]);
function pythonName(name: string): string {
  const isTaken = reserved.has(name) || helpers.has(name) || /^(t|arrow)\d+$|[_$]$/.test(name);
  return `${name.replaceAll('$', 'S_')}${isTaken ? '_' : ''}`;
}

const calculated = /^(?:a?(?:sin|cos|tan)h?|exp|expm1|sqrt|log|log2|log10|log1p)$/;
const rounded = /^(?:floor|ceil|trunc)$/;
const statics: Readonly<Record<string, string>> = {
  Math: 'math',
  Object: 'object',
  Array: 'array',
  Number: 'number',
};
const functions: Readonly<Record<string, readonly [string, Code['kind']]>> = {
  ...{ Number: ['num', 'number'], String: ['text', 'string'], Boolean: ['truthy', 'boolean'] },
  ...{ isNaN: ['isNaN', 'boolean'], isFinite: ['isFinite', 'boolean'] },
};
const arithmetic: Readonly<Record<string, string>> = { '/': 'div', '%': 'rem', '**': 'math_pow' };

const indented = (lines: Lines) => (lines.length > 0 ? lines : ['pass']).map((line) => `    ${line}`);
const open = (text: string, kind?: Code['kind']): Code => ({ text, kind, isOpen: true });
const call = (name: string, given: Lines, kind?: Code['kind']) => ({
  text: `${name}(${given.join(', ')})`,
  kind,
});
const within = ({ text, isOpen }: Code) => (isOpen ? `(${text})` : text);
const asNumber = (code: Code) => (code.kind === 'number' ? within(code) : `num(${code.text})`);
const asTest = (code: Code) => (code.kind === 'boolean' ? code : call('truthy', [code.text], 'boolean'));
const quoted = (text: string): Code => ({ text: JSON.stringify(text), kind: 'string' });

function float(value: number): Code {
  const text = String(value).replace('Infinity', 'math.inf').replace('NaN', 'math.nan');
  return { text: /[.e]/.test(text) ? text : `${text}.0`, kind: 'number', isOpen: value < 0 };
}

/**
 * Translates the top level of a program: `act` and, if it declares them, `constants`.
 * @throws UserError that names what has no translation
 */
export function pythonLines(source: string): Lines {
  const script = syntaxTree(source);
  const nodes = [...nodesIn(script)];
  /** Properties that the program defines itself. */
  const own = new Set(nodes.flatMap((node) => propertyNames(node)));
  const callbacks = new Set(nodes.flatMap((node) => (node.type === 'CallExpression' ? node.arguments : [])));
  /** Definitions that come before the current statement. */
  let before: string[] = [];
  let count = 0;
  const temporary = () => `t${++count}`;

  function unsupported(node: AnyNode): UserError {
    const [text = ''] = source.slice(node.start, node.end).split('\n');
    const shown = text.length > 50 ? `${text.slice(0, 50)}…` : text;
    return new UserError({
      message: `line ${lineAt(source, node.start)}: \`${shown}\` can't be translated to Python`,
      remedy: 'export it as JavaScript (--language js)',
    });
  }

  function isKnown(name: string, { declared, foreign, parent, visible }: Scope): boolean {
    if (visible.includes(name)) return true;
    if (parent === undefined || !isKnown(name, parent)) return false;
    foreign.add(name);
    return !declared.has(name);
  }

  function declare(node: AnyNode, names: Lines, scope: Scope): void {
    for (const name of names) {
      if (scope.visible.includes(name) || scope.foreign.has(name)) throw unsupported(node);
      scope.visible = [...scope.visible, name];
      scope.declared.add(name);
    }
  }

  function target(node: Node<'Identifier'>, scope: Scope): string {
    if (!isKnown(node.name, scope)) throw unsupported(node);
    scope.assigned.add(node.name);
    return pythonName(node.name);
  }

  function expression(node: AnyNode, scope: Scope): Code {
    const read = (part: AnyNode) => expression(part, scope);
    switch (node.type) {
      case 'Literal':
        if (typeof node.value === 'number') return float(node.value);
        if (typeof node.value === 'string') return quoted(node.value);
        if (typeof node.value === 'boolean') return { text: node.value ? 'True' : 'False', kind: 'boolean' };
        if (node.raw !== 'null') throw unsupported(node);
        return { text: 'null' };
      case 'TemplateLiteral': {
        const texts = node.quasis.map(({ value }) => quoted(value.cooked ?? '').text);
        const values = node.expressions.map((part) => `text(${read(part).text})`);
        return open(texts.flatMap((text, i) => [text, ...values.slice(i, i + 1)]).join(' + '), 'string');
      }
      case 'Identifier':
        if (isKnown(node.name, scope)) return { text: pythonName(node.name) };
        if (node.name === 'undefined') return { text: 'None' };
        if (node.name !== 'NaN' && node.name !== 'Infinity') throw unsupported(node);
        return float(Number(node.name));
      case 'ArrayExpression':
        return { text: `[${listed(node.elements, scope)}]` };
      case 'ObjectExpression': {
        const items = node.properties.map((property) => {
          if (property.type !== 'Property' || property.kind !== 'init') throw unsupported(property);
          const key = keyOf(property, scope);
          return `${property.computed ? `text(${key})` : key}: ${read(property.value).text}`;
        });
        return { text: `{${items.join(', ')}}` };
      }
      case 'UnaryExpression':
        return unary(node, scope);
      case 'UpdateExpression': {
        const [sign, inverse] = node.operator === '++' ? ['+', '-'] : ['-', '+'];
        const { text } = changed(node.argument, (old) => open(`num(${old}) ${sign} 1.0`, 'number'), scope);
        return node.prefix ? { text, kind: 'number' } : open(`${text} ${inverse} 1.0`, 'number');
      }
      case 'BinaryExpression':
        return binary(node, node.operator, read(node.left), read(node.right));
      case 'LogicalExpression':
        return logical(node.operator, read(node.left), read(node.right));
      case 'ConditionalExpression': {
        const [condition, then, other] = [
          test(node.test, scope),
          read(node.consequent),
          read(node.alternate),
        ];
        const kind = then.kind === other.kind ? then.kind : undefined;
        return open(`${within(then)} if ${condition.text} else ${other.text}`, kind);
      }
      case 'AssignmentExpression': {
        const { left, right } = node;
        const operator = node.operator.slice(0, -1);
        if (operator === '') return changed(left, () => read(right), scope);
        if (/[&|?]{2}/.test(operator))
          return logical(
            operator,
            read(left),
            changed(left, () => read(right), scope),
          );
        return changed(left, (text) => binary(node, operator, { text }, read(right)), scope);
      }
      case 'MemberExpression':
      case 'CallExpression':
        return link(node, scope, []);
      case 'ChainExpression': {
        const guards: string[] = [];
        const { text } = link(node.expression, scope, guards);
        return open(`None if ${guards.join(' or ')} else ${text}`);
      }
      case 'NewExpression':
        return node.callee.type === 'Identifier' ? global(node, node.callee.name, scope) : read(node.callee);
      case 'FunctionExpression':
      case 'ArrowFunctionExpression': {
        // In Python, the functions that a loop makes share its variables, so none may outlive its turn.
        if (node.id || (scope.loops.length > 0 && !callbacks.has(node))) throw unsupported(node);
        const name = `arrow${++count}`;
        before.push(...define(node, name, scope));
        return { text: name };
      }
      default:
        throw unsupported(node);
    }
  }

  const listed = (parts: readonly (AnyNode | null)[], scope: Scope): string =>
    parts
      .map((part) => {
        if (part?.type === 'SpreadElement') return `*each(${expression(part.argument, scope).text})`;
        return part === null ? 'None' : expression(part, scope).text;
      })
      .join(', ');

  function keyOf(
    { computed, key }: Pick<Property, 'computed' | 'key'> | { computed: boolean; key: AnyNode },
    scope: Scope,
  ) {
    if (computed) return expression(key, scope).text;
    if (key.type === 'Identifier') return quoted(key.name).text;
    if (key.type !== 'Literal') throw unsupported(key);
    return quoted(String(key.value)).text;
  }

  function test(node: AnyNode, scope: Scope): Code {
    if (node.type !== 'LogicalExpression' || node.operator === '??') return asTest(expression(node, scope));
    const [left, right] = [test(node.left, scope), test(node.right, scope)];
    return open(`${within(left)} ${node.operator === '&&' ? 'and' : 'or'} ${within(right)}`, 'boolean');
  }

  function unary(node: Node<'UnaryExpression'>, scope: Scope): Code {
    const { argument, operator } = node;
    if (operator === '!') return open(`not ${within(test(argument, scope))}`, 'boolean');
    const value = expression(argument, scope);
    if (operator === '-') return open(`-${asNumber(value)}`, 'number');
    if (operator === '+') return { text: asNumber(value), kind: 'number' };
    if (operator === 'typeof') return call('kind', [value.text], 'string');
    throw unsupported(node);
  }

  function binary(node: AnyNode, operator: string, a: Code, b: Code): Code {
    const areNumbers = a.kind === 'number' && b.kind === 'number';
    const isText = a.kind === 'string' || b.kind === 'string';
    const given = [a.text, b.text];
    const plain = (sign: string) => open(`${within(a)} ${sign} ${within(b)}`, 'boolean');
    switch (operator) {
      case '+':
        if (!areNumbers) return call('add', given, isText ? 'string' : undefined);
        return { ...plain('+'), kind: 'number' };
      case '-':
      case '*':
        return open(`${asNumber(a)} ${operator} ${asNumber(b)}`, 'number');
      case '/':
      case '%':
      case '**':
        return call(arithmetic[operator]!, given, 'number');
      case '<':
      case '>':
      case '<=':
      case '>=':
        return areNumbers ? plain(operator) : call('compare', [a.text, `"${operator}"`, b.text], 'boolean');
      case '===':
      case '!==':
        if (areNumbers || isText) return plain(operator.slice(0, 2));
        return open(`${operator === '!==' ? 'not ' : ''}same(${given.join(', ')})`, 'boolean');
      case '==':
      case '!=':
        return open(`${operator === '!=' ? 'not ' : ''}loose(${given.join(', ')})`, 'boolean');
      case 'in':
        return call('has', given, 'boolean');
      default:
        throw unsupported(node);
    }
  }

  function logical(operator: string, a: Code, b: Code): Code {
    const t = temporary();
    const first = `${operator === '??' ? 'nullish' : 'truthy'}(${t} := ${within(a)})`;
    const [then, other] = operator === '||' ? [t, within(b)] : [within(b), t];
    return open(`${then} if ${first} else ${other}`, a.kind === b.kind ? a.kind : undefined);
  }

  /** A property or a call. @param guards collects the tests of `?.` */
  function link(node: AnyNode, scope: Scope, guards: string[]): Code {
    const guarded = (part: AnyNode, isOptional: boolean): string => {
      const isLink = part.type === 'MemberExpression' || part.type === 'CallExpression';
      const value = isLink ? link(part, scope, guards) : expression(part, scope);
      if (!isOptional) return value.text;
      const t = temporary();
      guards.push(`nullish(${t} := ${within(value)})`);
      return t;
    };
    if (node.type === 'MemberExpression') {
      const { computed, object, optional, property: key } = node;
      const value = staticOf(node, scope);
      if (typeof value === 'number') return float(value);
      if (value !== undefined || helpers.has(methodOf(node))) throw unsupported(node);
      return call('get', [guarded(object, optional), keyOf({ computed, key }, scope)]);
    }
    if (node.type !== 'CallExpression') throw unsupported(node);
    const { callee, optional } = node;
    if (callee.type === 'Identifier' && !isKnown(callee.name, scope)) return global(node, callee.name, scope);
    const given = () => [listed(node.arguments, scope)].filter(Boolean);
    if (callee.type !== 'MemberExpression') return call(guarded(callee, optional), given());
    const known = staticOf(callee, scope);
    if (known !== undefined) {
      const [room, name = ''] = String(known).split('_');
      if (room !== 'math' && helpers.has(String(known))) return call(String(known), given());
      if (calculated.test(name)) return call('calculated', [`math.${name}`, ...given()], 'number');
      if (rounded.test(name)) return call('rounded', [`math.${name}`, ...given()], 'number');
      if (!helpers.has(String(known))) throw unsupported(callee);
      return call(String(known), given(), 'number');
    }
    const method = methodOf(callee);
    if (method === '') return call(guarded(callee, optional), given());
    if (optional || !helpers.has(method)) throw unsupported(callee);
    return call(method, [guarded(callee.object, callee.optional), ...given()]);
  }

  /** The helper for a method, whether it exists or not; empty for what the program defines itself. */
  function methodOf({ computed, property }: MemberExpression): string {
    const isOwn = computed || property.type !== 'Identifier' || own.has(property.name);
    return isOwn ? '' : `js_${property.name}`;
  }

  /** The number `Math.PI`, or `math_max` for `Math.max`; undefined for the program's own objects. */
  function staticOf(
    { computed, object, property }: MemberExpression,
    scope: Scope,
  ): number | string | undefined {
    if (object.type !== 'Identifier' || isKnown(object.name, scope)) return undefined;
    const room = statics[object.name];
    if (room === undefined || computed || property.type !== 'Identifier') throw unsupported(object);
    const value: unknown = Reflect.get(room === 'math' ? Math : Number, property.name);
    return typeof value === 'number' && room !== 'array' ? value : `${room}_${property.name}`;
  }

  /** A call of a function that JavaScript provides. */
  function global(node: Node<'CallExpression' | 'NewExpression'>, name: string, scope: Scope): Code {
    const [argument, ...more] = node.arguments;
    if (argument === undefined || more.length > 0 || isKnown(name, scope)) throw unsupported(node);
    const given = expression(argument, scope);
    if (name === 'Array') return call('array_of_length', [given.text]);
    const [helper, kind] = (node.type === 'CallExpression' && functions[name]) || [];
    if (helper === undefined) throw unsupported(node);
    return call(helper, [given.text], kind);
  }

  /** The object and the key of a property that is written. */
  function place({ computed, object, property: key }: MemberExpression, scope: Scope): Lines {
    if (!computed && key.type === 'Identifier' && key.name === 'length') throw unsupported(key);
    return [expression(object, scope).text, keyOf({ computed, key }, scope)];
  }

  /** Assigns what `make` makes of the old value. */
  function changed(node: AnyNode, make: (old: string) => Code, scope: Scope): Code {
    if (node.type === 'Identifier') {
      const name = target(node, scope);
      const { kind, text } = make(name);
      return { text: `(${name} := ${text})`, kind };
    }
    if (node.type !== 'MemberExpression') throw unsupported(node);
    const given = place(node, scope);
    const { kind, text } = make(`get(${given.join(', ')})`);
    // The place may be evaluated twice.
    if ([node.object, node.property].some(hasEffects)) throw unsupported(node);
    return call('put', [...given, text], kind);
  }

  /** Assigns a value to the variables of a pattern. */
  function bind(pattern: Pattern, { text }: Code, scope: Scope): Lines {
    if (pattern.type === 'Identifier') return [`${target(pattern, scope)} = ${text}`];
    if (pattern.type === 'MemberExpression') return [`put(${[...place(pattern, scope), text].join(', ')})`];
    const t = temporary();
    const start = `${t} = ${text}`;
    switch (pattern.type) {
      case 'AssignmentPattern': {
        const other = within(expression(pattern.right, scope));
        return [start, ...bind(pattern.left, { text: `${other} if ${t} is None else ${t}` }, scope)];
      }
      case 'ArrayPattern':
        return [
          `${t} = each(${text})`,
          ...pattern.elements.flatMap((part, i) =>
            part ? bind(part, { text: `get(${t}, ${i}.0)` }, scope) : [],
          ),
        ];
      case 'ObjectPattern': {
        const parts = pattern.properties.flatMap((part) => {
          if (part.type !== 'Property') throw unsupported(part);
          return bind(part.value, { text: `get(${t}, ${keyOf(part, scope)})` }, scope);
        });
        return [start, ...parts];
      }
      default:
        throw unsupported(pattern);
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
    const lines = functionsFirst.flatMap((node) => prefixed(() => statement(node, scope)));
    scope.visible = visible;
    return lines;
  }

  /** Lines, after the functions that they define. */
  function prefixed(write: () => Lines): Lines {
    const outer = before;
    before = [];
    const lines = write();
    const all = [...before, ...lines];
    before = outer;
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
        if (scope.loops.length > 0) throw unsupported(node);
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
        return isChain
          ? [...then, `el${other[0]}`, ...other.slice(1)]
          : [...then, 'else:', ...indented(other)];
      }
      case 'WhileStatement':
        return [`while ${test(node.test, scope).text}:`, ...indented(loop(node.body, scope))];
      case 'ForStatement': {
        const { init, update } = node;
        const { visible } = scope;
        if (init?.type === 'VariableDeclaration' && init.kind !== 'var')
          declare(init, declaredBy(init), scope);
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
        const [t, values] = [temporary(), expression(node.right, scope).text];
        if (left.type === 'VariableDeclaration' && left.kind !== 'var')
          declare(left, declaredBy(left), scope);
        const pattern = left.type === 'VariableDeclaration' ? left.declarations[0]!.id : left;
        const lines = [...bind(pattern, { text: t }, scope), ...loop(node.body, scope)];
        scope.visible = visible;
        return [`for ${t} in each(${values}):`, ...indented(lines)];
      }
      case 'BreakStatement':
      case 'ContinueStatement':
        if (node.label) throw unsupported(node);
        return node.type === 'BreakStatement' ? ['break'] : [...scope.loops.at(-1)!, 'continue'];
      default:
        throw unsupported(node);
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
    if (node.async || node.generator) throw unsupported(node);
    const scope: Scope = {
      parent,
      visible: [],
      ...{ declared: new Set(), foreign: new Set(), assigned: new Set() },
      loops: [],
    };
    declare(node, node.params.flatMap(namesIn), scope);
    const start: string[] = [];
    const given = node.params.map((parameter) => {
      if (parameter.type === 'Identifier') return `${pythonName(parameter.name)}=None`;
      const t = temporary();
      start.push(...prefixed(() => bind(parameter, { text: t }, scope)));
      return `${t}=None`;
    });
    const variables = varsIn(node.body).filter((one) => !scope.declared.has(one));
    declare(node, variables, scope);
    const { body: content } = node;
    const lines =
      content.type === 'BlockStatement'
        ? block(content.body, scope)
        : prefixed(() => [`return ${expression(content, scope).text}`]);
    const outer = [...scope.assigned].filter((one) => !scope.declared.has(one));
    for (const one of outer) parent.assigned.add(one);
    const all = [
      ...(outer.length > 0 ? [`nonlocal ${outer.map(pythonName).join(', ')}`] : []),
      ...variables.map((one) => `${pythonName(one)} = None`),
      ...[...start, ...lines],
    ];
    return [`def ${name}(${[...given, '*_'].join(', ')}):`, ...indented(all), ''];
  }

  const top: Scope = {
    visible: [],
    ...{ declared: new Set(), foreign: new Set(), assigned: new Set() },
    loops: [],
  };
  declare(script, varsIn(script), top);
  return [...top.visible.map((one) => `${pythonName(one)} = None`), ...block(script.body, top)];
}

/** Function declarations come first. */
const rank = ({ type }: AnyNode) => (type === 'FunctionDeclaration' ? 0 : 1);

function propertyNames(node: AnyNode): Lines {
  const isSet = node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression';
  const key =
    node.type === 'Property' ? node.key : isSet ? (node.left as MemberExpression).property : undefined;
  return key?.type === 'Identifier' ? [key.name] : [];
}

/** True if evaluating the expression twice could differ from evaluating it once. */
const hasEffects = (node: AnyNode): boolean =>
  [...nodesIn(node)].some(({ type }) => /^(Update|Assignment|New|Call|Function|Arrow)/.test(type));

/** The variables that a pattern assigns. */
function namesIn(pattern: Pattern): Lines {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'ArrayPattern':
      return pattern.elements.flatMap((part) => (part ? namesIn(part) : []));
    case 'ObjectPattern':
      return pattern.properties.flatMap((part) => (part.type === 'Property' ? namesIn(part.value) : []));
    default:
      return [];
  }
}

const declaredBy = ({ declarations }: Node<'VariableDeclaration'>): Lines =>
  declarations.flatMap(({ id }) => namesIn(id));

/** The variables that `var` declares in a function, at any depth. */
function varsIn(node: AnyNode): Lines {
  const names = node.type === 'VariableDeclaration' && node.kind === 'var' ? declaredBy(node) : [];
  const inner = childrenOf(node).flatMap((child) => (isFunction(child) ? [] : varsIn(child)));
  return [...new Set([...names, ...inner])];
}
