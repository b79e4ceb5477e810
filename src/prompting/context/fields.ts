/** Building blocks for schemas of template variables. */
import { z } from 'zod';

export const count = (about: string) => z.int().min(0).describe(about);
export const flag = (about: string) => z.boolean().describe(about);
export const text = (about: string) => z.string().describe(about);
export const textOrNull = (about: string) => z.string().nullable().describe(about);

export const object = <S extends z.ZodRawShape>(about: string, fields: S) =>
  z.strictObject(fields).describe(about);
export const nullable = <S extends z.ZodRawShape>(about: string, fields: S) =>
  z.strictObject(fields).nullable().describe(about);
export const list = <S extends z.ZodRawShape>(about: string, fields: S) =>
  z.array(z.strictObject(fields)).describe(about);
