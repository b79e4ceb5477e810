import { join } from 'node:path';
import { packageRoot } from './package.js';

/** File of the JSON schema of what a command prints with `--json`; `finetune train` is a command. */
export const outputSchemaFile = (command: string): string =>
  join(packageRoot(), 'docs', 'json', `${command.replace(' ', '-')}.schema.json`);
