/** Translates expressions. */
import type { AnyNode, CallExpression, MemberExpression, NewExpression } from 'acorn';
import { packageText } from '../../base/package.js';
import type { FunctionNode } from '../syntax.js';

export type Lines = readonly string[];

/** A Python expression in parentheses if it needs them, and the type that its value is known to have. */
export interface Code {
  readonly text: string;
  readonly kind?: 'number' | 'boolean' | undefined;
}

/** The variables that a statement sees. In Python, blocks share the variables of their function. */
export interface Scope {
  /** Names in Python by names in JavaScript. */
  readonly visible: Map<string, string>;
  /** Python names of the function's own variables. */
  readonly own: Set<string>;
  /** Variables of outer functions that the function assigns. */
  readonly outer: Set<string>;
  /** In a loop: what `continue` does first. */
  readonly onContinue?: Lines | undefined;
  /** Receives the functions in the statement, which come before it. */
  readonly before: string[];
  /** Writes a function. */
  readonly define: (node: FunctionNode, name: string, scope: Scope) => Lines;
}

/** Thrown for JavaScript that has no translation. */
export class Untranslatable extends Error {
  readonly node: AnyNode;

  constructor(node: AnyNode) {
    super(node.type);
    this.node = node;
  }
}

export const pythonHelpers = packageText('src/programs/export/helpers.py');
export const helpers = new Set(
  [...pythonHelpers.matchAll(/^(?:def )?(\w+)(?= = |\()/gm)].map(([, name]) => name!),
);
const open = (text: string, kind?: Code['kind']): Code => ({ text: `(${text})`, kind });
const call = (name: string, given: Lines, kind?: Code['kind']): Code => ({
  text: `${name}(${given.join(', ')})`,
  kind,
});
const quoted = (text: string) => JSON.stringify(text);
export const asNumber = ({ kind, text }: Code) => (kind === 'number' ? text : `num(${text})`);

export function float(value: number): Code {
  const text = String(value).replace('Infinity', 'math.inf').replace('NaN', 'math.nan');
  return { text: /[.e]/.test(text) ? text : `${text}.0`, kind: 'number' };
}

/** The value as a truth value. */
export function test(node: AnyNode, scope: Scope): Code {
  if (node.type === 'LogicalExpression' && node.operator !== '??') {
    const operator = node.operator === '&&' ? 'and' : 'or';
    return open(`${test(node.left, scope).text} ${operator} ${test(node.right, scope).text}`, 'boolean');
  }
  const code = expression(node, scope);
  return code.kind === 'boolean' ? code : call('truthy', [code.text], 'boolean');
}

export function expression(node: AnyNode, scope: Scope): Code {
  const read = (part: AnyNode) => expression(part, scope);
  switch (node.type) {
    case 'Literal':
      if (typeof node.value === 'number') return float(node.value);
      if (typeof node.value === 'string') return { text: quoted(node.value) };
      if (typeof node.value === 'boolean') return { text: node.value ? 'True' : 'False', kind: 'boolean' };
      if (node.raw !== 'null') throw new Untranslatable(node);
      return { text: 'null' };
    case 'TemplateLiteral': {
      const texts = node.quasis.map(({ value }) => quoted(value.cooked ?? ''));
      const values = node.expressions.map((part) => `text(${read(part).text})`);
      return open(texts.flatMap((text, i) => [text, ...values.slice(i, i + 1)]).join(' + '));
    }
    case 'Identifier': {
      const text = scope.visible.get(node.name) ?? (node.name === 'undefined' ? 'None' : undefined);
      if (text !== undefined) return { text };
      if (node.name !== 'NaN' && node.name !== 'Infinity') throw new Untranslatable(node);
      return float(Number(node.name));
    }
    case 'ArrayExpression':
      return { text: `[${listed(node.elements, scope).join(', ')}]` };
    case 'ObjectExpression': {
      const items = node.properties.map((property) => {
        if (property.type !== 'Property' || property.kind !== 'init') throw new Untranslatable(property);
        const key = keyOf(property, scope);
        return `${property.computed ? `text(${key})` : key}: ${read(property.value).text}`;
      });
      return { text: `{${items.join(', ')}}` };
    }
    case 'UnaryExpression': {
      if (node.operator === '!') return open(`not ${test(node.argument, scope).text}`, 'boolean');
      const value = read(node.argument);
      if (node.operator === '-') return open(`-${asNumber(value)}`, 'number');
      if (node.operator === '+') return { text: asNumber(value), kind: 'number' };
      if (node.operator === 'typeof') return call('kind', [value.text]);
      throw new Untranslatable(node);
    }
    case 'BinaryExpression':
      return binary(node, node.operator, read(node.left), read(node.right));
    case 'LogicalExpression':
      return logical(node.operator, read(node.left), read(node.right));
    case 'ConditionalExpression': {
      const [condition, then, other] = [test(node.test, scope), read(node.consequent), read(node.alternate)];
      const kind = then.kind === other.kind ? then.kind : undefined;
      return open(`${then.text} if ${condition.text} else ${other.text}`, kind);
    }
    case 'MemberExpression': {
      const { computed, object, property: key } = node;
      const name = staticName(node, scope);
      if (name === undefined) return call('get', [read(object).text, keyOf({ computed, key }, scope)]);
      const value: unknown = Reflect.get(name.startsWith('math') ? Math : Number, name.split('_')[1]!);
      if (typeof value !== 'number') throw new Untranslatable(node);
      return float(value);
    }
    case 'CallExpression':
    case 'NewExpression':
      return called(node, scope);
    case 'FunctionExpression':
    case 'ArrowFunctionExpression': {
      if (node.id) throw new Untranslatable(node);
      const name = `_f${scope.own.size}`;
      scope.own.add(name);
      scope.before.push(...scope.define(node, name, scope));
      return { text: name };
    }
    default:
      throw new Untranslatable(node);
  }
}

function listed(parts: readonly (AnyNode | null)[], scope: Scope): Lines {
  return parts.map((part) => {
    if (part?.type === 'SpreadElement') return `*${expression(part.argument, scope).text}`;
    return part === null ? 'None' : expression(part, scope).text;
  });
}

export function keyOf(
  { computed, key }: { readonly computed: boolean; readonly key: AnyNode },
  scope: Scope,
) {
  if (computed) return expression(key, scope).text;
  if (key.type === 'Identifier') return quoted(key.name);
  if (key.type !== 'Literal') throw new Untranslatable(key);
  return quoted(String(key.value));
}

export function logical(operator: string, a: Code, b: Code): Code {
  const first = `${operator === '??' ? 'nullish' : 'truthy'}(_t := ${a.text})`;
  const [then, other] = operator === '||' ? ['_t', b.text] : [b.text, '_t'];
  return open(`${then} if ${first} else ${other}`, a.kind === b.kind ? a.kind : undefined);
}

export function binary(node: AnyNode, operator: string, a: Code, b: Code): Code {
  const areNumbers = a.kind === 'number' && b.kind === 'number';
  const numbers = [asNumber(a), asNumber(b)];
  const given = [a.text, b.text];
  const negated = (name: string) => open(`not ${name}(${given.join(', ')})`, 'boolean');
  switch (operator) {
    case '+':
      return areNumbers ? open(numbers.join(' + '), 'number') : call('add', given);
    case '-':
    case '*':
      return open(numbers.join(` ${operator} `), 'number');
    case '/':
      return call('div', numbers, 'number');
    case '%':
      return call('rem', numbers, 'number');
    case '**':
      return call('math_pow', numbers, 'number');
    case '<':
    case '>':
    case '<=':
    case '>=':
      return open(numbers.join(` ${operator} `), 'boolean');
    case '===':
      return areNumbers ? open(numbers.join(' == '), 'boolean') : call('same', given, 'boolean');
    case '!==':
      return negated('same');
    case '==':
      return call('loose', given, 'boolean');
    case '!=':
      return negated('loose');
    case 'in':
      return call('has', given, 'boolean');
    default:
      throw new Untranslatable(node);
  }
}

const functions: ReadonlyMap<string, Code> = new Map([
  ['Number', { text: 'num', kind: 'number' }],
  ['String', { text: 'text' }],
  ['Boolean', { text: 'truthy', kind: 'boolean' }],
  ['Array', { text: 'array' }],
]);
const calculated = /^(?:a?(?:sin|cos|tan)h?|exp|expm1|sqrt|log|log2|log10|log1p)$/;
/** Methods that call a function at once, so that it may use the variables of a loop. */
const calling = /^js_(?:map|filter|some|every|reduce)$/;

function called(node: CallExpression | NewExpression, scope: Scope): Code {
  const { callee } = node;
  if (node.type === 'NewExpression' && (callee.type !== 'Identifier' || callee.name !== 'Array'))
    throw new Untranslatable(node);
  const given = () => listed(node.arguments, scope);
  if (callee.type === 'Identifier' && !scope.visible.has(callee.name)) {
    const known = functions.get(callee.name);
    if (known === undefined || node.arguments.length !== 1) throw new Untranslatable(node);
    return call(known.text, given(), known.kind);
  }
  if (callee.type !== 'MemberExpression') return call(expression(callee, scope).text, given());
  const name = staticName(callee, scope);
  if (name?.startsWith('math_')) {
    const numbers = node.arguments.map((part) =>
      part.type === 'SpreadElement'
        ? `*map(num, ${expression(part.argument, scope).text})`
        : asNumber(expression(part, scope)),
    );
    const own = name.slice(5);
    if (calculated.test(own)) return call('calculated', [`math.${own}`, ...numbers], 'number');
    if (/^(?:floor|ceil|trunc)$/.test(own)) return call('rounded', [`math.${own}`, ...numbers], 'number');
    if (helpers.has(name)) return call(name, numbers, 'number');
  } else if (name !== undefined && helpers.has(name)) return call(name, listed(node.arguments, once(scope)));
  if (name !== undefined) throw new Untranslatable(callee);
  const { computed, object, property } = callee;
  if (computed) return call(expression(callee, scope).text, given());
  const method = `js_${property.type === 'Identifier' ? property.name : ''}`;
  if (!helpers.has(method)) throw new Untranslatable(callee);
  const parts = listed(node.arguments, calling.test(method) ? once(scope) : scope);
  return call(method, [expression(object, scope).text, ...parts]);
}

const once = (scope: Scope): Scope => ({ ...scope, onContinue: undefined });

/** Such as `math_max` for `Math.max`; undefined for the program's own objects. */
function staticName(
  { computed, object, property }: MemberExpression,
  { visible }: Scope,
): string | undefined {
  if (object.type !== 'Identifier' || visible.has(object.name)) return undefined;
  if (!['Math', 'Number', 'Array'].includes(object.name)) return undefined;
  if (computed || property.type !== 'Identifier') throw new Untranslatable(object);
  return `${object.name.toLowerCase()}_${property.name}`;
}
