/** Schemas of the tools' answers, short enough for a client that passes them to its model. */
import { readFileSync } from 'node:fs';
import { outputSchemaFile } from '../base/output-schema.js';

interface Schema extends Readonly<Record<string, unknown>> {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly items?: Schema;
  readonly properties?: Definitions;
  readonly definitions?: Definitions;
}

type Definitions = Readonly<Record<string, Schema>>;

/**
 * The schema of a command's output and notes: an object, as the protocol requires, with the fields of the result but
 * without their inner structure. The package contains the complete schema as a file.
 * @param kinds names of the definitions that the tool can return (default: all)
 */
export function answerSchema(command: string, kinds?: readonly string[]): Record<string, unknown> {
  // The description is dropped, because the tool has its own.
  const {
    definitions = {},
    description,
    ...schema
  } = JSON.parse(readFileSync(outputSchemaFile(command), 'utf8')) as Schema;
  const chosen =
    kinds === undefined ? schema : { anyOf: kinds.map((kind) => ({ $ref: `#/definitions/${kind}` })) };
  return {
    ...{ type: 'object', required: ['result'] },
    properties: { result: outlined(chosen, definitions, true), notes: { type: 'array' } },
  };
}

/** Shortens a schema. @param isOpen true to keep the fields or items of the value */
function outlined(schema: Schema, definitions: Definitions, isOpen: boolean): Schema {
  const { $ref, $schema, additionalProperties, anyOf, items, properties, required, ...own } = schema;
  if ($ref !== undefined)
    return outlined({ ...definitions[$ref.replace('#/definitions/', '')], ...own }, definitions, isOpen);
  if (!isOpen) return own;
  const fields = Object.entries(properties ?? {});
  return {
    ...own,
    ...(anyOf && { anyOf: anyOf.map((each) => outlined(each, definitions, true)) }),
    ...(items && { items: outlined(items, definitions, true) }),
    ...(fields.length > 0 && {
      properties: Object.fromEntries(
        fields.map(([name, value]) => [name, outlined(value, definitions, false)]),
      ),
    }),
  };
}
