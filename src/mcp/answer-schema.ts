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
 * not with what these contain. The complete schema is a file of the package.
 * @param kinds which of the alternatives the tool returns, by the names of their definitions (default: all)
 */
export function answerSchema(command: string, kinds?: readonly string[]): Record<string, unknown> {
  // The tool has a description of its own.
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

/** The schema without details. @param isOpen whether to keep what the value contains */
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
