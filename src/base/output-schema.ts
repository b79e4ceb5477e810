import { join } from 'node:path';
import { packageRoot } from './package.js';

/** File with the JSON schema of a command's `--json` output. @param command such as `finetune train` */
export const outputSchemaFile = (command: string): string =>
  join(packageRoot(), 'docs', 'json', `${command.replace(' ', '-')}.schema.json`);
