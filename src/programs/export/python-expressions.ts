/** Translates JavaScript expressions to Python. */
import type { AnyNode, CallExpression, NewExpression } from 'acorn';
import { packageText } from '../../base/package.js';
import { calledName } from '../syntax.js';

export type Lines = readonly string[];

/** A Python expression, in parentheses if necessary, and the type of its value, if known. */
interface Code {
  readonly text: string;
  readonly kind?: 'number' | 'boolean' | undefined;
}

/** The variables that a statement can use. */
export interface Scope {
  readonly visible: Set<string>;
  /** Variables that the function declares. */
  readonly own: Set<string>;
  /** Variables of outer functions that the function assigns to. */
  readonly outer: Set<string>;
  /** True in a block within the function. */
  readonly isNested?: boolean;
  /** In a loop: lines to run before `continue`. */
  readonly onContinue?: Lines;
}

/** Thrown for JavaScript that can't be translated. */
export class Untranslatable extends Error {
  readonly node: AnyNode;

  constructor(node: AnyNode) {
    super(node.type);
    this.node = node;
  }
}

export const pythonHelpers = (): string => packageText('src/programs/export/helpers.py');
const helperNames = (): readonly string[] =>
  [...pythonHelpers().matchAll(/^(?:def )?(\w+)(?= = |\()/gm)].map(([, name]) => name!);
const keywords = new Set(
  (
    'and as assert async await break class continue def del elif except finally for from global import in is lambda ' +
    'nonlocal not or pass raise with yield None True False math map'
  ).split(' '),
);

export function pythonName(name: string): string {
  if (name.includes('$')) return `${name.replaceAll('_', '__').replaceAll('$', '_S')}_`;
  return keywords.has(name) || helperNames().includes(name) || /^_|_$/.test(name) ? `${name}_` : name;
}

const open = (text: string, kind?: Code['kind']): Code => ({ text: `(${text})`, kind });
const call = (name: string, given: Lines, kind?: Code['kind']): Code => ({
  text: `${name}(${given.join(', ')})`,
  kind,
});
const asNumber = ({ kind, text }: Code) => (kind === 'number' ? text : `num(${text})`);

function float(value: number): Code {
  const text = String(value).replace('Infinity', 'math.inf').replace('NaN', 'math.nan');
  return { text: /[.e]/.test(text) ? text : `${text}.0`, kind: 'number' };
}

/** Translates an expression that is used as a truth value. */
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
      if (typeof node.value === 'string') return { text: JSON.stringify(node.value) };
      if (typeof node.value === 'boolean') return { text: node.value ? 'True' : 'False', kind: 'boolean' };
      if (node.raw !== 'null') throw new Untranslatable(node);
      return { text: 'null' };
    case 'TemplateLiteral': {
      const texts = node.quasis.map(({ value }) => JSON.stringify(value.cooked));
      const values = node.expressions.map((part) => `text(${read(part).text})`);
      return open(texts.flatMap((text, i) => [text, ...values.slice(i, i + 1)]).join(' + '));
    }
    case 'Identifier':
      if (scope.visible.has(node.name)) return { text: pythonName(node.name) };
      if (node.name === 'undefined') return { text: 'None' };
      if (node.name !== 'NaN' && node.name !== 'Infinity') throw new Untranslatable(node);
      return float(Number(node.name));
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
      const name = builtIn(node, scope);
      if (name === undefined) return call('get', [read(node.object).text, keyOf(node, scope)]);
      const value: unknown = Reflect.get(name.startsWith('Math') ? Math : Number, name.split('_')[1]!);
      if (typeof value !== 'number') throw new Untranslatable(node);
      return float(value);
    }
    case 'CallExpression':
      return called(node, scope);
    case 'NewExpression':
      if (calledName(node.callee) !== 'Array') throw new Untranslatable(node);
      return called(node, scope);
    case 'ArrowFunctionExpression': {
      const names = node.params.map((parameter) => {
        if (parameter.type !== 'Identifier') throw new Untranslatable(parameter);
        return parameter.name;
      });
      if (scope.isNested || node.async || node.body.type === 'BlockStatement') throw new Untranslatable(node);
      const { text } = expression(node.body, { ...scope, visible: new Set([...scope.visible, ...names]) });
      return open(`lambda ${[...names.map((name) => `${pythonName(name)}=None`), '*_'].join(', ')}: ${text}`);
    }
    default:
      throw new Untranslatable(node);
  }
}

const listed = (parts: readonly (AnyNode | null)[], scope: Scope): Lines =>
  parts.map((part) => {
    if (part?.type === 'SpreadElement') return `*${expression(part.argument, scope).text}`;
    return part === null ? 'None' : expression(part, scope).text;
  });

/** Python code for the key of a property or a member expression. */
export function keyOf(
  node: { readonly computed: boolean } & ({ readonly key: AnyNode } | { readonly property: AnyNode }),
  scope: Scope,
): string {
  const key = 'key' in node ? node.key : node.property;
  if (node.computed) return expression(key, scope).text;
  if (key.type === 'Identifier') return JSON.stringify(key.name);
  if (key.type !== 'Literal') throw new Untranslatable(key);
  return JSON.stringify(String(key.value));
}

export function logical(operator: string, a: Code, b: Code): Code {
  const first = `${operator === '??' ? 'nullish' : 'truthy'}(_t := ${a.text})`;
  const [then, other] = operator === '||' ? ['_t', b.text] : [b.text, '_t'];
  return open(`${then} if ${first} else ${other}`, a.kind === b.kind ? a.kind : undefined);
}

/** Python helpers for operators, used where Python's own operator could give a different result. */
const operators: Readonly<Record<string, string>> = {
  ...{ '+': 'add', '/': 'div', '%': 'rem', '**': 'Math_pow', in: 'has' },
  ...{ '===': 'same', '!==': 'not same', '==': 'loose', '!=': 'not loose' },
};

export function binary(node: AnyNode, operator: string, a: Code, b: Code): Code {
  const helper = operators[operator];
  const isPlain = /^([-*+]|[<>]=?|===)$/.test(operator);
  const areNumbers = a.kind === 'number' && b.kind === 'number';
  const kind = /^([-+*/%]|\*\*)$/.test(operator) ? 'number' : 'boolean';
  if (isPlain && (areNumbers || helper === undefined))
    return open(`${asNumber(a)} ${operator.replace('===', '==')} ${asNumber(b)}`, kind);
  if (helper === undefined) throw new Untranslatable(node);
  return open(`${helper}(${a.text}, ${b.text})`, operator === '+' ? undefined : kind);
}

const calculated = /^Math_(?:a?(?:sin|cos|tan)h?|atan2|hypot|exp|expm1|sqrt|log|log2|log10|log1p)$/;
const rounded = /^Math_(?:floor|ceil|trunc)$/;
/** Helpers that call their function argument immediately, so that it can safely use a loop's variables. */
const calling = /^js_(?:map|filter|some|every|reduce)$|^Array_from$/;

function called(node: CallExpression | NewExpression, scope: Scope): Code {
  const { callee } = node;
  const name = builtIn(callee, scope);
  const isMethod = callee.type === 'MemberExpression' && !callee.computed && name === undefined;
  const helper = isMethod ? `js_${calledName(callee)}` : name;
  const given = listed(node.arguments, calling.test(helper ?? '') ? { ...scope, isNested: false } : scope);
  if (helper === undefined) return call(expression(callee, scope).text, given);
  const python = `math.${helper.slice(5)}`;
  if (calculated.test(helper)) return call('calculated', [python, ...given], 'number');
  if (rounded.test(helper)) return call('rounded', [python, ...given], 'number');
  if (!helperNames().includes(helper)) throw new Untranslatable(callee);
  const object = isMethod ? [expression(callee.object, scope).text] : [];
  return call(helper, [...object, ...given], helper.startsWith('Math') ? 'number' : undefined);
}

/** Name of a built-in's helper, such as `Math_max` for `Math.max`; undefined for names that the program defines. */
function builtIn(node: AnyNode, { visible }: Scope): string | undefined {
  if (node.type === 'Identifier') return visible.has(node.name) ? undefined : node.name;
  if (node.type !== 'MemberExpression' || node.object.type !== 'Identifier') return undefined;
  const { name } = node.object;
  if (visible.has(name) || !['Math', 'Number', 'Array'].includes(name)) return undefined;
  if (node.computed) throw new Untranslatable(node);
  return `${name}_${calledName(node)}`;
}
