/** Declares names that a program uses without declaring them, if they can mean only one thing. */
import type { AnyNode } from 'acorn';
import { childrenOf, isFunction, namesIn, nodesIn, syntaxTree, topLevelDeclaration } from './syntax.js';

/**
 * Small models often write `poleAngle > 0` instead of `observation.poleAngle > 0`, or assign `action` without a `let`.
 * The declarations are inserted after the opening brace of `act`, so that line numbers don't change.
 * @param components names of the observation's components
 * @throws ProgramFault like `syntaxTree`
 */
export function withDeclarations(source: string, components: readonly string[]): string {
  const script = syntaxTree(source);
  const act = topLevelDeclaration(script, 'act')?.value;
  if (!isFunction(act) || act.body.type !== 'BlockStatement') return source;
  const bodyUses = new Set(referencesIn(act.body));
  const outerNames = [...referencesIn(script)].filter((id) => !bodyUses.has(id)).flatMap(({ name }) => name);
  const knownNames = new Set([...declaredNames(script), ...outerNames]);
  const names = new Set([...bodyUses].flatMap(({ name }) => (knownNames.has(name) ? [] : [name])));
  const [observation] = act.params;
  const isNamed = observation?.type === 'Identifier';
  const usedNames = isNamed ? components.filter((name) => names.has(name)) : [];
  const undeclaredNames = [...assignedNames(act.body)].filter(
    (name) => names.has(name) && !usedNames.includes(name) && !(name in globalThis),
  );
  const lines = [
    ...(isNamed && usedNames.length > 0 ? [`let { ${usedNames.join(', ')} } = ${observation.name};`] : []),
    ...(undeclaredNames.length > 0 ? [`let ${undeclaredNames.join(', ')};`] : []),
  ];
  const brace = act.body.start + 1;
  return lines.length === 0 ? source : `${source.slice(0, brace)} ${lines.join(' ')}${source.slice(brace)}`;
}

type Identifier = Extract<AnyNode, { type: 'Identifier' }>;

/** Finds the identifiers that refer to variables, not to properties or labels. */
function* referencesIn(node: AnyNode): Generator<Identifier> {
  switch (node.type) {
    case 'Identifier':
      yield node;
      break;
    case 'MemberExpression':
      yield* referencesIn(node.object);
      if (node.computed) yield* referencesIn(node.property);
      break;
    case 'Property':
    case 'MethodDefinition':
    case 'PropertyDefinition':
      if (node.computed) yield* referencesIn(node.key);
      if (node.value) yield* referencesIn(node.value);
      break;
    case 'LabeledStatement':
      yield* referencesIn(node.body);
      break;
    case 'BreakStatement':
    case 'ContinueStatement':
    case 'MetaProperty':
      break;
    default:
      for (const child of childrenOf(node)) yield* referencesIn(child);
  }
}

/** Finds the names that are declared anywhere. */
function* declaredNames(script: AnyNode): Generator<string> {
  for (const node of nodesIn(script)) {
    if (node.type === 'VariableDeclarator') yield* namesIn(node.id);
    if (node.type === 'CatchClause' && node.param) yield* namesIn(node.param);
    if ((isFunction(node) || node.type === 'ClassDeclaration') && node.id) yield node.id.name;
    if (isFunction(node)) for (const parameter of node.params) yield* namesIn(parameter);
  }
}

/** Finds the variables that are assigned a value with `=`. */
function* assignedNames(body: AnyNode): Generator<string> {
  const found = new Set<string>();
  for (const node of nodesIn(body))
    if (node.type === 'AssignmentExpression' && node.operator === '=' && node.left.type === 'Identifier')
      found.add(node.left.name);
  yield* found;
}
