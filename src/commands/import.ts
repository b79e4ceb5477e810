import { writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { isTaken, writeAtomic } from '../base/files/draft.js';
import type { ImportedConfig } from '../config/import/import-config.js';

export const options = (y: Argv) =>
  y
    .positional('config', {
      type: 'string',
      demandOption: true,
      describe: 'Config from ProPS or LLM-RL-finetune',
    })
    .positional('overrides', commonOptions.overrides)
    .option('output', { ...kinds.text, alias: 'o', describe: 'File to write (default: standard output)' })
    .option('force', { ...kinds.flag, describe: 'Overwrite an existing file' })
    .option('json', { ...kinds.flag, describe: 'Print the config and the notes as JSON' })
    .example('$0 import theirs.yaml -o ours.yaml', 'write a policyloop config');

type Args = Arguments<typeof options>;

/** The program that the config is from, the converted config, and notes on its keys. */
type Output = Pick<ImportedConfig, 'program' | 'config' | 'notes'>;

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { loadConfig } = await import('../config/load.js');
  const { importedYaml } = await import('../config/import/import-config.js');
  const loaded = loadConfig({ file: args.config, overrides: args.overrides, cwd: context.cwd });
  const { file, imported, notes } = loaded;
  if (imported === undefined) {
    throw new UserError({
      file,
      message: 'is already a policyloop config',
      hint: `run it with policyloop run ${args.config}`,
    });
  }
  const text = importedYaml(imported, basename(file));
  for (const note of notes) context.note(note);
  if (args.output !== undefined) {
    writeOutput(resolve(context.cwd, args.output), text, args);
    context.note(`written: ${args.output}; check it with policyloop check ${args.output}`);
  }
  if (args.json) {
    context.print(
      JSON.stringify({
        program: imported.program,
        config: imported.config,
        notes: imported.notes,
      } satisfies Output),
    );
  } else if (args.output === undefined) context.print(text.trimEnd());
  return 0;
}

function writeOutput(path: string, text: string, { output, force }: Args): void {
  if (!force && isTaken(path))
    throw new UserError({
      field: '--output',
      message: 'already exists',
      value: output,
      hint: 'choose another file, or add --force to overwrite this one',
    });
  writeAtomic(path, (draft) => writeFileSync(draft, text), '--output');
}
