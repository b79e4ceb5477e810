/** What commands print with `--json`, held against `docs/json/`. */
import { readFileSync } from 'node:fs';
import { Ajv } from '@modelcontextprotocol/server/validators/ajv';
import { expect } from 'vitest';
import { outputSchemaFile } from '../../src/base/output-schema.js';

const ajv = new Ajv({ allErrors: false, strict: false });

type Fits = ReturnType<typeof ajv.compile>;

const compiled = new Map<string, Fits>();

function schemaOf(command: string): Fits {
  const known = compiled.get(command);
  if (known !== undefined) return known;
  const fits = ajv.compile(JSON.parse(readFileSync(outputSchemaFile(command), 'utf8')) as object);
  compiled.set(command, fits);
  return fits;
}

/** What keeps a line from being one of the command; undefined where it is. */
export function misfit(command: string, line: string): string | undefined {
  const fits = schemaOf(command);
  if (fits(JSON.parse(line))) return undefined;
  const [error] = fits.errors ?? [];
  return `${error?.instancePath} ${error?.message} ${JSON.stringify(error?.params)}: ${line.slice(0, 400)}`;
}

/** Every line that was printed fits the schema of the command, and there is one. */
export function expectSchema(command: string, printed: readonly string[]): void {
  const lines = printed.flatMap((text) => text.trimEnd().split('\n'));
  expect(lines).not.toEqual([]);
  expect(lines.flatMap((line) => misfit(command, line) ?? [])).toEqual([]);
}
