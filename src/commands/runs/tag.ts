import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import type { Labels } from '../../runs/listing/labels.js';

export const options = (y: Argv) =>
  y
    .positional('run', commonOptions.labelTarget)
    .positional('tags', {
      type: 'string',
      array: true,
      describe: 'Tags, without spaces (default: print the tags)',
    })
    .option('off', { ...kinds.flag, describe: 'Remove these tags' })
    .option('runs-dir', commonOptions.runsDir)
    .option('json', commonOptions.json)
    .example('$0 tag latest baseline', 'find it later with policyloop list tag=baseline')
    .example("$0 tag 'cartpole-*' paper figure-2", 'several runs at once')
    .example('$0 tag cartpole baseline --off', 'remove the tag');

/** The labels of each run. */
type Output = readonly ({ readonly run: string } & Labels)[];

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { cwd, print } = context;
  const { findPaths } = await import('../../runs/listing/names.js');
  const { changeLabels } = await import('../../runs/listing/labels.js');
  const tags = args.tags ?? [];
  const labeled: Output[number][] = [];
  for (const path of findPaths(args.run, { cwd, runsDir: args.runsDir })) {
    const newLabels = await changeLabels(path, (labels) => ({
      ...labels,
      tags: args.off ? labels.tags.filter((tag) => !tags.includes(tag)) : [...labels.tags, ...tags],
    }));
    labeled.push({ run: shownPath(path, cwd), ...newLabels });
  }
  const lines = labeled.map(({ run, tags }) => `${run}  ${tags.length === 0 ? 'no tags' : tags.join(' ')}`);
  print(args.json ? JSON.stringify(labeled) : lines.join('\n'));
  return 0;
}
