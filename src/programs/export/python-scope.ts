/** The variables of a program in translation. In Python, blocks share the variables of their function. */
import type { AnyNode, Pattern } from 'acorn';
import { childrenOf, type FunctionNode, isFunction } from '../syntax.js';
import { type Lines, type Node, pythonName, Untranslatable } from './python-code.js';

/** What all scopes of a program share. */
export interface Shared {
  /** Properties that the program defines itself. */
  readonly own: ReadonlySet<string>;
  /** Arguments of calls. */
  readonly callbacks: ReadonlySet<AnyNode>;
  /** Definitions that come before the current statement. */
  before: Lines;
  /** Number of names that the translation made up. */
  count: number;
  /** Writes a function. */
  define(node: FunctionNode, name: string, parent: Scope): Lines;
}

/** A function's variables, or the program's. */
export interface Scope {
  readonly shared: Shared;
  readonly parent?: Scope;
  /** In the current block and the blocks around it; in Python, blocks share the variables of their function. */
  visible: readonly string[];
  readonly declared: Set<string>;
  /** Variables of outer functions. */
  readonly foreign: Set<string>;
  readonly assigned: Set<string>;
  /** For each loop around the current statement, what `continue` does first. */
  readonly loops: (readonly string[])[];
}

export const createScope = (shared: Shared, parent?: Scope): Scope => ({
  ...{ shared, ...(parent && { parent }), visible: [], loops: [] },
  ...{ declared: new Set<string>(), foreign: new Set<string>(), assigned: new Set<string>() },
});

/** A name for a variable of the translation's own. */
export const temporary = ({ shared }: Scope): string => `t${++shared.count}`;

export function isKnown(name: string, { declared, foreign, parent, visible }: Scope): boolean {
  if (visible.includes(name)) return true;
  if (parent === undefined || !isKnown(name, parent)) return false;
  foreign.add(name);
  return !declared.has(name);
}

export function declare(node: AnyNode, names: Lines, scope: Scope): void {
  for (const name of names) {
    if (scope.visible.includes(name) || scope.foreign.has(name)) throw new Untranslatable(node);
    scope.visible = [...scope.visible, name];
    scope.declared.add(name);
  }
}

export function target(node: Node<'Identifier'>, scope: Scope): string {
  if (!isKnown(node.name, scope)) throw new Untranslatable(node);
  scope.assigned.add(node.name);
  return pythonName(node.name);
}

/** The variables that a pattern assigns. */
export function namesIn(pattern: Pattern): Lines {
  switch (pattern.type) {
    case 'Identifier':
      return [pattern.name];
    case 'AssignmentPattern':
      return namesIn(pattern.left);
    case 'ArrayPattern':
      return pattern.elements.flatMap((part) => (part ? namesIn(part) : []));
    case 'ObjectPattern':
      return pattern.properties.flatMap((part) => (part.type === 'Property' ? namesIn(part.value) : []));
    default:
      return [];
  }
}

export const declaredBy = ({ declarations }: Node<'VariableDeclaration'>): Lines =>
  declarations.flatMap(({ id }) => namesIn(id));

/** The variables that `var` declares in a function, at any depth. */
export function varsIn(node: AnyNode): Lines {
  const names = node.type === 'VariableDeclaration' && node.kind === 'var' ? declaredBy(node) : [];
  const inner = childrenOf(node).flatMap((child) => (isFunction(child) ? [] : varsIn(child)));
  return [...new Set([...names, ...inner])];
}
