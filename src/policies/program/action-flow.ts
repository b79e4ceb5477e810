/** Finds the numbers in a program that become the returned action, or part of it. */
import type { AnyNode, Program as Script } from 'acorn';
import type { Space } from '../../environments/environment.js';
import {
  callName,
  type FunctionNode,
  isFunction,
  namesIn,
  nodesIn,
  numberOf,
  returnedNodes,
} from './syntax.js';

/** Methods that return one or more elements of an array or map. */
const elementMethods = new Set('at concat filter find get pop reverse shift slice'.split(' '));
/** Methods that make their arguments elements of an array. */
const fillingCalls = new Set(['push', 'unshift', 'fill']);
/** Functions that return or store one of their arguments, or its elements, numeric value or text. */
const passingCalls = new Set(['min', 'max', 'Number', 'String', 'of', 'from', 'freeze', ...fillingCalls]);
/** Names of functions that limit a value, whether they are built in or defined by the program. */
const limiterName = /^(min|max|clip|clamp|limit|saturate|bound)/i;
const arithmeticOperators = new Set(['+', '-', '*']);

type Nodes = readonly (AnyNode | null | undefined)[];

/**
 * Finds the numbers that are actions and must not be tuned. For vectors of floats, these are only limits on the
 * returned values, such as 2 in `Math.min(2, u)`.
 */
export function actionNumbers(script: Script, act: FunctionNode, space: Space): ReadonlySet<AnyNode> {
  if (space.kind !== 'box') return traceNumbers(script, act, true);
  const numbers = traceNumbers(script, act, false);
  const limits = [...nodesIn(script)].flatMap((node) =>
    node.type === 'CallExpression' && limiterName.test(callName(node.callee) ?? '') ? node.arguments : [],
  );
  return new Set(limits.filter((node) => numbers.has(node)));
}

/**
 * Follows values from the returns of `act` back to number literals: through conditions, arrays, objects, variables,
 * properties, and calls that pass values on. Names aren't resolved by scope, so the result may contain numbers of other
 * variables with the same name.
 * @param withArithmetic true to follow values through sums, differences and products, too
 */
function traceNumbers(script: Script, act: FunctionNode, withArithmetic: boolean): ReadonlySet<AnyNode> {
  const nodes = [...nodesIn(script)];
  const seenNames = new Set<string>();
  const visited = new Set<AnyNode>();
  const stack: (AnyNode | null | undefined)[] = [...returnedNodes(act)];
  const numbers = new Set<AnyNode>();
  for (let node = stack.pop(); node !== undefined || stack.length > 0; node = stack.pop()) {
    if (!node || visited.has(node)) continue;
    visited.add(node);
    if (numberOf(node) !== undefined) numbers.add(node);
    else for (const source of sourcesOf(node)) stack.push(source);
  }
  return numbers;

  /** Returns the nodes from which the value of an expression can come. */
  function sourcesOf(node: AnyNode): Nodes {
    switch (node.type) {
      case 'Identifier':
        return addName(node.name) ? nodes.flatMap((other) => assignedValues(node.name, other)) : [];
      case 'MemberExpression':
        if (node.computed || node.property.type !== 'Identifier') return [node.object];
        return propertySources(node.property.name);
      case 'AssignmentExpression':
        return [node.left, node.right];
      case 'CallExpression':
        return callSources(node);
      case 'BinaryExpression':
        return withArithmetic ? partsOf(node) : [];
      default:
        return partsOf(node);
    }
  }

  function addName(name: string): boolean {
    const sizeBefore = seenNames.size;
    return seenNames.add(name).size > sizeBefore;
  }

  function callSources({ callee, arguments: args }: Extract<AnyNode, { type: 'CallExpression' }>): Nodes {
    const name = callName(callee) ?? '';
    const passedArgs = passingCalls.has(name) ? args : [];
    if (callee.type !== 'MemberExpression') return [callee, ...passedArgs];
    return [
      ...passedArgs,
      ...args.filter(isFunction),
      ...(elementMethods.has(name) ? [callee.object] : []),
      ...(name === 'reduce' ? args.slice(1) : []),
      ...propertySources(name),
    ];
  }

  /** Returns all values assigned to a property with this name, of any object; none if it was followed before. */
  function propertySources(name: string): Nodes {
    if (!addName(`.${name}`)) return [];
    const isNamed = (key: AnyNode) => key.type === 'Identifier' && key.name === name;
    return nodes.map((node) => {
      if (node.type === 'Property') return isNamed(node.key) ? node.value : null;
      if (node.type !== 'AssignmentExpression' || node.left.type !== 'MemberExpression') return null;
      return isNamed(node.left.property) ? node.right : null;
    });
  }

  /** Returns what a node assigns to the variable or its elements; for a function, what calls pass as the parameter. */
  function assignedValues(name: string, node: AnyNode): Nodes {
    const isNamed = (pattern: AnyNode) => namesIn(pattern).includes(name);
    switch (node.type) {
      case 'VariableDeclarator':
        return isNamed(node.id) ? [node.init] : [];
      case 'AssignmentPattern':
        return isNamed(node.left) ? [node.right] : [];
      case 'AssignmentExpression':
        return isNamed(rootOf(node.left)) ? [node.right] : [];
      case 'CallExpression':
        return fillingCalls.has(callName(node.callee) ?? '') && isNamed(rootOf(node.callee))
          ? node.arguments
          : [];
      case 'FunctionDeclaration':
      case 'FunctionExpression':
      case 'ArrowFunctionExpression': {
        const functionName = nameOf(node);
        const calls = functionName === undefined ? [] : nodes.filter((other) => isCall(other, functionName));
        const passedArgs = node.params.flatMap((parameter, i) =>
          isNamed(parameter)
            ? calls.map((call) => (call.type === 'CallExpression' ? call.arguments[i] : null))
            : [],
        );
        return functionName === name ? [node, ...passedArgs] : passedArgs;
      }
      default:
        return [];
    }
  }

  function nameOf(node: FunctionNode): string | undefined {
    if (node.id) return node.id.name;
    const declarator = nodes.find((other) => other.type === 'VariableDeclarator' && other.init === node);
    return declarator?.type === 'VariableDeclarator' ? namesIn(declarator.id)[0] : undefined;
  }
}

/** Returns the parts of an expression that its value, or part of it, is chosen or computed from. */
function partsOf(node: AnyNode): Nodes {
  switch (node.type) {
    case 'ConditionalExpression':
      return [node.consequent, node.alternate];
    case 'LogicalExpression':
      return [node.left, node.right];
    case 'BinaryExpression':
      return arithmeticOperators.has(node.operator) ? [node.left, node.right] : [];
    case 'UnaryExpression':
      return node.operator === '-' || node.operator === '+' ? [node.argument] : [];
    case 'SequenceExpression':
      return node.expressions.slice(-1);
    case 'ArrayExpression':
      return node.elements;
    case 'NewExpression':
      return node.arguments;
    case 'ObjectExpression':
      return node.properties;
    case 'Property':
      return [node.value];
    case 'SpreadElement':
      return [node.argument];
    case 'ChainExpression':
      return [node.expression];
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
      return returnedNodes(node);
    default:
      return [];
  }
}

/** Finds the numbers in an expression that are added, multiplied or chosen to produce its value. */
export function contributingNumbers(node: AnyNode): readonly AnyNode[] {
  if (numberOf(node) !== undefined) return [node];
  const parts =
    node.type === 'CallExpression' && passingCalls.has(callName(node.callee) ?? '')
      ? node.arguments
      : isFunction(node)
        ? []
        : partsOf(node);
  return parts.flatMap((part) => (part ? contributingNumbers(part) : []));
}

const isCall = (node: AnyNode, name: string) =>
  node.type === 'CallExpression' && callName(node.callee) === name;

/** Returns the variable that an element or property belongs to. */
const rootOf = (node: AnyNode): AnyNode => (node.type === 'MemberExpression' ? rootOf(node.object) : node);
