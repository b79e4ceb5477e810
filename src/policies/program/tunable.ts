/** Finds the numbers in a program that can't take other values. */
import type { AnyNode } from 'acorn';
import { contributingNumbers } from './action-flow.js';
import { callName, numberOf } from './syntax.js';

/** Functions whose arguments are integers, keys or values to find. */
const integerArguments = new Set(
  (
    'at charAt charCodeAt codePointAt delete flat fromCharCode get has imul includes indexOf lastIndexOf padEnd ' +
    'padStart parseInt repeat slice splice stringify substr substring toFixed toPrecision toString toSpliced Array'
  ).split(' '),
);
const equalityOperators = new Set(['===', '!==', '==', '!=']);
const integerOperators = new Set(['%', '&', '|', '^', '<<', '>>', '>>>']);

/**
 * Finds the parts of a node whose numbers are fixed: indices, keys, values of `length`, exponents, `case` labels,
 * headers of `for (;;)` loops, expressions in template literals, arguments of array constructors and of functions such
 * as `slice`, and numbers whose members are accessed or that are operands of `%`, bitwise or equality operators. The
 * choice never depends on a number's value, so that other values give the same structure.
 */
export function fixedParts(node: AnyNode): readonly (AnyNode | null | undefined)[] {
  const operands = (...parts: readonly AnyNode[]) => parts.filter((part) => numberOf(part) !== undefined);
  switch (node.type) {
    case 'MemberExpression':
      return [...(node.computed ? contributingNumbers(node.property) : []), ...operands(node.object)];
    case 'BinaryExpression':
      if (node.operator === '**') return contributingNumbers(node.right);
      return equalityOperators.has(node.operator) || integerOperators.has(node.operator)
        ? operands(node.left, node.right)
        : [];
    case 'AssignmentExpression':
      if (node.operator === '**=') return contributingNumbers(node.right);
      return integerOperators.has(node.operator.slice(0, -1)) ? operands(node.right) : [];
    case 'UnaryExpression':
      return node.operator === '~' ? operands(node.argument) : [];
    case 'SwitchCase':
      return [node.test];
    case 'ForStatement':
      return [node.init, node.test, node.update];
    case 'Property':
      // `Array.from({length: 4})`
      return [node.key, node.key.type === 'Identifier' && node.key.name === 'length' ? node.value : null];
    case 'PropertyDefinition':
    case 'MethodDefinition':
      return [node.key];
    case 'TemplateLiteral':
      return node.expressions;
    case 'CallExpression':
    case 'NewExpression': {
      const name = callName(node.callee) ?? '';
      if (integerArguments.has(name) || name.endsWith('Array'))
        return node.arguments.flatMap(contributingNumbers);
      if (name === 'pow') return node.arguments.slice(1).flatMap(contributingNumbers);
      return name === 'set' || name === 'with' ? node.arguments.slice(0, 1) : [];
    }
    default:
      return [];
  }
}
