/** A command line in this process: the command is found, its arguments are read, and what it prints is kept. */
import yargs from 'yargs';
import type { CommandContext } from '../../../src/base/context.js';
import { moveOverridesFirst } from '../../../src/base/overrides-apart.js';
import { declaredOptions, findCommand, takesOverrides } from '../../../src/commands.js';
import { recordingContext } from '../../support/experiments.js';

/** @param words behind the program's name */
export async function commandLine(
  cwd: string,
  words: readonly string[],
  changes: Partial<CommandContext> = {},
) {
  const named = findCommand(words).command!;
  const [signature, describe, load] = named;
  const own = words.slice(words[0] === signature.split(' ')[0] ? 0 : 1);
  const { execute, options } = await load();
  const recorded = recordingContext(cwd, changes);
  let code: number | undefined;
  await yargs()
    .command(signature, describe, options, async (args) => {
      code = await execute(args, recorded.context);
    })
    .strict()
    .fail((message, error) => {
      throw error ?? new Error(message);
    })
    .parseAsync(takesOverrides(named) ? moveOverridesFirst(own, await declaredOptions(named)) : own);
  return { ...recorded, code };
}
