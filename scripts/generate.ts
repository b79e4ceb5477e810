/** Writes what is generated from the schemas of configs: those for editors, and the references in the documents. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { numericKind } from '../finetune/rl/numeric/numeric-config.js';
import { proposerKind } from '../finetune/rl/proposer/proposer-config.js';
import { rlKind } from '../finetune/rl/rl-config.js';
import { trainingKind } from '../finetune/train/train-config.js';
import { outputSchemaFile } from '../src/base/output-schema.js';
import { packageRoot } from '../src/base/package.js';
import { experimentKind } from '../src/config/config.js';
import { playKind } from '../src/play/play-config.js';
import { jsonSchemaOf, type SchemaNode } from '../src/settings/schema.js';
import { collectionKind } from '../src/studies/collection/collection-config.js';
import { outputSchemas, schemaTable } from './output-schemas.js';
import { configReference, configSummary, schemaJson, withReference } from './reference.js';

/** Sections that plays share with experiments are told there. */
function playReference(): string {
  const { policy } = playKind.json.properties!;
  const own = configReference({ ...playKind.json, properties: { policy: policy! } });
  return `${configSummary(playKind.json)}\n\n${own.slice(own.indexOf('### `policy`'))}`;
}

const references = () => ({
  config: configReference(experimentKind.json),
  collection: configSummary(collectionKind.json),
  training: configReference(trainingKind.json),
  play: playReference(),
  rl: configReference(rlKind.json),
  proposer: configReference(ownOf(proposerKind.schema, rlKind.schema)),
  numeric: configReference(numericKind.json),
});

/** The part of a schema that the other one lacks, or has otherwise. */
function ownOf(schema: z.ZodType, other: z.ZodType): SchemaNode {
  const { properties = {}, ...node } = jsonSchemaOf(schema);
  const others = jsonSchemaOf(other).properties ?? {};
  const own = Object.entries(properties).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(others[key]),
  );
  return { ...node, properties: Object.fromEntries(own) };
}

function update(file: string, content: (current: string) => string): void {
  const path = join(packageRoot(), file);
  writeFileSync(path, content(existsSync(path) ? readFileSync(path, 'utf8') : ''));
}

update('configs/schema.json', () => schemaJson(experimentKind.json, 'config'));
update('configs/collection.schema.json', () => schemaJson(collectionKind.json, 'collection'));
update('configs/training.schema.json', () => schemaJson(trainingKind.json, 'training'));
update('configs/play.schema.json', () => schemaJson(playKind.json, 'play'));
// A language model is trained, as an agent or as a proposer, or a policy of numbers.
update('configs/rl.schema.json', () =>
  schemaJson({ anyOf: [rlKind.json, proposerKind.json, numericKind.json] }, 'rl'),
);
const outputs = outputSchemas();
for (const { command, schema } of outputs) {
  writeFileSync(outputSchemaFile(command), `${JSON.stringify(schema, null, 2)}\n`);
}
update('docs/json/README.md', (text) => withReference(text, schemaTable(outputs), 'schemas'));
for (const [name, reference] of Object.entries(references())) {
  update('docs/configuration.md', (text) => withReference(text, reference, name));
}
if (existsSync(join(packageRoot(), 'README.md'))) {
  update('README.md', (text) => withReference(text, configSummary(experimentKind.json)));
}
