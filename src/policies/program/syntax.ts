/** Parses programs and searches their syntax trees. */
import { type AnyNode, getLineInfo, parse, type Program as Script } from 'acorn';
import { ProgramFault } from './program.js';

export type FunctionNode = Extract<
  AnyNode,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>;

/** Longest source, in characters. */
const maxSourceLength = 20_000;
/** Maximum nesting of syntax nodes, far below the depth that would overflow a stack. */
const maxNesting = 300;

/** @throws ProgramFault for a syntax error, or a source that is too long or nested too deeply */
export function syntaxTree(source: string): Script {
  if (source.length > maxSourceLength) {
    throw new ProgramFault({
      reason: `the program has ${source.length} characters; at most ${maxSourceLength} are allowed`,
    });
  }
  try {
    const script = parse(source, { ecmaVersion: 'latest', sourceType: 'script' });
    rejectDeepNesting(script, source, 0);
    return script;
  } catch (error) {
    if (!(error instanceof SyntaxError) || !('pos' in error)) throw error;
    const reason = `SyntaxError: ${error.message.replace(/ \(\d+:\d+\)$/, '')}`;
    throw new ProgramFault({ reason, line: lineAt(source, Number(error.pos)) });
  }
}

function rejectDeepNesting(node: AnyNode, source: string, depth: number): void {
  if (depth > maxNesting)
    throw new ProgramFault({ reason: 'the program is nested too deeply', line: lineAt(source, node.start) });
  for (const child of childrenOf(node)) rejectDeepNesting(child, source, depth + 1);
}

/** Returns the 1-based line of a position. */
export const lineAt = (source: string, position: number): number => getLineInfo(source, position).line;

const isNode = (value: unknown): value is AnyNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

export const childrenOf = (node: AnyNode): readonly AnyNode[] =>
  Object.values(node).flatMap((value: unknown) => (Array.isArray(value) ? value : [value]).filter(isNode));

/** Yields the node and all nodes in it, parents first. */
export function* nodesIn(node: AnyNode): Generator<AnyNode> {
  yield node;
  for (const child of childrenOf(node)) yield* nodesIn(child);
}

/** Returns the value of a finite number literal with any number of signs; undefined for other nodes. */
export function numberOf(node: AnyNode | null | undefined): number | undefined {
  if (node?.type === 'Literal')
    return typeof node.value === 'number' && Number.isFinite(node.value) ? node.value : undefined;
  if (node?.type !== 'UnaryExpression' || (node.operator !== '-' && node.operator !== '+')) return undefined;
  const value = numberOf(node.argument);
  return value === undefined || node.operator === '+' ? value : -value;
}

export const isFunction = (node: AnyNode | null | undefined): node is FunctionNode =>
  node?.type === 'FunctionDeclaration' ||
  node?.type === 'FunctionExpression' ||
  node?.type === 'ArrowFunctionExpression';

/** A declared variable; `kind` is `function` for function declarations. */
export interface Declaration {
  readonly kind: string;
  readonly node: AnyNode;
  readonly value: AnyNode | null | undefined;
}

/** Finds the last top-level declaration of a name. */
export function topLevelDeclaration(script: Script, name: string): Declaration | undefined {
  let found: Declaration | undefined;
  for (const node of script.body) {
    if (node.type === 'FunctionDeclaration' && node.id.name === name)
      found = { kind: 'function', node, value: node };
    if (node.type !== 'VariableDeclaration') continue;
    for (const { id, init } of node.declarations) {
      if (id.type === 'Identifier' && id.name === name) found = { kind: node.kind, node, value: init };
    }
  }
  return found;
}

/** Lists the expressions that a function can return. */
export function returnedNodes(node: FunctionNode): readonly AnyNode[] {
  if (node.body.type !== 'BlockStatement') return [node.body];
  const returns: AnyNode[] = [];
  const visit = (inner: AnyNode): void => {
    if (inner.type === 'ReturnStatement' && inner.argument) returns.push(inner.argument);
    if (!isFunction(inner)) childrenOf(inner).forEach(visit);
  };
  visit(node.body);
  return returns;
}

/** Properties of nodes that don't change what a program does, and `type`, which is written separately. */
const nonStructuralKeys = new Set(['type', 'start', 'end', 'raw', 'loc', 'range', 'sourceFile']);

/** Returns a text that is the same for programs that differ only in layout, comments, and the nodes in `blanks`. */
export function canonicalText(node: AnyNode, blanks: ReadonlySet<AnyNode>): string {
  if (blanks.has(node)) return '?';
  const serialize = (value: unknown): string => {
    if (isNode(value)) return value.type === 'EmptyStatement' ? '' : canonicalText(value, blanks);
    if (Array.isArray(value)) return `[${value.map(serialize).filter(Boolean).join()}]`;
    if (typeof value === 'object' && value !== null) {
      // The value holds a regular expression's parts or the text of a template.
      return serialize(
        Object.entries(value)
          .filter(([key]) => key !== 'raw')
          .flat(),
      );
    }
    return typeof value === 'string' ? JSON.stringify(value) : String(value);
  };
  const parts = Object.entries(node).filter(([key]) => !nonStructuralKeys.has(key));
  return `${node.type}(${parts.map(([key, value]) => `${key}:${serialize(value)}`).join()})`;
}

/** Returns the name of a called function or method; undefined if it is computed or has none. */
export function callName(callee: AnyNode): string | undefined {
  if (callee.type === 'Identifier') return callee.name;
  if (callee.type !== 'MemberExpression' || callee.computed) return undefined;
  return callee.property.type === 'Identifier' ? callee.property.name : undefined;
}

/** Lists all names in a pattern: those of the variables that it assigns, and any in its keys and default values. */
export const namesIn = (pattern: AnyNode): readonly string[] =>
  [...nodesIn(pattern)].flatMap((node) => (node.type === 'Identifier' ? [node.name] : []));
