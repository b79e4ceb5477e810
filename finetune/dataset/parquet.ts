/** Writes Parquet files whose nested messages can be loaded by Arrow, pandas and Hugging Face Datasets. */
import { fileWriter, ParquetWriter, type SchemaElement } from 'hyparquet-writer';
import { version } from '../../src/base/package.js';

export type Column =
  | { readonly kind: 'text' | 'number' | 'count' | 'boolean' | 'messages' }
  | { readonly kind: 'struct'; readonly fields: Columns };

/** Columns by name, in order. A name ending in `?` marks an optional column. */
export type Columns = Readonly<Record<string, Column>>;

/** Rows encoded at a time, to limit memory. */
const rowGroup = 1000;

/** Writes rows with the columns as fields. Replaces an existing file. */
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
    // A file writer is synchronous, so there is no promise to await.
    void writer.write({
      columnData: names.map((name) => ({ name, data: group.map((row) => row[name]) })),
      rowGroupSize: rowGroup,
    });
  }
  void writer.finish();
}

/** Parquet types of columns without nested fields. */
const flatTypes: Readonly<Record<string, Partial<SchemaElement>>> = {
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8', logical_type: { type: 'STRING' } },
  number: { type: 'DOUBLE' },
  count: { type: 'INT32' },
  boolean: { type: 'BOOLEAN' },
};

/** Schema elements of a column, followed by those of its fields. */
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
