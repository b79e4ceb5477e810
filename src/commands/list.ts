import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common } from '../base/command.js';
import type { CommandContext } from '../base/context.js';

export const options = (y: Argv) =>
  y
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example(
      '$0 list',
      'the runs below buffers/, and the trainings below tuned/; many runs of one plan stand in one line',
    )
    .example('$0 list --runs-dir buffers/controls-1a2b3c4d5e', 'the runs of such a line')
    .example('$0 list --runs-dir elsewhere', 'the runs and trainings there; without it, trainings of tuned/');

type Args = Arguments<typeof options>;

/** `policyloop list`. */
export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { isRun, linesOf, listRuns, listTable } = await import('../runs/listing.js');
  const { listTrainings } = await import('../runs/trainings.js');
  const { trainingsFolder } = await import('../runs/training-files.js');
  const { trainingFigures, trainingTable } = await import('../runs/training-text.js');
  const { columns, cwd, note, print } = context;
  const root = resolve(cwd, args.runsDir);
  const { damaged, runs } = listRuns(root);
  // A directory that is named is the only one that is looked into.
  const folders = args.runsDir === common.runsDir.default ? [root, join(cwd, trainingsFolder)] : [root];
  const { damaged: damagedTrainings, trainings } = listTrainings(folders, cwd);
  for (const name of damaged) note(`${name}: its manifest is damaged; policyloop show ${name} says how`);
  for (const name of damagedTrainings)
    note(`${name}: its record is damaged; policyloop show ${name} says how`);
  if (args.json) {
    const figures = runs.map(({ name, status, manifest }) => ({ name, ...manifest, status }));
    print(JSON.stringify([...figures, ...trainings.map((one) => trainingFigures(one, cwd))]));
    return 0;
  }
  const found = runs.length + damaged.length;
  if (found + trainings.length + damagedTrainings.length === 0) {
    note(`no runs in ${args.runsDir}; policyloop run quickstart makes one`);
    return 0;
  }
  const lines = linesOf(runs, root);
  const tables = [
    ...(found > 0 ? [listTable(lines, columns)] : []),
    ...(trainings.length > 0 ? [trainingTable(trainings, cwd, columns)] : []),
  ];
  print(tables.join('\n\n'));
  const holder = lines.find((line) => !isRun(line));
  if (holder !== undefined) {
    const shown = join(args.runsDir, holder[0]);
    note(`a name that ends in / holds many runs: policyloop list --runs-dir ${shown} lists them`);
  }
  return 0;
}
