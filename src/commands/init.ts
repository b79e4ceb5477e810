import { copyFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import type { Arguments } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { packageRoot } from '../base/package.js';
import type { ModuleKind } from '../modules/host-messages.js';
import { isTaken, writeWhole } from '../storage/draft.js';

/** How a config names a module of each kind. */
const uses = {
  environment: (path: string) => `environment: ${path}`,
  policy: (path: string) => `policy: {kind: ${path}}`,
  model: (path: string) => `model: {provider: ${path}}`,
  reward: (path: string) => `evaluation: {reward: ${path}}`,
  helpers: (path: string) => `prompts: {set: ./my-prompts, helpers: ${path}}`,
} as const satisfies Record<ModuleKind, (path: string) => string>;

export const options = (y: Argv) =>
  y
    .positional('kind', {
      choices: Object.keys(uses) as ModuleKind[],
      demandOption: true,
      describe: 'What the module is',
    })
    .positional('file', { type: 'string', demandOption: true, describe: 'File to write' })
    .example('$0 init environment my-env.js', 'an environment that plays as it is');

/** `policyloop init <kind> <file>`. */
export async function execute(
  { kind, file }: Arguments<typeof options>,
  context: CommandContext,
): Promise<number> {
  const { isModulePath } = await import('../modules/user-module.js');
  if (!isModulePath(`./${file}`)) {
    throw new UserError({
      field: 'file',
      message: 'is no name of a module',
      value: file,
      remedy: `give a name such as my-${kind}.js`,
    });
  }
  const place = resolve(context.cwd, file);
  if (isTaken(place))
    throw new UserError({
      field: 'file',
      message: 'is there already',
      value: file,
      remedy: 'name another file',
    });
  writeWhole(place, (draft) => copyFileSync(join(packageRoot(), 'templates', `${kind}.js`), draft));
  const path = /^[./\\]|:/.test(file) ? file : `./${file}`;
  context.print(`written: ${file}\na config beside it names it: ${uses[kind](path)}`);
  return 0;
}
