/** Checks a template against its context. Handlebars' strict mode only checks the branches that it renders. */
import { nearest, type Problem } from '../../base/errors.js';
import {
  assured,
  fieldNames,
  innerScope,
  type Path,
  resolvePath,
  rootScope,
  type Scope,
  type Shape,
} from './template-scope.js';

export interface ParsedTemplate {
  readonly file: string;
  readonly source: string;
  readonly program: hbs.AST.Program;
}

export type Helper = string | number | boolean | ((...given: unknown[]) => unknown);

/** Helpers that templates may use in addition to the context: `{{shout environment.id}}`, `{{laboratory}}`. */
export type TemplateHelpers = ReadonlyMap<string, Helper>;

/** The Handlebars helpers that templates may use. */
export const blockHelpers: readonly string[] = ['if', 'unless', 'each', 'with'];

/** Finds undefined names, unchecked optional values and unsupported syntax. `included`: the names of the template's partials. */
export function checkTemplate(
  template: ParsedTemplate,
  context: Shape,
  partials: ReadonlyMap<string, ParsedTemplate>,
  helpers: TemplateHelpers = new Map(),
): { readonly problems: readonly Problem[]; readonly included: ReadonlySet<string> } {
  const included = new Set<string>();
  const { file } = template;
  const place: Place = {
    file,
    scope: rootScope(context),
    partials,
    helpers,
    including: [],
    included,
  };
  // A partial is checked once per inclusion, but its problems are reported only once.
  const found = new Map<string, Problem>();
  for (const problem of checkProgram(template.program, place)) {
    found.set(`${problem.file}:${problem.line}:${problem.column}:${problem.message}`, problem);
  }
  return { problems: [...found.values()], included };
}

type Node = hbs.AST.Node;
type Problems = Generator<Problem, void>;

interface Place {
  readonly file: string;
  readonly scope: Scope;
  readonly partials: ReadonlyMap<string, ParsedTemplate>;
  readonly helpers: TemplateHelpers;
  /** Names of the partials being included, outermost first. */
  readonly including: readonly string[];
  /** Collects the names of all partials encountered. */
  readonly included: Set<string>;
}

function at({ file }: Place, node: Node, problem: Problem): Problem {
  const { line, column } = node.loc.start;
  return { file, line, column: column + 1, ...problem };
}

function* checkProgram(program: hbs.AST.Program | undefined, place: Place): Problems {
  for (const statement of program?.body ?? []) yield* checkStatement(statement, place);
}

function* checkStatement(node: Node, place: Place): Problems {
  switch (node.type) {
    case 'ContentStatement':
    case 'CommentStatement':
      return;
    case 'MustacheStatement':
      return yield* checkMustache(node as hbs.AST.MustacheStatement, place);
    case 'BlockStatement':
      return yield* checkBlock(node as hbs.AST.BlockStatement, place);
    case 'PartialStatement':
      return yield* checkPartial(node as hbs.AST.PartialStatement, place);
    default:
      yield at(place, node, {
        message: 'inline partials, partial blocks and decorators are not supported',
        remedy: 'put the text into a file under partials/ and include it with {{> name}}',
      });
  }
}

function* checkMustache(node: hbs.AST.MustacheStatement, place: Place): Problems {
  if (!isPath(node.path)) {
    yield at(place, node, { message: 'this is a constant, not a variable: write it as plain text' });
  } else if (place.helpers.has(node.path.original)) {
    yield* checkHelper(node, place);
  } else if (node.params.length > 0 || node.hash !== undefined) {
    yield at(place, node.path, unknownHelper(node.path.original, [...place.helpers.keys()]));
  } else {
    const shape = yield* resolve(node.path, place);
    if (shape !== undefined && shape.kind !== 'value')
      yield at(place, node.path, notText(node.path.original, shape));
  }
}

/** Checks a call of a user's helper: arguments can be variables or literals. */
function* checkHelper({ path, params, hash }: hbs.AST.MustacheStatement, place: Place): Problems {
  const { original: name } = path as Path;
  if (fieldNames(place.scope.root).includes(name))
    yield at(place, path, {
      message: `${name} is both a variable and a helper`,
      remedy: 'rename the helper',
    });
  if (hash !== undefined) yield at(place, path, { message: `${name} takes no named arguments` });
  const takesNone = typeof place.helpers.get(name) !== 'function';
  if (takesNone && params.length > 0) yield at(place, path, { message: `${name} is not a function` });
  for (const param of params) {
    if (isPath(param)) yield* resolve(param, place);
    else if (param.type === 'SubExpression') {
      yield at(place, param, { message: 'expressions in parentheses are not supported' });
    }
  }
}

function* checkBlock(node: hbs.AST.BlockStatement, place: Place): Problems {
  const helper = node.path.original;
  const [argument] = node.params;
  if (!blockHelpers.includes(helper)) {
    yield at(place, node.path, unknownHelper(helper, []));
  } else if (node.params.length !== 1 || !isPath(argument) || node.hash !== undefined) {
    yield at(place, node, { message: `#${helper} takes exactly one variable` });
  } else if (helper === 'if' || helper === 'unless') {
    if ((yield* resolve(argument, place)) === undefined) return;
    const present = { ...place, scope: assured(place.scope, argument) };
    yield* checkProgram(node.program, helper === 'if' ? present : place);
    yield* checkProgram(node.inverse, helper === 'if' ? place : present);
  } else {
    const shape = yield* resolve(argument, place);
    if (shape === undefined) return;
    if (helper === 'each' && shape.kind !== 'list')
      return yield at(place, argument, { message: `#each needs a list, but ${argument.original} isn't one` });
    const inner = helper === 'each' && shape.kind === 'list' ? shape.item : shape;
    const scope = innerScope(place.scope, inner, node.program.blockParams?.[0], helper === 'each');
    yield* checkProgram(node.program, { ...place, scope });
    yield* checkProgram(node.inverse, place);
  }
}

function* checkPartial(node: hbs.AST.PartialStatement, place: Place): Problems {
  const { partials, including, scope } = place;
  const name = node.name.type === 'PathExpression' ? node.name.original : '';
  const partial = partials.get(name);
  if (partial === undefined) return yield at(place, node.name, unknownPartial(name, [...partials.keys()]));
  if (including.includes(name))
    return yield at(place, node.name, { message: `the partial ${name} includes itself` });
  place.included.add(name);
  const [argument] = node.params;
  const shape = isPath(argument) ? yield* resolve(argument, place) : scope.shape;
  if (shape === undefined) return;
  const named: Record<string, Shape> = {};
  for (const { key, value } of node.hash?.pairs ?? []) {
    const given = isPath(value) ? yield* resolve(value, place) : undefined;
    named[key] = given ?? { kind: 'value', optional: false };
  }
  const whole = shape.kind === 'object' ? { ...shape, fields: { ...shape.fields, ...named } } : shape;
  const inside: Scope = {
    ...innerScope(scope, whole, undefined, false),
    parent: undefined,
    blockParams: new Map(),
    ...(argument === undefined && { present: scope.present }),
  };
  yield* checkProgram(partial.program, {
    ...place,
    file: partial.file,
    scope: inside,
    including: [...including, name],
  });
}

function* resolve(path: Path, place: Place): Generator<Problem, Shape | undefined> {
  const resolved = resolvePath(path, place.scope);
  if (resolved.kind === 'shape') return resolved.shape;
  yield at(place, path, resolved.problem);
  return undefined;
}

function unknownHelper(name: string, own: readonly string[]): Problem {
  const known = [...blockHelpers.map((helper) => `#${helper}`), ...own];
  const suggestion = nearest(name, [...blockHelpers, ...own]);
  return {
    message: `there is no helper ${name}`,
    alternatives: known,
    ...(suggestion !== undefined && {
      remedy: `did you mean ${known.includes(suggestion) ? suggestion : `#${suggestion}`}?`,
    }),
  };
}

function unknownPartial(name: string, names: readonly string[]): Problem {
  if (name === '') return { message: 'the name of a partial must be constant' };
  const suggestion = nearest(name, names);
  return {
    message: `there is no partial ${name}`,
    alternatives: names,
    remedy: suggestion === undefined ? `add partials/${name}.hbs` : `did you mean ${suggestion}?`,
  };
}

function notText(name: string, shape: Shape): Problem {
  if (shape.kind === 'list')
    return { message: `${name} is a list`, remedy: `use {{#each ${name}}} … {{/each}}` };
  return {
    message: `${name} is an object, not text`,
    alternatives: fieldNames(shape).map((field) => `${name}.${field}`),
  };
}

const isPath = (node: Node | undefined): node is Path => node?.type === 'PathExpression';
