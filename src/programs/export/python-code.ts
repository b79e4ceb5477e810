/** Parts of Python programs. */
import type { AnyNode } from 'acorn';
import { packageText } from '../../base/package.js';

/** A Python expression; `kind` is the type that its value is known to have. */
export interface Code {
  readonly text: string;
  readonly kind?: 'number' | 'boolean' | 'string' | undefined;
  /** True if it needs parentheses within another expression. */
  readonly isOpen?: boolean;
}

export type Node<T extends AnyNode['type']> = Extract<AnyNode, { type: T }>;
export type Lines = readonly string[];

/** Thrown for JavaScript that has no translation. */
export class Untranslatable extends Error {
  override readonly name = 'Untranslatable';
  readonly node: AnyNode;

  constructor(node: AnyNode) {
    super(node.type);
    this.node = node;
  }
}

/** Helpers by name. */
export const helpers = new Map(
  packageText('src/programs/export/helpers.py')
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
export function pythonName(name: string): string {
  const isTaken = reserved.has(name) || helpers.has(name) || /^(t|arrow)\d+$|[_$]$/.test(name);
  return `${name.replaceAll('$', 'S_')}${isTaken ? '_' : ''}`;
}

export const calculated = /^(?:a?(?:sin|cos|tan)h?|exp|expm1|sqrt|log|log2|log10|log1p)$/;
export const rounded = /^(?:floor|ceil|trunc)$/;
export const statics: Readonly<Record<string, string>> = {
  Math: 'math',
  Object: 'object',
  Array: 'array',
  Number: 'number',
};
export const functions: Readonly<Record<string, readonly [string, Code['kind']]>> = {
  ...{ Number: ['num', 'number'], String: ['text', 'string'], Boolean: ['truthy', 'boolean'] },
  ...{ isNaN: ['isNaN', 'boolean'], isFinite: ['isFinite', 'boolean'] },
};
const arithmetic: Readonly<Record<string, string>> = { '/': 'div', '%': 'rem', '**': 'math_pow' };

export const indented = (lines: Lines) => (lines.length > 0 ? lines : ['pass']).map((line) => `    ${line}`);
export const open = (text: string, kind?: Code['kind']): Code => ({ text, kind, isOpen: true });
export const call = (name: string, given: Lines, kind?: Code['kind']) => ({
  text: `${name}(${given.join(', ')})`,
  kind,
});
export const within = ({ text, isOpen }: Code) => (isOpen ? `(${text})` : text);
export const asNumber = (code: Code) => (code.kind === 'number' ? within(code) : `num(${code.text})`);
export const asTest = (code: Code) =>
  code.kind === 'boolean' ? code : call('truthy', [code.text], 'boolean');
export const quoted = (text: string): Code => ({ text: JSON.stringify(text), kind: 'string' });

export function float(value: number): Code {
  const text = String(value).replace('Infinity', 'math.inf').replace('NaN', 'math.nan');
  return { text: /[.e]/.test(text) ? text : `${text}.0`, kind: 'number', isOpen: value < 0 };
}

export function binary(node: AnyNode, operator: string, a: Code, b: Code): Code {
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
      throw new Untranslatable(node);
  }
}
