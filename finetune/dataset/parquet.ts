/** Rows as Parquet files: columns that Arrow, pandas and Hugging Face's datasets load with their nested messages. */
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { version } from '../../src/base/package.js';

export type Column =
  | { readonly kind: 'text' | 'number' | 'count' | 'boolean' | 'messages' }
  | { readonly kind: 'struct'; readonly fields: Columns };

/** Columns by name, in their order; a row may lack those whose name ends in `?`. */
export type Columns = Readonly<Record<string, Column>>;

/** Rows that are encoded at once, which bounds memory. */
const rowGroup = 1000;

/** Writes rows whose fields are the columns. An existing file is replaced. */
export function writeParquet(path: string, columns: Columns, rows: readonly object[]): void {
  const fields = Object.entries(columns).map(([name, column]) => schemaOf(name, column));
  const writer = new ParquetWriter({
    writer: fileWriter(path),
    schema: [{ name: 'schema', num_children: fields.length }, ...fields.flat()],
    createdBy: `policyloop ${version()}`,
  });
  const names = Object.keys(columns);
  for (let from = 0; from < rows.length; from += rowGroup) {
    const group = rows.slice(from, from + rowGroup) as readonly Readonly<Record<string, unknown>>[];
    // A writer to a file answers at once, not with a promise.
    void writer.write({
      columnData: names.map((name) => ({ name, data: group.map((row) => row[name]) })),
      rowGroupSize: rowGroup,
    });
  }
  void writer.finish();
}

/** Parquet's types of the columns without fields of their own. */
const flatTypes: Readonly<Record<string, Partial<SchemaElement>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  count: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
};

/** A column and, below it, its fields, as the file's schema lists them. */
function schemaOf(key: string, column: Column): readonly SchemaElement[] {
  const name = key.replace(/\?$/, '');
  const repetition_type = name === key ? 'REQUIRED' : 'OPTIONAL';
  switch (column.kind) {
    case 'messages':
      return [
        { name, converted_type: 'LIST', logical_type: { type: 'LIST' }, num_children: 1, repetition_type },
        { name: 'list', num_children: 1, repetition_type: 'REPEATED' },
        ...schemaOf('element', message),
      ];
    case 'struct': {
      const fields = Object.entries(column.fields).map(([field, inner]) => schemaOf(field, inner));
      return [{ name, num_children: fields.length, repetition_type }, ...fields.flat()];
    }
    default:
      return [{ name, ...flatTypes[column.kind], repetition_type }];
  }
}

const message: Column = { kind: 'struct', fields: { role: { kind: 'text' }, content: { kind: 'text' } } };
