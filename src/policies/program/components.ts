/** Finds observation components that a program uses but that don't exist: they would silently be undefined. */
import type { AnyNode, Pattern } from 'acorn';
import { append } from '../../base/append.js';
import { observationNames } from '../../environments/catalogue/observation-names.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import { ProgramFault } from './program.js';
import { isFunction, lineAt, nodesIn, syntaxTree, topLevelDeclaration } from './syntax.js';

/**
 * Checks `observation.name` and `const { name } = observation` in `act`, and `{ name }` as its parameter. Skips
 * programs that assign to the observation or its members, or redeclare its name.
 * @throws ProgramFault for the first name that is neither a component nor a property of arrays
 */
export function requireComponents(source: string, environment: EnvironmentSpec): void {
  const names = observationNames(environment).filter((name) => name !== undefined);
  const act = topLevelDeclaration(syntaxTree(source), 'act')?.value;
  if (names.length === 0 || !isFunction(act)) return;
  const [parameter] = act.params;
  const nameNodes = [...(parameter?.type === 'ObjectPattern' ? keysOf(parameter) : [])];
  const nodes = parameter?.type === 'Identifier' ? [...nodesIn(act.body)] : [];
  const isObservation = (node: AnyNode | null | undefined) =>
    node?.type === 'Identifier' && parameter?.type === 'Identifier' && node.name === parameter.name;
  for (const node of nodes) {
    if (isFunction(node) && node.params.some(isObservation)) return;
    if (node.type === 'VariableDeclarator' && isObservation(node.id)) return;
    if (node.type === 'AssignmentExpression') {
      const target = node.left.type === 'MemberExpression' ? node.left.object : node.left;
      if (isObservation(target)) return;
    }
    if (node.type === 'MemberExpression' && !node.computed && isObservation(node.object))
      nameNodes.push(node.property);
    if (node.type === 'VariableDeclarator' && node.id.type === 'ObjectPattern' && isObservation(node.init))
      append(nameNodes, keysOf(node.id));
  }
  for (const node of nameNodes) {
    if (node.type !== 'Identifier' || names.includes(node.name) || node.name in Array.prototype) continue;
    throw new ProgramFault({
      reason: `the observation has no component ${node.name}; its names are ${names.join(', ')}`,
      line: lineAt(source, node.start),
    });
  }
}

const keysOf = (pattern: Pattern): readonly AnyNode[] =>
  pattern.type !== 'ObjectPattern'
    ? []
    : pattern.properties.flatMap((property) =>
        property.type === 'Property' && !property.computed ? [property.key] : [],
      );
