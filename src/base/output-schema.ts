import { join } from 'node:path';
import { packageRoot } from './package.js';

/** File of the JSON schema for a command's `--json` output; `finetune train` is one command. */
export const outputSchemaFile = (command: string): string =>
  join(packageRoot(), 'docs', 'json', `${command.replace(' ', '-')}.schema.json`);
