/** Generates JSON schemas of commands' `--json` output from the `Output` types and docstrings in their files. */
import { basename, join } from 'node:path';
import {
  type CompletedConfig,
  createFormatter,
  createParser,
  createProgram,
  DEFAULT_CONFIG,
  SchemaGenerator,
} from 'ts-json-schema-generator';
import { outputSchemaFile } from '../src/base/output-schema.js';
import { packageRoot } from '../src/base/package.js';

export interface OutputSchema {
  /** The command's words after the program name. */
  readonly command: string;
  readonly schema: { readonly description?: string };
}

const folders = [
  ['src/commands', ''],
  ['src/commands/runs', ''],
  ['src/commands/models', 'models '],
  ['finetune/commands', 'finetune '],
] as const;

const config: CompletedConfig = {
  ...DEFAULT_CONFIG,
  ...{ tsconfig: join(packageRoot(), 'tsconfig.json'), skipTypeCheck: true },
  ...{ topRef: false, expose: 'export', additionalProperties: false },
};

/** Sorted by name. Compiling all files as one program takes seconds instead of minutes. */
export function outputSchemas(): readonly OutputSchema[] {
  const path = join(packageRoot(), '{src,finetune}/commands/**/*.ts');
  const program = createProgram({ ...config, path });
  const parser = createParser(program, config);
  const generator = new SchemaGenerator(program, parser, createFormatter(config), config);
  const found = program.getRootFileNames().flatMap((file) => {
    const [, folder, name] = /((?:src|finetune)\/commands(?:\/\w+)?)\/([\w-]+)\.ts$/.exec(file)!;
    const prefix = folders.find(([place]) => place === folder)![1];
    const source = program.getSourceFile(file)!;
    const output = source.statements.find(
      (statement) => (statement as { name?: { text?: string } }).name?.text === 'Output',
    );
    if (output === undefined) return [];
    const command = `${prefix}${name}`;
    return [{ command, schema: described(command, () => generator.createSchemaFromNodes([output])) }];
  });
  return found.toSorted((a, b) => (a.command < b.command ? -1 : 1));
}

/** Inferred types, such as zod outputs, can't be described, so they must be declared explicitly. */
function described(command: string, create: () => object): OutputSchema['schema'] {
  try {
    return create();
  } catch (cause) {
    throw new Error(`the Output of ${command} contains an inferred type`, { cause });
  }
}

/** The table of `docs/json/README.md`. */
export const schemaTable = (schemas: readonly OutputSchema[]): string =>
  [
    '| command | a line of its output | schema |',
    '| --- | --- | --- |',
    ...schemas.map(({ command, schema: { description = '' } }) => {
      const file = basename(outputSchemaFile(command));
      return `| \`${command}\` | ${description.replaceAll(/\s+/g, ' ')} | [${file}](${file}) |`;
    }),
  ].join('\n');
