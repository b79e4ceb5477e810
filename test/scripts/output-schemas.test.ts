import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from 'vitest';
import { outputSchemas, schemaTable } from '../../scripts/output-schemas.js';
import { outputSchemaFile } from '../../src/base/output-schema.js';
import { packageRoot } from '../../src/base/package.js';

it('docs/json/ is what npm run generate makes of the types', () => {
  const schemas = outputSchemas();
  const folder = join(packageRoot(), 'docs', 'json');
  const written = Object.fromEntries(
    readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  );
  const { 'README.md': index, ...files } = written;
  expect(files).toEqual(
    Object.fromEntries(
      schemas.map(({ command, schema }) => [
        basename(outputSchemaFile(command)),
        `${JSON.stringify(schema, null, 2)}\n`,
      ]),
    ),
  );
  expect(index).toContain(schemaTable(schemas));
  // A reader knows from the index what a line is.
  expect(schemas.filter(({ schema }) => !schema.description?.endsWith('.'))).toEqual([]);
});
