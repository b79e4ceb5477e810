/** Splits a program's source into structure and constants, and writes changed constants back. */
import { createHash } from 'node:crypto';
import type { AnyNode, Program as Script } from 'acorn';
import type { Space } from '../../environments/environment.js';
import { actionNumbers } from './action-flow.js';
import { type Program, type ProgramConstant, ProgramFault } from './program.js';
import {
  canonicalText,
  childrenOf,
  type FunctionNode,
  isFunction,
  lineAt,
  nodesIn,
  numberOf,
  syntaxTree,
  topLevelDeclaration,
} from './syntax.js';
import { fixedParts } from './tunable.js';

/**
 * Parses a program. Its constants are those declared by a top-level `const constants = {…}` or, without such a
 * declaration, the number literals that can take other values (see `tunable.ts` and `action-flow.ts`).
 * @throws ProgramFault for a syntax error, a source that is too long or nested too deeply, a program without a plain
 * function `act` at top level, an async function, or an invalid declaration of constants
 */
export function parseProgram(source: string, actionSpace: Space): Program {
  const script = syntaxTree(source);
  const act = actOf(script, source);
  for (const node of nodesIn(script))
    if (isFunction(node) && node.async)
      throw new ProgramFault({ reason: asyncMessage, line: lineAt(source, node.start) });
  const declaration = topLevelDeclaration(script, 'constants');
  const constants =
    declaration?.kind === 'const'
      ? declaredConstants(declaration.value, source)
      : literalConstants(script, actionNumbers(script, act, actionSpace));
  return {
    source,
    structure: hashOf(canonicalText(script, new Set(constants.map(({ node }) => node)))),
    constants: constants.map(({ constant }) => constant),
  };
}

const asyncMessage = 'async functions are not available';

/** @returns the first 48 bits of the SHA-256 */
const hashOf = (text: string) => createHash('sha256').update(text).digest().readUIntBE(0, 6);

function actOf(script: Script, source: string): FunctionNode {
  const declared = topLevelDeclaration(script, 'act');
  const line = declared && lineAt(source, declared.node.start);
  const fault = (reason: string) => new ProgramFault({ reason, ...(line !== undefined && { line }) });
  if (declared === undefined) throw fault('the program has no function act(observation, memory, constants)');
  if (declared.kind !== 'function' && declared.kind !== 'const')
    throw fault('act must be a function or a const');
  if (!isFunction(declared.value)) throw fault('act must be a function');
  if (declared.value.async || declared.value.generator)
    throw fault('act must be a plain function, neither async nor a generator');
  return declared.value;
}

/** A constant and the syntax node of its number. */
interface LocatedConstant {
  readonly node: AnyNode;
  readonly constant: ProgramConstant;
}

function literalConstants(script: Script, actions: ReadonlySet<AnyNode>): readonly LocatedConstant[] {
  const constants: LocatedConstant[] = [];
  const fixedNodes = new Set<AnyNode | null | undefined>(actions);
  const visit = (node: AnyNode, statementStart: number): void => {
    if (fixedNodes.has(node)) return;
    const value = numberOf(node);
    if (value === undefined) {
      const start = node.type === 'ExpressionStatement' ? node.start : statementStart;
      for (const part of fixedParts(node)) fixedNodes.add(part);
      for (const child of childrenOf(node)) visit(child, start);
    } else if (node.start !== statementStart) {
      // Skip a number that starts a statement: a minus sign before it would continue one without a semicolon.
      constants.push({ node, constant: constantAt(node, value) });
    }
  };
  visit(script, -1);
  return constants.sort((a, b) => a.constant.start - b.constant.start);
}

const constantAt = ({ start, end }: AnyNode, value: number, name?: string): ProgramConstant => ({
  ...(name !== undefined && { name }),
  value,
  ...automaticRange(value),
  start,
  end,
});

/** Returns the range of a constant that declares none: value ± 2 · |value|; −1 to 1 for 0. */
function automaticRange(value: number): { readonly low: number; readonly high: number } {
  const halfWidth = value === 0 ? 1 : 2 * Math.abs(value);
  const largest = Number.MAX_VALUE;
  return { low: Math.max(value - halfWidth, -largest), high: Math.min(value + halfWidth, largest) };
}

const declarationForm = 'declare constants as {name: number} or {name: {value, low, high}}';

function declaredConstants(value: AnyNode | null | undefined, source: string): readonly LocatedConstant[] {
  const fault = (reason: string, node: AnyNode) =>
    new ProgramFault({ reason: `${reason}; ${declarationForm}`, line: lineAt(source, node.start) });
  const entries = (node: AnyNode): readonly (readonly [string, AnyNode])[] => {
    if (node.type !== 'ObjectExpression') throw fault('constants must be written as numbers', node);
    const pairs = node.properties.map((property): readonly [string, AnyNode] => {
      const key = property.type === 'Property' && !property.computed ? keyOf(property.key) : undefined;
      if (property.type !== 'Property' || property.kind !== 'init' || key === undefined)
        throw fault('constants must be plain properties', property);
      if (key === '__proto__' || property.method || property.shorthand)
        throw fault(`the constant ${key} must be a number`, property);
      return [key, property.value];
    });
    const duplicate = pairs.find(([key], i) => pairs.findIndex(([other]) => other === key) !== i);
    if (duplicate) throw fault(`${duplicate[0]} is declared twice`, duplicate[1]);
    return pairs;
  };
  if (!value) return [];
  return entries(value).map(([name, node]): LocatedConstant => {
    const bareNumber = numberOf(node);
    if (bareNumber !== undefined) return { node, constant: constantAt(node, bareNumber, name) };
    const fields = new Map(node.type === 'ObjectExpression' ? entries(node) : []);
    const [number, low, high] = ['value', 'low', 'high'].map((key) => numberOf(fields.get(key)));
    if (fields.size !== 3 || number === undefined || low === undefined || high === undefined)
      throw fault(`the constant ${name} must be a number`, node);
    if (low >= high) throw fault(`the constant ${name} needs low < high`, node);
    const numberNode = fields.get('value')!;
    return { node: numberNode, constant: { ...constantAt(numberNode, number, name), low, high } };
  });
}

function keyOf(key: AnyNode): string | undefined {
  if (key.type === 'Identifier') return key.name;
  return key.type === 'Literal' && typeof key.value === 'string' ? key.value : undefined;
}

/**
 * Returns a program's source with other values of its constants; its structure stays the same.
 * @param values one finite number per constant
 */
export function withConstants(
  { source, constants }: Pick<Program, 'source' | 'constants'>,
  values: readonly number[],
): string {
  if (values.length !== constants.length || !values.every(Number.isFinite))
    throw new Error(`a program with ${constants.length} constants needs that many finite values`);
  let [text, position] = ['', 0];
  for (const [i, { value, start, end }] of constants.entries()) {
    text += source.slice(position, start);
    const isChanged = !Object.is(value, values[i]);
    text += isChanged ? numberText(values[i]!, text, source.slice(end)) : source.slice(start, end);
    position = end;
  }
  return text + source.slice(position);
}

/** Formats a number in as few digits as possible, with a space or parentheses if the code around it may need them. */
function numberText(value: number, before: string, after: string): string {
  const text = Object.is(value, -0) ? '-0' : String(value);
  if (!text.startsWith('-')) return /[\w$]$/.test(before) ? ` ${text}` : text;
  const isSafe = /([(,[:?=<>]|\breturn)\s*$/.test(before.slice(-80)) && /^\s*[),;\]}:?<>]/.test(after);
  return isSafe ? text : `(${text})`;
}
