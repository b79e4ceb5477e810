import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import type { Arguments } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { isTaken, writeAtomic } from '../base/files/draft.js';
import type { ModuleKind } from '../base/modules/user-module.js';
import { packageRoot } from '../base/package.js';
import { shellWord } from '../base/text/one-line.js';

/** The config key that names a file, for each kind of file. */
const configKeys = {
  environment: 'environment',
  policy: 'policy.kind',
  model: 'model.provider',
  reward: 'evaluation.reward',
  helpers: 'prompts.helpers',
  prompts: 'prompts.set',
} as const satisfies Record<ModuleKind | 'prompts', string>;

/** Returns a config line that uses the file, and a command to try it. */
function usageText(kind: keyof typeof configKeys, path: string): string {
  const [section, key] = configKeys[kind].split('.');
  const line = key === undefined ? `${section}: ${path}` : `${section}: {${key}: ${path}}`;
  // The embedded model was trained on another prompt set.
  const words = [`${configKeys[kind]}=${path}`, ...(kind === 'prompts' ? ['model.provider=hill-climb'] : [])];
  return [
    `use it in a config in the current directory:  ${line}`,
    ...(kind === 'helpers' ? ['templates of your own prompt set can then use {{laboratory}}'] : []),
    `run it:  policyloop run quickstart ${words.map(shellWord).join(' ')}`,
  ].join('\n');
}

export const options = (y: Argv) =>
  y
    .positional('kind', {
      choices: Object.keys(configKeys) as (keyof typeof configKeys)[],
      demandOption: true,
      describe: 'Kind of file to create',
    })
    .positional('file', {
      type: 'string',
      demandOption: true,
      describe: 'File to write, or the folder of the prompt set',
    })
    .example('$0 init environment my-env.mjs', 'a complete, working environment')
    .example('$0 init prompts my-prompts', 'a copy of the prompt set `semantic`');

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { file, kind } = args;
  const target = resolve(context.cwd, file);
  const path = /^[./\\]|:/.test(file) ? file : `./${file}`;
  const takenProblem = { field: 'file', message: 'already exists', value: file, hint: 'choose another name' };
  if (kind === 'prompts') {
    if (isTaken(target)) throw new UserError(takenProblem);
    cpSync(join(packageRoot(), 'prompts', 'semantic'), target, { recursive: true });
    context.print(`written: ${file}\n${usageText(kind, path)}`);
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
  if (isTaken(target)) throw new UserError(takenProblem);
  const template = readFileSync(join(packageRoot(), 'templates', `${kind}.js`), 'utf8');
  const source = template.replaceAll(`./${kind}.js`, () => `./${basename(file)}`);
  const text = isCommonJs(target) ? source.replace(/^export default /m, 'module.exports = ') : source;
  writeAtomic(target, (draft) => writeFileSync(draft, text), 'file');
  context.print(`written: ${file}\n${usageText(kind, path)}`);
  return 0;
}

/** True if Node treats the file as CommonJS, judging by its extension or the nearest package.json. */
function isCommonJs(file: string): boolean {
  if (/\.[cm][jt]s$/.test(file)) return /\.c[jt]s$/.test(file);
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest)) return !/"type"\s*:\s*"module"/.test(readFileSync(manifest, 'utf8'));
    if (folder === dirname(folder)) return true;
  }
}
