/** Writes what is generated from the schemas of configs: those for editors, and the references in the documents. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { numericKind } from '../finetune/rl/numeric/numeric-config.js';
import { rlKind } from '../finetune/rl/rl-config.js';
import { trainingKind } from '../finetune/train/train-config.js';
import { packageRoot } from '../src/base/package.js';
import { experimentKind } from '../src/config/config.js';
import { configReference, configSummary, schemaJson, withReference } from '../src/config/reference.js';
import { collectionKind } from '../src/studies/collection-config.js';

const references = () => ({
  config: configReference(experimentKind.json),
  collection: configSummary(collectionKind.json),
  training: configReference(trainingKind.json),
  rl: configReference(rlKind.json),
  numeric: configReference(numericKind.json),
});

function update(file: string, content: (current: string) => string): void {
  const path = join(packageRoot(), file);
  writeFileSync(path, content(existsSync(path) ? readFileSync(path, 'utf8') : ''));
}

update('configs/schema.json', () => schemaJson(experimentKind.json, 'config'));
update('configs/collection.schema.json', () => schemaJson(collectionKind.json, 'collection'));
update('configs/training.schema.json', () => schemaJson(trainingKind.json, 'training'));
// A language model is trained, or a policy of numbers.
update('configs/rl.schema.json', () => schemaJson({ anyOf: [rlKind.json, numericKind.json] }, 'rl'));
for (const [name, reference] of Object.entries(references())) {
  update('docs/configuration.md', (text) => withReference(text, reference, name));
}
if (existsSync(join(packageRoot(), 'README.md'))) {
  update('README.md', (text) => withReference(text, configSummary(experimentKind.json)));
}
