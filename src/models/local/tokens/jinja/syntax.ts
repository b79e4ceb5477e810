/** Parses chat templates with `@huggingface/jinja`, after removing white space around tags as Transformers does. */
import { parse, tokenize } from '@huggingface/jinja';
import { unsupported } from './values.js';

interface Token {
  readonly type: string;
  readonly value: string;
}

type Nodes = readonly Node[];
type NodeOfType<Type extends string, Fields = unknown> = { readonly type: Type } & Readonly<Fields>;

/** The library's node types, with the fields that rendering needs. */
export type Node =
  | NodeOfType<'Program', { body: Nodes }>
  | NodeOfType<'If', { test: Node; body: Nodes; alternate: Nodes }>
  | NodeOfType<'For', { loopvar: Node; iterable: Node; body: Nodes; defaultBlock: Nodes }>
  | NodeOfType<'Set', { assignee: Node; value: Node | null; body: Nodes }>
  | NodeOfType<'Macro', { name: Name; args: Nodes; body: Nodes }>
  | NodeOfType<'CallStatement', { call: { callee: Node }; body: Nodes }>
  | NodeOfType<'Break' | 'Continue' | 'Comment' | 'FilterStatement' | 'FloatLiteral'>
  | NodeOfType<'MemberExpression', { object: Node; property: Node; computed: boolean }>
  | NodeOfType<'SliceExpression', { start?: Node; stop?: Node; step?: Node }>
  | NodeOfType<'CallExpression', { callee: Node; args: Nodes }>
  | NodeOfType<'IntegerLiteral', { value: number }>
  | NodeOfType<'StringLiteral', { value: string }>
  | NodeOfType<'ArrayLiteral' | 'TupleLiteral', { value: Nodes }>
  | NodeOfType<'ObjectLiteral', { value: ReadonlyMap<Node, Node> }>
  | NodeOfType<'BinaryExpression', { operator: Token; left: Node; right: Node }>
  | NodeOfType<'UnaryExpression', { operator: Token; argument: Node }>
  | NodeOfType<'FilterExpression', { operand: Node; filter: Node }>
  | NodeOfType<'TestExpression', { operand: Node; negate: boolean; test: Name }>
  | NodeOfType<'SelectExpression', { lhs: Node; test: Node }>
  | NodeOfType<'Ternary', { condition: Node; trueExpr: Node; falseExpr: Node }>
  | NodeOfType<'KeywordArgumentExpression', { key: Name; value: Node }>
  | Name;
export type Name = NodeOfType<'Identifier', { value: string }>;

/** @throws UnsupportedError if the library would parse it differently from Jinja2; Error if invalid */
export function parseTemplate(source: string): Node {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: Python treats these as white space
  if (/[\x1c-\x1f\x85\uFEFF]/.test(source)) unsupported('a control character or a byte order mark');
  const text = source
    .replaceAll(/\r\n?/g, '\n')
    // Transformers sets `lstrip_blocks` and `trim_blocks`.
    .replaceAll(/(?<=^|\n)[^\S\n]+(?=\{[%#])/g, '')
    .replaceAll(/(?<=[%#]\})\n/g, '')
    // Transformers' `generation` tag is a block with its own scope.
    .replaceAll(/\{%(-?)\s*generation\s*(-?)%\}/g, '{%$1 call generation() $2%}')
    .replaceAll(/\{%(-?)\s*endgeneration\s*(-?)%\}/g, '{%$1 endcall $2%}');
  const tokens = tokenize(text);
  rejectChains(tokens as readonly Token[]);
  return parse(tokens) as unknown as Node;
}

const resetOperators = new Set(['and', 'or', 'if', 'else']);
const resetTokens = new Set(['Comma', 'Equals', 'Colon', 'CloseStatement', 'CloseExpression']);

/** Rejects `a < b < c`, which the library, unlike Python, parses as `(a < b) < c`. */
function rejectChains(tokens: readonly Token[]): void {
  const hasComparison = [false];
  for (const { type, value } of tokens) {
    const isComparison = type === 'ComparisonBinaryOperator' || (type === 'Identifier' && value === 'in');
    if (isComparison && hasComparison.at(-1)) unsupported('a chain of comparisons');
    if (isComparison) hasComparison[hasComparison.length - 1] = true;
    else if (/^Open(Paren|SquareBracket|CurlyBracket)$/.test(type)) hasComparison.push(false);
    else if (/^Close(Paren|SquareBracket|CurlyBracket)$/.test(type)) hasComparison.pop();
    else if (resetTokens.has(type) || (type === 'Identifier' && resetOperators.has(value)))
      hasComparison[hasComparison.length - 1] = false;
  }
}

export function nodesOf(node: Node): Node[] {
  const nodes: Node[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (value instanceof Map) [...value].forEach(visit);
    else if (typeof value === 'object' && value !== null) {
      if ('type' in value) nodes.push(value as Node);
      Object.values(value).forEach(visit);
    }
  };
  visit(node);
  return nodes;
}
