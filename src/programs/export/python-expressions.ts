/** Translates expressions. */
import type { AnyNode, MemberExpression, Pattern, Property } from 'acorn';
import { nodesIn } from '../syntax.js';
import {
  asNumber,
  asTest,
  binary,
  type Code,
  calculated,
  call,
  float,
  functions,
  helpers,
  type Lines,
  type Node,
  open,
  pythonName,
  quoted,
  rounded,
  statics,
  Untranslatable,
  within,
} from './python-code.js';
import { isKnown, type Scope, target, temporary } from './python-scope.js';

export function expression(node: AnyNode, scope: Scope): Code {
  const read = (part: AnyNode) => expression(part, scope);
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'number') return float(node.value);
      if (typeof node.value === 'string') return quoted(node.value);
      if (typeof node.value === 'boolean') return { text: node.value ? 'True' : 'False', kind: 'boolean' };
      if (node.raw !== 'null') throw new Untranslatable(node);
      return { text: 'null' };
    case 'TemplateLiteral': {
      const texts = node.quasis.map(({ value }) => quoted(value.cooked ?? '').text);
      const values = node.expressions.map((part) => `text(${read(part).text})`);
      return open(texts.flatMap((text, i) => [text, ...values.slice(i, i + 1)]).join(' + '), 'string');
    }
    case 'Identifier':
      if (isKnown(node.name, scope)) return { text: pythonName(node.name) };
      if (node.name === 'undefined') return { text: 'None' };
      if (node.name !== 'NaN' && node.name !== 'Infinity') throw new Untranslatable(node);
      return float(Number(node.name));
    case 'ArrayExpression':
      return { text: `[${listed(node.elements, scope)}]` };
    case 'ObjectExpression': {
      const items = node.properties.map((property) => {
        if (property.type !== 'Property' || property.kind !== 'init') throw new Untranslatable(property);
        const key = keyOf(property, scope);
        return `${property.computed ? `text(${key})` : key}: ${read(property.value).text}`;
      });
      return { text: `{${items.join(', ')}}` };
    }
    case 'UnaryExpression':
      return unary(node, scope);
    case 'UpdateExpression': {
      let before = '';
      const { text } = changed(
        node.argument,
        (old) => {
          before = `num(${old})`;
          return open(`${before} ${node.operator.charAt(0)} 1.0`, 'number');
        },
        scope,
      );
      return { text: node.prefix ? text : `[${before}, ${text}][0]`, kind: 'number' };
    }
    case 'BinaryExpression':
      return binary(node, node.operator, read(node.left), read(node.right));
    case 'LogicalExpression':
      return logical(node.operator, read(node.left), read(node.right), scope);
    case 'ConditionalExpression': {
      const [condition, then, other] = [test(node.test, scope), read(node.consequent), read(node.alternate)];
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
          scope,
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
      if (node.id || (scope.loops.length > 0 && !scope.shared.callbacks.has(node)))
        throw new Untranslatable(node);
      const name = `arrow${++scope.shared.count}`;
      const lines = scope.shared.define(node, name, scope);
      scope.shared.before = [...scope.shared.before, ...lines];
      return { text: name };
    }
    default:
      throw new Untranslatable(node);
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
  if (key.type !== 'Literal') throw new Untranslatable(key);
  return quoted(String(key.value)).text;
}

export function test(node: AnyNode, scope: Scope): Code {
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
  throw new Untranslatable(node);
}

function logical(operator: string, a: Code, b: Code, scope: Scope): Code {
  const t = temporary(scope);
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
    const t = temporary(scope);
    guards.push(`nullish(${t} := ${within(value)})`);
    return t;
  };
  if (node.type === 'MemberExpression') {
    const { computed, object, optional, property: key } = node;
    const value = staticOf(node, scope);
    if (typeof value === 'number') return float(value);
    if (value !== undefined || helpers.has(methodOf(node, scope))) throw new Untranslatable(node);
    return call('get', [guarded(object, optional), keyOf({ computed, key }, scope)]);
  }
  if (node.type !== 'CallExpression') throw new Untranslatable(node);
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
    if (!helpers.has(String(known))) throw new Untranslatable(callee);
    return call(String(known), given(), 'number');
  }
  const method = methodOf(callee, scope);
  if (method === '') return call(guarded(callee, optional), given());
  if (optional || !helpers.has(method)) throw new Untranslatable(callee);
  return call(method, [guarded(callee.object, callee.optional), ...given()]);
}

/** The helper for a method, whether it exists or not; empty for what the program defines itself. */
function methodOf({ computed, property }: MemberExpression, scope: Scope): string {
  const isOwn = computed || property.type !== 'Identifier' || scope.shared.own.has(property.name);
  return isOwn ? '' : `js_${property.name}`;
}

/** The number `Math.PI`, or `math_max` for `Math.max`; undefined for the program's own objects. */
function staticOf(
  { computed, object, property }: MemberExpression,
  scope: Scope,
): number | string | undefined {
  if (object.type !== 'Identifier' || isKnown(object.name, scope)) return undefined;
  const room = statics[object.name];
  if (room === undefined || computed || property.type !== 'Identifier') throw new Untranslatable(object);
  const value: unknown = Reflect.get(room === 'math' ? Math : Number, property.name);
  return typeof value === 'number' && room !== 'array' ? value : `${room}_${property.name}`;
}

/** A call of a function that JavaScript provides. */
function global(node: Node<'CallExpression' | 'NewExpression'>, name: string, scope: Scope): Code {
  const [argument, ...more] = node.arguments;
  if (argument === undefined || more.length > 0 || isKnown(name, scope)) throw new Untranslatable(node);
  const given = expression(argument, scope);
  if (name === 'Array') return call('array_of_length', [given.text]);
  const [helper, kind] = (node.type === 'CallExpression' && functions[name]) || [];
  if (helper === undefined) throw new Untranslatable(node);
  return call(helper, [given.text], kind);
}

/** The object and the key of a property that is written. */
function place({ computed, object, property: key }: MemberExpression, scope: Scope): Lines {
  if (!computed && key.type === 'Identifier' && key.name === 'length') throw new Untranslatable(key);
  return [expression(object, scope).text, keyOf({ computed, key }, scope)];
}

/** Assigns what `make` makes of the old value. */
function changed(node: AnyNode, make: (old: string) => Code, scope: Scope): Code {
  if (node.type === 'Identifier') {
    const name = target(node, scope);
    const { kind, text } = make(name);
    return { text: `(${name} := ${text})`, kind };
  }
  if (node.type !== 'MemberExpression') throw new Untranslatable(node);
  const given = place(node, scope);
  const { kind, text } = make(`get(${given.join(', ')})`);
  // The place may be evaluated twice.
  if ([node.object, node.property].some(hasEffects)) throw new Untranslatable(node);
  return call('put', [...given, text], kind);
}

/** Assigns a value to the variables of a pattern. */
export function bind(pattern: Pattern, { text }: Code, scope: Scope): Lines {
  if (pattern.type === 'Identifier') return [`${target(pattern, scope)} = ${text}`];
  if (pattern.type === 'MemberExpression') return [`put(${[...place(pattern, scope), text].join(', ')})`];
  const t = temporary(scope);
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
        if (part.type !== 'Property') throw new Untranslatable(part);
        return bind(part.value, { text: `get(${t}, ${keyOf(part, scope)})` }, scope);
      });
      return [start, ...parts];
    }
    default:
      throw new Untranslatable(pattern);
  }
}

/** True if evaluating the expression twice could differ from evaluating it once. */
const hasEffects = (node: AnyNode): boolean =>
  [...nodesIn(node)].some(({ type }) => /^(Update|Assignment|New|Call|Function|Arrow)/.test(type));
