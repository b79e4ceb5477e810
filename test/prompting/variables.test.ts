import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../src/base/package.js';
import { environmentFacts, environmentFamily } from '../../src/environments/catalogue/facts.js';
import { environmentIds } from '../../src/environments/catalogue/open.js';
import { criticCorrectionSchema } from '../../src/experiment/stages/critic/context.js';
import {
  correctionContextSchema,
  descriptionSchema,
  promptContextSchema,
} from '../../src/prompting/context/prompt-context.js';
import { samplesOf, variablesOf } from '../../src/prompting/templates/variables.js';

describe('the variables of templates', () => {
  it('are listed in prompts/README.md', () => {
    const readme = readFileSync(join(packageRoot(), 'prompts', 'README.md'), 'utf8');
    const documented = cellsOf(readme).filter(([name = '']) => !/^`(facts\.|[\w-]+\.hbs)/.test(name));
    const known = variablesOf(correctionContextSchema).map(({ path, type, description }) => [
      `\`${path}\``,
      type,
      description,
    ]);
    expect(documented).toEqual(known);
  });

  it('of the environment are those listed in prompts/README.md', () => {
    const readme = readFileSync(join(packageRoot(), 'prompts', 'README.md'), 'utf8');
    const documented = cellsOf(readme).flatMap(([fact = '', names = '']) =>
      fact.startsWith('`facts.') ? names.split(', ').map((name) => `${name}: ${fact.slice(7, -1)}`) : [],
    );
    const known = environmentIds().flatMap((id) =>
      Object.keys(environmentFacts(id, {})).map((fact) => `${environmentFamily(id)}: ${fact}`),
    );
    expect(documented.sort()).toEqual([...new Set(known)].sort());
  });

  it('have a description for each group', () => {
    const nameless = (
      ['environment', 'policy', 'parameters', 'answer', 'evaluation', 'memory', 'history', 'failure'] as const
    )
      .map((name) => correctionContextSchema.shape[name].description)
      .filter((description) => description === undefined);
    expect(nameless).toEqual([]);
  });

  it.each([promptContextSchema, correctionContextSchema, descriptionSchema])('have samples', (schema) => {
    const [full, empty] = samplesOf(schema);
    expect(schema.parse(full)).toEqual(full);
    expect(schema.parse(empty)).toEqual(empty);
    expect(full).not.toEqual(empty);
  });
});

/** The cells of all table rows that begin with code. */
function cellsOf(markdown: string): readonly (readonly string[])[] {
  const rows = markdown.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

it('variables that only the critic set has are listed in its README.md', () => {
  const readme = readFileSync(join(packageRoot(), 'prompts', 'critic', 'README.md'), 'utf8');
  const documented = [...readme.matchAll(/^\| `(.+?)` \| (.+?) \| (.+) \|$/gm)].map((row) => row.slice(1));
  const shared = new Set(variablesOf(correctionContextSchema).map((one) => JSON.stringify(one)));
  const own = variablesOf(criticCorrectionSchema).filter((one) => !shared.has(JSON.stringify(one)));
  expect(documented).toEqual(own.map(({ path, type, description }) => [path, type, description]));
});
