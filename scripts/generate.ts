/** Updates the tables in the documents that are generated from the config schemas. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { numericKind } from '../finetune/rl/numeric/numeric-config.js';
import { proposerKind } from '../finetune/rl/proposer/proposer-config.js';
import { rlKind } from '../finetune/rl/rl-config.js';
import { trainingKind } from '../finetune/train/train-config.js';
import { playKind } from '../src/agents/play-config.js';
import { askAgainSchema, observationSchema, systemSchema } from '../src/agents/prompted-agent.js';
import { packageRoot } from '../src/base/package.js';
import { jsonSchemaOf, type SchemaNode } from '../src/base/settings/schema.js';
import { markdownTable, text } from '../src/base/text/table.js';
import { experimentKind } from '../src/config/config.js';
import { criticCorrectionSchema } from '../src/experiment/stages/critic/context.js';
import { correctionContextSchema } from '../src/prompting/context/prompt-context.js';
import { variablesOf } from '../src/prompting/templates/variables.js';
import { configReference, configSummary, withReference } from './reference.js';

/** Selects the tables of some sections as Markdown; `''` is the top level, and `model.price` belongs to `model`. */
function tables(json: SchemaNode): (wanted: (section: string) => boolean) => string {
  const all = configReference(json).split(/\n\n(?=### )/);
  const sectionOf = (part: string) => /^### `(\w+)/.exec(part)?.[1] ?? '';
  return (wanted) => all.filter((part) => wanted(sectionOf(part))).join('\n\n');
}

const experiment = tables(experimentKind.json);

/** The pages of docs/reference with their markers. */
const references: readonly (readonly [page: string, marker: string, text: string])[] = [
  ['experiment', 'config', experiment((section) => section !== 'model')],
  ['model', 'model', experiment((section) => section === 'model')],
  ['training', 'training', configReference(trainingKind.json)],
  ['play', 'play', tables(playKind.json)((section) => section === '' || section === 'policy')],
  ['reinforcement', 'rl', configReference(rlKind.json)],
  ['reinforcement', 'proposer', configReference(ownOf(proposerKind.schema, rlKind.schema))],
  ['reinforcement', 'numeric', configReference(numericKind.json)],
];

/** The part of a schema that the other schema lacks or defines differently. */
function ownOf(schema: z.ZodType, other: z.ZodType): SchemaNode {
  const { properties = {}, ...node } = jsonSchemaOf(schema);
  const others = jsonSchemaOf(other).properties ?? {};
  const own = Object.entries(properties).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(others[key]),
  );
  return { ...node, properties: Object.fromEntries(own) };
}

type Variable = ReturnType<typeof variablesOf>[number];

const ofProposers = variablesOf(correctionContextSchema);
const isShared = (one: Variable) =>
  ofProposers.some((other) => JSON.stringify(other) === JSON.stringify(one));
/** The variables of an agent's template, except the parts of spaces, which only a partial uses. */
const ofAgents = (schema: z.ZodType) =>
  variablesOf(schema).filter(({ path }) => !/^environment\.(observation|action)\./.test(path));

/** The folders of prompts with the markers in their README and the variables of their templates. */
const prompts: readonly (readonly [folder: string, marker: string, variables: readonly Variable[]])[] = [
  ['', 'variables', ofProposers],
  ['critic/', 'variables', variablesOf(criticCorrectionSchema).filter((one) => !isShared(one))],
  ['agents/', 'system', ofAgents(systemSchema)],
  ['agents/', 'observation', ofAgents(observationSchema)],
  ['agents/', 'ask-again', ofAgents(askAgainSchema)],
];

const variableTable = (variables: readonly Variable[]) =>
  markdownTable(variables, [
    text('variable', ({ path }) => ({ text: path, code: true })),
    text('type', ({ type }) => type),
    text('meaning', ({ description }) => description),
  ]);

function update(file: string, content: (current: string) => string): void {
  const path = join(packageRoot(), file);
  writeFileSync(path, content(existsSync(path) ? readFileSync(path, 'utf8') : ''));
}

for (const [page, marker, reference] of references) {
  update(`docs/reference/${page}.md`, (current) => withReference(current, reference, marker));
}
for (const [folder, marker, variables] of prompts) {
  update(`prompts/${folder}README.md`, (current) => withReference(current, variableTable(variables), marker));
}
if (existsSync(join(packageRoot(), 'README.md'))) {
  update('README.md', (current) => withReference(current, configSummary(experimentKind.json)));
}
