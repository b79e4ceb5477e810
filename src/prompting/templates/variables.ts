/** The variables of a template's context, as described by its schema. */
import { z } from 'zod';

/** Lists all described variables of a schema, in the schema's order. */
export function variablesOf(
  schema: z.core.$ZodType,
  path = '',
): readonly { readonly path: string; readonly type: string; readonly description: string }[] {
  if (schema instanceof z.ZodNullable) return variablesOf(schema.unwrap(), path);
  if (schema instanceof z.ZodArray) return variablesOf(schema.element, `${path}[]`);
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([name, field]) => {
    const fieldPath = path === '' ? name : `${path}.${name}`;
    const nested = variablesOf(field, fieldPath);
    const description = field.description;
    return description === undefined
      ? nested
      : [{ path: fieldPath, type: typeName(field), description }, ...nested];
  });
}

function typeName(schema: z.core.$ZodType): string {
  if (schema instanceof z.ZodNullable) return `${typeName(schema.unwrap())} or null`;
  if (schema instanceof z.ZodArray) return 'list';
  if (schema instanceof z.ZodObject) return 'object';
  if (schema instanceof z.ZodBoolean) return 'boolean';
  return schema instanceof z.ZodNumber ? 'number' : 'text';
}

/**
 * Creates two contexts that a schema accepts: one in which everything is present and true and each list has an item,
 * and one in which everything optional is null, booleans are false, and lists are empty.
 * @param extraFields fields that aren't in the schema
 */
export const samplesOf = (schema: z.core.$ZodType, extraFields: object = {}): readonly object[] =>
  [true, false].map((isFull) => ({ ...(sampleOf(schema, isFull) as object), ...extraFields }));

function sampleOf(schema: z.core.$ZodType, isFull: boolean): unknown {
  if (schema instanceof z.ZodNullable) return isFull ? sampleOf(schema.unwrap(), isFull) : null;
  if (schema instanceof z.ZodArray) return isFull ? [sampleOf(schema.element, isFull)] : [];
  if (schema instanceof z.ZodBoolean) return isFull;
  if (schema instanceof z.ZodNumber) return 1;
  if (!(schema instanceof z.ZodObject)) return 'text';
  const fields = Object.entries(schema.shape).map(([name, field]) => [name, sampleOf(field, isFull)]);
  return Object.fromEntries(fields);
}
