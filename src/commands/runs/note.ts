import type { Argv } from 'yargs';
import { type Arguments, common } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import type { Labels } from '../../runs/listing/listing.js';

export const options = (y: Argv) =>
  y
    .positional('run', common.labelled)
    .positional('text', {
      type: 'string',
      describe: "The note; '' removes it (default: print the note)",
    })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example("$0 note latest 'first run with the short prompt'", 'shown by policyloop show and list --json');

type Args = Arguments<typeof options>;

/** The labels of each run. */
type Output = readonly ({ readonly run: string } & Labels)[];

export async function execute(args: Args, { cwd, print }: CommandContext): Promise<number> {
  const { findAll } = await import('../../runs/listing/names.js');
  const { changeLabels } = await import('../../runs/listing/listing.js');
  const { text } = args;
  const labelled: Output[number][] = [];
  for (const path of findAll(args.run, { cwd, runsDir: args.runsDir })) {
    const changed = await changeLabels(path, (labels) =>
      text === undefined ? labels : { ...labels, note: text.trim() },
    );
    labelled.push({ run: shownPath(path, cwd), ...changed });
  }
  print(
    args.json
      ? JSON.stringify(labelled)
      : labelled.map(({ note, run }) => `${run}  ${note ?? 'no note'}`).join('\n'),
  );
  return 0;
}
