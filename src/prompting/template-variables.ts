/** The variables a template may use: the shape of its context. */
import { z } from 'zod';
import type { Fact } from './fact-values.js';

export type Shape =
  | { readonly kind: 'value'; readonly optional: boolean }
  | { readonly kind: 'object'; readonly optional: boolean; readonly fields: Readonly<Record<string, Shape>> }
  | { readonly kind: 'list'; readonly optional: boolean; readonly item: Shape };

const value: Shape = { kind: 'value', optional: false };

/** The shape of what a schema accepts; nullable means optional. */
export function shapeOfSchema(schema: z.core.$ZodType): Shape {
  if (schema instanceof z.ZodNullable) return { ...shapeOfSchema(schema.unwrap()), optional: true };
  if (schema instanceof z.ZodArray)
    return { kind: 'list', optional: false, item: shapeOfSchema(schema.element) };
  if (!(schema instanceof z.ZodObject)) return value;
  const fields = Object.entries(schema.shape).map(([name, field]) => [name, shapeOfSchema(field)] as const);
  return { kind: 'object', optional: false, fields: Object.fromEntries(fields) };
}

/** The shape of given data; a list has the shape of its first item. */
export function shapeOfData(data: Fact): Shape {
  if (typeof data !== 'object') return value;
  if (isList(data)) return { kind: 'list', optional: false, item: shapeOfData(data[0] ?? '') };
  const fields = Object.entries(data).map(([name, field]) => [name, shapeOfData(field)] as const);
  return { kind: 'object', optional: false, fields: Object.fromEntries(fields) };
}

function isList(data: Fact): data is readonly Fact[] {
  return Array.isArray(data);
}

/** `path`, type and description of every variable, in the order of the schema. */
export function variablesOf(schema: z.core.$ZodType, path = ''): readonly Variable[] {
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

export interface Variable {
  readonly path: string;
  readonly type: string;
  readonly description: string;
}

function typeName(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodNullable) return `${typeName(schema.unwrap())} or null`;
  if (schema instanceof z.ZodArray) return 'list';
  if (schema instanceof z.ZodObject) return 'object';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  return schema instanceof z.ZodNumber ? 'number' : 'text';
}
