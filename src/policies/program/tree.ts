/** Trees of the random-program grammar: writes them as programs and reads them back. */

import type { AnyNode } from 'acorn';
import { UserError } from '../../base/errors.js';
import type { EnvironmentSpec, NumericSpace, Space } from '../../environments/environment.js';
import { largest } from '../../statistics/descriptive.js';
import { ProgramFault } from './program.js';
import { parseProgram } from './source.js';
import { callName, isFunction, numberOf, syntaxTree, topLevelDeclaration } from './syntax.js';

export const binaryOps = ['+', '-', '*', 'divide', 'min', 'max'] as const;
export const unaryOps = ['abs', 'sin', 'cos', 'tanh'] as const;
export const comparisonOps = ['<', '>'] as const;
export const integerTests = ['equals', 'below'] as const;
/** Operations on a discrete observation: the remainder and the quotient after division by a positive integer. */
export const divisionOps = ['modulo', 'quotient'] as const;
export const opGroups = [binaryOps, unaryOps, comparisonOps, integerTests, divisionOps] as const;

/**
 * Type of a tree's value: a number, a truth value, or an action (0 if discrete, otherwise the index in the tuple).
 * Only trees of the same type can replace each other.
 */
export type TreeType = 'number' | 'test' | number;

export interface Tree {
  readonly type: TreeType;
  readonly op: 'constant' | 'observation' | 'take' | 'if' | (typeof opGroups)[number][number];
  /** A constant, the index of an observation's component, an action, the integer in a test, or a divisor. */
  readonly value?: number;
  readonly parts: readonly Tree[];
}

/** The trees of a program: one per dimension of a vector or component of a tuple, otherwise one. */
export type Trees = readonly Tree[];

export interface Spaces {
  readonly input: NumericSpace;
  readonly output: NumericSpace;
}

function requireNumeric(space: Space, id: string): NumericSpace {
  if (space.kind !== 'text') return space;
  throw new UserError({
    field: 'environment',
    value: id,
    message: 'has text observations or actions, which random programs do not support',
    hint: 'set warmup=0, and use a language model to propose programs',
  });
}

/** Returns an environment's spaces. @throws UserError for text observations or actions */
export const spacesOf = ({ id, observationSpace, actionSpace }: EnvironmentSpec): Spaces => ({
  input: requireNumeric(observationSpace, id),
  output: requireNumeric(actionSpace, id),
});

/** Returns the depth of a tree; 1 if it has no parts. */
export const depthOf = ({ parts }: Tree): number => 1 + largest([0, ...parts.map(depthOf)]);

const helpers = {
  divide: 'const divide = (a, b) => (b === 0 ? a : a / b);',
  clip: 'const clip = (x, low, high) => Math.max(low, Math.min(high, x || 0));',
};

/** Bound for actions whose own bounds are wider or missing. */
const maxBound = 1e6;

/** Writes a program with declared constants, so bounds, actions and states aren't mistaken for tunable numbers. */
export function programText(trees: Trees, { input, output }: Spaces): string {
  const constants: number[] = [];
  const print = (tree: Tree, level = 0): string => {
    const { op, value, parts } = tree;
    const atLevel = (ownLevel: number, text: string) => (level > ownLevel ? `(${text})` : text);
    const part = (i: number, minLevel = 0) => print(parts[i]!, minLevel);
    switch (op) {
      case 'constant':
        return `constants.k${constants.push(value!)}`;
      case 'observation':
        return input.kind === 'discrete' ? 'observation' : `observation[${value}]`;
      case 'modulo':
        return atLevel(3, `observation % ${value}`);
      case 'quotient':
        return `Math.floor(observation / ${value})`;
      case 'take':
        return String(value);
      case 'if':
        return atLevel(0, `${part(0, 1)} ? ${part(1, 1)} : ${part(2)}`);
      case 'equals':
        return atLevel(1, `${part(0, 2)} === ${value}`);
      case 'below':
        return atLevel(1, `${part(0, 2)} < ${value}`);
      case '<':
      case '>':
        return atLevel(1, `${part(0, 2)} ${op} ${part(1, 2)}`);
      case '+':
      case '-':
        return atLevel(2, `${part(0, 2)} ${op} ${part(1, 3)}`);
      case '*':
        return atLevel(3, `${part(0, 3)} * ${part(1, 4)}`);
      case 'divide':
        return `divide(${part(0)}, ${part(1)})`;
      default:
        return `Math.${op}(${parts.map((_, i) => part(i)).join(', ')})`;
    }
  };
  const printDecision = (tree: Tree, indent: string): string => {
    if (tree.op !== 'if') return `${indent}return ${print(tree)};\n`;
    const [test, then, otherwise] = tree.parts;
    return `${indent}if (${print(test!)}) {\n${printDecision(then!, `${indent}  `)}${indent}}\n${printDecision(otherwise!, indent)}`;
  };
  const printComponent = (tree: Tree, i: number) => {
    if (output.kind !== 'box') return print(tree);
    const [low, high] = [Math.max(output.low[i]!, -maxBound), Math.min(output.high[i]!, maxBound)];
    return `clip(${print(tree)}, ${low}, ${high})`;
  };
  const body =
    output.kind === 'discrete'
      ? printDecision(trees[0]!, '  ')
      : `  return [\n${trees.map((tree, i) => `    ${printComponent(tree, i)},\n`).join('')}  ];\n`;
  const entries = constants.map((value, i) => `k${i + 1}: ${Object.is(value, -0) ? '-0' : value}`);
  return [
    `const constants = {${entries.length > 0 ? ` ${entries.join(', ')} ` : ''}};`,
    ...Object.entries(helpers).flatMap(([name, text]) => (body.includes(`${name}(`) ? [text] : [])),
    '',
    `function act(observation, memory, constants) {\n${body}}`,
    '',
  ].join('\n');
}

/** Reads the trees of a program of this grammar; undefined for other programs. */
export function parseTrees(source: string, spaces: Spaces): Trees | undefined {
  try {
    const { constants } = parseProgram(source, spaces.output);
    const act = topLevelDeclaration(syntaxTree(source), 'act')!.value;
    if (!isFunction(act) || act.body.type !== 'BlockStatement') return undefined;
    const values = new Map(constants.map(({ name, value }) => [name ?? '', value]));
    const trees = parseBody(act.body.body, spaces.output, values);
    return programText(trees, spaces) === source ? trees : undefined;
  } catch (error) {
    if (error instanceof GrammarError || error instanceof ProgramFault) return undefined;
    throw error;
  }
}

class GrammarError extends Error {}

type Constants = ReadonlyMap<string, number>;

function parseBody(statements: readonly AnyNode[], output: NumericSpace, constants: Constants): Trees {
  if (output.kind === 'discrete') return [parseDecision(statements, constants)];
  const [statement] = statements;
  const list = statement?.type === 'ReturnStatement' ? statement.argument : undefined;
  if (list?.type !== 'ArrayExpression') throw new GrammarError();
  return list.elements.map((element, i) => {
    if (output.kind === 'tuple') return parseTree(element, i, constants);
    if (element?.type !== 'CallExpression') throw new GrammarError();
    return parseTree(element.arguments[0], 'number', constants);
  });
}

function parseDecision([first, ...rest]: readonly AnyNode[], constants: Constants): Tree {
  if (first?.type === 'ReturnStatement') return parseTree(first.argument, 0, constants);
  if (first?.type !== 'IfStatement' || first.consequent.type !== 'BlockStatement') throw new GrammarError();
  const test = parseTree(first.test, 'test', constants);
  const then = parseDecision(first.consequent.body, constants);
  return { type: 0, op: 'if', parts: [test, then, parseDecision(rest, constants)] };
}

/** Accepts more than the grammar allows, because `parseTrees` compares the trees' text with the source. */
function parseTree(node: AnyNode | null | undefined, type: TreeType, constants: Constants): Tree {
  const read = (part: AnyNode | null | undefined, inner: TreeType = 'number') =>
    parseTree(part, inner, constants);
  const leaf = (op: Tree['op'], value: number | undefined, ...parts: readonly Tree[]): Tree => {
    if (value === undefined) throw new GrammarError();
    return { type, op, value, parts };
  };
  const branch = (op: Tree['op'] | undefined, ...parts: readonly Tree[]): Tree => {
    if (op === undefined) throw new GrammarError();
    return { type, op, parts };
  };
  if (node?.type === 'ConditionalExpression')
    return branch('if', read(node.test, 'test'), read(node.consequent, type), read(node.alternate, type));
  if (typeof type === 'number') return leaf('take', numberOf(node));
  switch (node?.type) {
    case 'Identifier':
      return leaf('observation', 0);
    case 'MemberExpression':
      if (node.computed) return leaf('observation', numberOf(node.property));
      return leaf('constant', constants.get(callName(node) ?? ''));
    case 'CallExpression': {
      const [first] = node.arguments;
      const name = callName(node.callee);
      if (name === 'floor')
        return leaf('quotient', first?.type === 'BinaryExpression' ? numberOf(first.right) : undefined);
      const op = [...binaryOps, ...unaryOps].find((item) => item === name);
      return branch(op, ...node.arguments.map((argument) => read(argument)));
    }
    case 'BinaryExpression': {
      const { left, operator, right } = node;
      const integer = numberOf(right);
      if (operator === '%') return leaf('modulo', integer);
      if (integer !== undefined) return leaf(operator === '===' ? 'equals' : 'below', integer, read(left));
      const op = [...binaryOps, ...comparisonOps].find((item) => item === operator);
      return branch(op, read(left), read(right));
    }
    default:
      throw new GrammarError();
  }
}
