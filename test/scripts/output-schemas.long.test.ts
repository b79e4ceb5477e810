import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { outputSchemas, schemaTable } from '../../scripts/output-schemas.js';
import { packageRoot } from '../../src/base/package.js';

it('every output type has a description, and docs/json/README.md lists them (npm run generate)', () => {
  const schemas = outputSchemas();
  expect(readFileSync(join(packageRoot(), 'docs', 'json', 'README.md'), 'utf8')).toContain(
    schemaTable(schemas),
  );
  expect(schemas.filter(({ schema }) => !schema.description?.endsWith('.'))).toEqual([]);
});
