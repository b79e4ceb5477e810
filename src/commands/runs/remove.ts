import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { formatBytes } from '../../format/numbers.js';
import { shellWord } from '../../format/one-line.js';

export const options = (y: Argv) =>
  y
    .positional('runs', {
      type: 'string',
      array: true,
      describe: 'Runs, training runs, directories of runs, or quoted patterns',
    })
    .option('yes', { ...kinds.flag, describe: 'Skip the confirmation' })
    .option('empty-trash', { ...kinds.flag, describe: 'Delete everything in the trash permanently' })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 remove 3 4', 'move runs 3 and 4 of policyloop list to buffers/.trash')
    .example("$0 remove 'trial-*' --yes", 'without confirmation')
    .example('$0 remove --empty-trash', 'delete permanently');

type Args = Arguments<typeof options>;

/** Each run and its place in the trash; if the trash was emptied, the removed directories. */
type Output = readonly { readonly run?: string; readonly trash: string }[];

export async function execute(args: Args, context: CommandContext): Promise<number> {
  return args.emptyTrash ? emptyAll(args, context) : removeRuns(args, context);
}

async function removeRuns(args: Args, context: CommandContext): Promise<number> {
  const { findAll } = await import('../../runs/listing/names.js');
  const { bytesIn, moveToTrash, requireIdle } = await import('../../runs/listing/trash.js');
  const { cwd, print } = context;
  const places = { cwd, runsDir: args.runsDir };
  const names = args.runs ?? [];
  if (names.length === 0)
    throw new UserError({
      ...{ field: 'runs', message: 'no runs given' },
      remedy: 'choose runs from policyloop list, or add --empty-trash to empty the trash',
    });
  const paths = [...new Set(names.flatMap((name) => findAll(name, places)))];
  for (const path of paths) requireIdle(path);
  const shown = paths.map((path) => shownPath(path, cwd));
  const size = formatBytes(paths.reduce((sum, path) => sum + bytesIn(path), 0));
  if (
    !(await agreed(
      `${shown.join('\n')}\nMove ${paths.length === 1 ? 'it' : 'them'} (${size}) to the trash?`,
      args,
      context,
    ))
  ) {
    return 0;
  }
  const removed = paths.map((path, i) => ({
    run: shown[i]!,
    trash: shownPath(moveToTrash(path, places), cwd),
  }));
  print(
    args.json
      ? JSON.stringify(removed satisfies Output)
      : removed
          .map(({ run, trash }) => `removed  ${run}; undo: mv ${shellWord(trash)} ${shellWord(run)}`)
          .join('\n'),
  );
  return 0;
}

async function emptyAll(args: Args, context: CommandContext): Promise<number> {
  const { bytesIn, emptyTrash, trashed } = await import('../../runs/listing/trash.js');
  const { cwd, print } = context;
  const all = trashed({ cwd, runsDir: args.runsDir });
  const found = all.flatMap(({ folder, names }) => names.map((name) => shownPath(`${folder}/${name}`, cwd)));
  if (found.length === 0) {
    print(args.json ? '[]' : 'the trash is empty');
    return 0;
  }
  const size = formatBytes(all.reduce((sum, { folder }) => sum + bytesIn(folder), 0));
  if (
    !(await agreed(
      `${found.join('\n')}\nRemove ${found.length === 1 ? 'it' : 'them'} (${size}) permanently?`,
      args,
      context,
    ))
  ) {
    return 0;
  }
  for (const { folder } of all) emptyTrash(folder);
  print(
    args.json
      ? JSON.stringify(found.map((trash) => ({ trash })) satisfies Output)
      : found.map((name) => `removed  ${name}`).join('\n'),
  );
  return 0;
}

/** Asks for confirmation. @throws UserError if there is no terminal */
async function agreed(
  question: string,
  { yes }: Pick<Args, 'yes'>,
  { note, readLine }: CommandContext,
): Promise<boolean> {
  if (yes) return true;
  if (readLine === undefined)
    throw new UserError({
      ...{ field: '--yes', message: "can't ask for confirmation without a terminal" },
      remedy: 'add --yes to skip the confirmation',
    });
  const answer = await readLine(`${question} [y/N] `);
  const isYes = /^y(es)?$/i.test(answer?.trim() ?? '');
  if (!isYes) note('nothing was removed');
  return isYes;
}
