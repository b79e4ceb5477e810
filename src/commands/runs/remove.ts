import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { formatBytes } from '../../base/text/numbers.js';

export const options = (y: Argv) =>
  y
    .positional('runs', commonOptions.anyRuns)
    .option('yes', { ...kinds.flag, describe: 'Skip the confirmation' })
    .option('runs-dir', commonOptions.runsDir)
    .option('json', commonOptions.json)
    .example('$0 remove 3 4', 'delete runs 3 and 4 of policyloop list')
    .example("$0 remove 'trial-*' --yes", 'without confirmation');

type Args = Arguments<typeof options>;

/** The deleted directories. */
type Output = readonly { readonly run: string }[];

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { findPaths } = await import('../../runs/listing/names.js');
  const { bytesIn, removableDirectories, removeDirectory } = await import('../../runs/listing/remove.js');
  const { cwd, print } = context;
  const foundPaths = args.runs.flatMap((name) => findPaths(name, { cwd, runsDir: args.runsDir }));
  const paths = [...new Set(foundPaths)].flatMap(removableDirectories);
  const names = paths.map((path) => shownPath(path, cwd));
  const size = formatBytes(paths.reduce((sum, path) => sum + bytesIn(path), 0));
  const question = `${names.join('\n')}\nDelete ${paths.length === 1 ? 'it' : 'them'} (${size})? This can't be undone.`;
  if (!(await confirmRemoval(question, args, context))) return 0;
  for (const path of paths) removeDirectory(path);
  print(
    args.json
      ? JSON.stringify(names.map((run) => ({ run })) satisfies Output)
      : names.map((run) => `removed  ${run}`).join('\n'),
  );
  return 0;
}

/** Asks for confirmation, except with `--yes`. @throws UserError if it can't ask, because there is no terminal */
async function confirmRemoval(
  question: string,
  { yes }: Pick<Args, 'yes'>,
  { note, readLine }: CommandContext,
): Promise<boolean> {
  if (yes) return true;
  if (readLine === undefined)
    throw new UserError({
      field: '--yes',
      message: "can't ask for confirmation without a terminal",
      hint: 'add --yes to skip the confirmation',
    });
  const answer = await readLine(`${question} [y/N] `);
  const isYes = /^y(es)?$/i.test(answer?.trim() ?? '');
  if (!isYes) note('nothing was removed');
  return isYes;
}
