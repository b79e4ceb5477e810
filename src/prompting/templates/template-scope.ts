/** The shape of a template's context: which variables exist, and how paths resolve to them. */
import { z } from 'zod';
import { nearest, type Problem } from '../../base/errors.js';
import type { Fact } from '../../environments/catalogue/facts.js';

export type Shape =
  | { readonly kind: 'value'; readonly optional: boolean }
  | { readonly kind: 'object'; readonly optional: boolean; readonly fields: Readonly<Record<string, Shape>> }
  | { readonly kind: 'list'; readonly optional: boolean; readonly item: Shape };

const value: Shape = { kind: 'value', optional: false };

/** The shape of the values that a schema accepts; nullable means optional. */
export function shapeOfSchema(schema: z.core.$ZodType): Shape {
  if (schema instanceof z.ZodNullable) return { ...shapeOfSchema(schema.unwrap()), optional: true };
  if (schema instanceof z.ZodArray)
    return { kind: 'list', optional: false, item: shapeOfSchema(schema.element) };
  if (!(schema instanceof z.ZodObject)) return value;
  const fields = Object.entries(schema.shape).map(([name, field]) => [name, shapeOfSchema(field)] as const);
  return { kind: 'object', optional: false, fields: Object.fromEntries(fields) };
}

/** The shape of some data; assumes that all items of a list have the shape of the first. */
export function shapeOfData(data: Fact): Shape {
  if (typeof data !== 'object') return value;
  if (isList(data)) return { kind: 'list', optional: false, item: shapeOfData(data[0] ?? '') };
  const fields = Object.entries(data).map(([name, field]) => [name, shapeOfData(field)] as const);
  return { kind: 'object', optional: false, fields: Object.fromEntries(fields) };
}

const isList = (data: Fact): data is readonly Fact[] => Array.isArray(data);

/** The shape of a context with an additional field. */
export const withField = (context: Shape, name: string, field: Shape): Shape =>
  context.kind === 'object' ? { ...context, fields: { ...context.fields, [name]: field } } : context;

/** All described variables of a schema, in the schema's order. */
export function variablesOf(
  schema: z.core.$ZodType,
  path = '',
): readonly { readonly path: string; readonly type: string; readonly description: string }[] {
  if (schema instanceof z.ZodNullable) return variablesOf(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return variablesOf(schema.element, `${path}[]`);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const own = path === '' ? name : `${path}.${name}`;
    const nested = variablesOf(field, own);
    const description = field.description;
    return description === undefined
      ? nested
      : [{ path: own, type: typeName(field), description }, ...nested];
  });
}

function typeName(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodNullable) return `${typeName(schema.unwrap())} or null`;
  if (schema instanceof z.ZodArray) return 'list';
  if (schema instanceof z.ZodObject) return 'object';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  return schema instanceof z.ZodNumber ? 'number' : 'text';
}

export type Path = hbs.AST.PathExpression;

/** The names that can be used in one part of a template. */
export interface Scope {
  readonly root: Shape;
  readonly shape: Shape;
  /** The scope that `../` refers to; undefined at the top of a template or partial. */
  readonly parent: Scope | undefined;
  /** True if `@index`, `@first` and `@last` are defined. */
  readonly inLoop: boolean;
  /** Optional paths below `shape` or `@root` that an enclosing `#if` or `#unless` guarantees to be present. */
  readonly present: ReadonlySet<string>;
  readonly blockParams: ReadonlyMap<string, Shape>;
}

export function rootScope(context: Shape): Scope {
  const nothing = { parent: undefined, inLoop: false, present: new Set<string>(), blockParams: new Map() };
  return { root: context, shape: context, ...nothing };
}

/** The scope inside `#if path`, where `path` is known to be present. */
export function assured(scope: Scope, path: Path, depth = path.data ? 0 : path.depth): Scope {
  if (depth > 0)
    return scope.parent === undefined ? scope : { ...scope, parent: assured(scope.parent, path, depth - 1) };
  const key = path.data ? `@${path.parts.join('.')}` : path.parts.join('.');
  return { ...scope, present: new Set([...scope.present, key]) };
}

/** The scope inside `#with` or `#each`, with `shape` as its context. */
export function innerScope(scope: Scope, shape: Shape, blockParam: string | undefined, loop: boolean): Scope {
  return {
    root: scope.root,
    shape,
    parent: scope,
    inLoop: scope.inLoop || loop,
    present: new Set([...scope.present].filter((key) => key.startsWith('@'))),
    blockParams:
      blockParam === undefined ? scope.blockParams : new Map([...scope.blockParams, [blockParam, shape]]),
  };
}

export type Resolved =
  | { readonly kind: 'shape'; readonly shape: Shape }
  | { readonly kind: 'problem'; readonly problem: Problem };

const loopData = ['index', 'first', 'last'];

export function resolvePath(path: Path, scope: Scope): Resolved {
  return path.data ? resolveData(path, scope) : resolveField(path, scope);
}

function resolveData(path: Path, scope: Scope): Resolved {
  const [name = '', ...rest] = path.parts;
  if (name === 'root') return walk(path, scope.root, rest, '@root', scope.present);
  if (scope.inLoop && rest.length === 0 && loopData.includes(name)) return { kind: 'shape', shape: value };
  const known = ['@root', ...(scope.inLoop ? loopData.map((item) => `@${item}`) : [])];
  return problem({ message: `there is no @${path.parts.join('.')} here`, alternatives: known });
}

function resolveField(path: Path, scope: Scope): Resolved {
  let from: Scope | undefined = scope;
  for (let up = 0; up < path.depth && from !== undefined; up++) from = from.parent;
  if (from === undefined) {
    return problem({
      message: `${path.original} goes above the root of the template`,
      remedy: 'use @root to start from the whole context',
    });
  }
  const [first = '', ...rest] = path.parts;
  const param = path.depth === 0 ? from.blockParams.get(first) : undefined;
  if (param !== undefined) return walk(path, param, rest, first, new Set());
  return walk(path, from.shape, path.parts, '../'.repeat(path.depth).slice(0, -1), from.present);
}

/** Resolves `parts` from `start`, which messages call `startName` (empty for the current context). */
function walk(
  path: Path,
  start: Shape,
  parts: readonly string[],
  startName: string,
  present: ReadonlySet<string>,
): Resolved {
  let shape = start;
  let name = startName;
  for (const [i, part] of parts.entries()) {
    const key = [...(startName === '@root' ? ['@root'] : []), ...parts.slice(0, i)].join('.');
    if (i > 0 && shape.optional && !present.has(key)) {
      return problem({
        message: `${name} may be absent`,
        remedy: `put this inside {{#if ${name}}} … {{/if}} or {{#with ${name}}} … {{/with}}`,
      });
    }
    const field = fieldOf(shape, part);
    if (field === undefined) return unknownVariable(path, name, part, shape);
    shape = field;
    name = name === '' ? part : `${name}${name.endsWith('..') ? '/' : '.'}${part}`;
  }
  return { kind: 'shape', shape };
}

function fieldOf(shape: Shape, name: string): Shape | undefined {
  if (shape.kind === 'list' && name === 'length') return value;
  return shape.kind === 'object' && Object.hasOwn(shape.fields, name) ? shape.fields[name] : undefined;
}

export function fieldNames(shape: Shape): readonly string[] {
  return shape.kind === 'object' ? Object.keys(shape.fields) : [];
}

function unknownVariable(path: Path, parent: string, part: string, shape: Shape): Resolved {
  const names = fieldNames(shape);
  const suggestion = nearest(part, names);
  return problem({
    message: `there is no variable ${part}${parent === '' ? '' : ` in ${parent}`}`,
    value: path.original,
    alternatives: names,
    ...(suggestion !== undefined && {
      remedy: `did you mean ${parent === '' ? '' : `${parent}.`}${suggestion}?`,
    }),
  });
}

const problem = (found: Problem): Resolved => ({ kind: 'problem', problem: found });
