import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import type { Arguments } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { isTaken, writeWhole } from '../base/files/draft.js';
import type { ModuleKind } from '../base/modules/user-module.js';
import { packageRoot } from '../base/package.js';

/** Config line that uses a module, for each kind of module. */
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
      choices: [...(Object.keys(uses) as ModuleKind[]), 'prompts'] as const,
      demandOption: true,
      describe: 'Kind of module, or a prompt set',
    })
    .positional('file', {
      type: 'string',
      demandOption: true,
      describe: 'File to write, or the folder of the prompt set',
    })
    .example('$0 init environment my-env.mjs', 'a complete, working environment')
    .example('$0 init prompts my-prompts', 'a copy of the prompt set `semantic`');

export async function execute(
  { kind, file }: Arguments<typeof options>,
  context: CommandContext,
): Promise<number> {
  const place = resolve(context.cwd, file);
  const path = /^[./\\]|:/.test(file) ? file : `./${file}`;
  const taken = { field: 'file', message: 'already exists', value: file, hint: 'choose another name' };
  if (kind === 'prompts') {
    if (isTaken(place)) throw new UserError(taken);
    cpSync(join(packageRoot(), 'prompts', 'semantic'), place, { recursive: true });
    context.print(`written: ${file}\nuse it in a config in the current directory:  prompts: {set: ${path}}`);
    return 0;
  }
  const { isModulePath, requireRunnable } = await import('../base/modules/user-module.js');
  if (!isModulePath(`./${file}`)) {
    throw new UserError({
      field: 'file',
      message: "isn't a module name",
      value: file,
      hint: `use a name such as my-${kind}.mjs`,
    });
  }
  requireRunnable(file, 'file');
  if (isTaken(place)) throw new UserError(taken);
  const template = readFileSync(join(packageRoot(), 'templates', `${kind}.js`), 'utf8');
  const named = template.replaceAll(`./${kind}.js`, () => `./${basename(file)}`);
  const text = isCommonJs(place) ? named.replace(/^export default /m, 'module.exports = ') : named;
  writeWhole(place, (draft) => writeFileSync(draft, text));
  context.print(`written: ${file}\nuse it in a config in the current directory:  ${uses[kind](path)}`);
  return 0;
}

/** Whether Node treats the file as CommonJS, judging by its extension or the nearest package.json. */
function isCommonJs(file: string): boolean {
  if (/\.[cm][jt]s$/.test(file)) return /\.c[jt]s$/.test(file);
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest)) return !/"type"\s*:\s*"module"/.test(readFileSync(manifest, 'utf8'));
    if (folder === dirname(folder)) return true;
  }
}
