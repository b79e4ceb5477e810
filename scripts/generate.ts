/** Writes what is generated from the config's schema: configs/schema.json and the references in the documents. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configReference, configSummary, schemaJson, withReference } from '../src/config/reference.js';
import { packageRoot } from '../src/package.js';

function update(file: string, content: (current: string) => string): void {
  const path = join(packageRoot(), file);
  writeFileSync(path, content(existsSync(path) ? readFileSync(path, 'utf8') : ''));
}

update('configs/schema.json', schemaJson);
update('docs/configuration.md', (text) => withReference(text, configReference()));
if (existsSync(join(packageRoot(), 'README.md'))) {
  update('README.md', (text) => withReference(text, configSummary()));
}
