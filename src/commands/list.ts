import { join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../base/command.js';
import { type CommandContext, requireCount } from '../base/context.js';
import type { Labels } from '../runs/listing/listing.js';
import type { Manifest } from '../runs/manifest.js';
import type { RunStatus } from '../runs/reader.js';
import type { TrainingFigures } from '../runs/training/text.js';

export const options = (y: Argv) =>
  y
    .positional('filters', {
      type: 'string',
      array: true,
      describe: 'key=value: environment, model, status, tag, name, best, confirmed, iterations, started, …',
    })
    .option('sort', {
      ...kinds.text,
      describe:
        'Key that orders them: the highest or newest first, words by the alphabet (default: oldest first)',
    })
    .option('limit', { ...kinds.number, describe: 'Only so many of them: of the newest, without --sort' })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example(
      '$0 list',
      'the runs below buffers/, and the trainings below tuned/; many runs of one plan stand in one line',
    )
    .example("$0 list environment='CartPole*' status=completed best=400..", 'by their figures')
    .example('$0 list tag=baseline --sort confirmed --limit 5', 'the best five of those that are tagged so')
    .example('$0 list --runs-dir buffers/controls-1a2b3c4d5e', 'the runs of such a line')
    .example('$0 list --runs-dir elsewhere', 'the runs and trainings there; without it, trainings of tuned/');

type Args = Arguments<typeof options>;

interface ListedRunFigures extends Omit<Manifest, 'status'>, Labels {
  readonly name: string;
  /** Number by which commands know it and the other runs on its line. */
  readonly number?: number | undefined;
  readonly status: RunStatus;
}

interface ListedTrainingFigures extends Omit<TrainingFigures, 'note'> {
  readonly number?: number | undefined;
  readonly tags: Labels['tags'];
  /** Its note, or why it ended. */
  readonly note: string | null;
}

/** The manifests of runs, then the trainings. */
export type Output = readonly (ListedRunFigures | ListedTrainingFigures)[];

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { isRun, linesOf, listTable } = await import('../runs/listing/listing.js');
  const { listed } = await import('../runs/listing/filters.js');
  const { trainingFigures, trainingTable } = await import('../runs/training/text.js');
  const { columns, cwd, note, print } = context;
  const root = resolve(cwd, args.runsDir);
  const limit = requireCount('--limit', args.limit, 1);
  const found = listed(
    { filters: args.filters ?? [], sort: args.sort, limit },
    { cwd, runsDir: args.runsDir },
  );
  const { damaged, damagedTrainings, numberOfRun, numberOfTraining, runs, trainings } = found;
  for (const name of damaged) note(`${name}: its manifest is damaged; policyloop show ${name} says how`);
  for (const name of damagedTrainings)
    note(`${name}: its record is damaged; policyloop show ${name} says how`);
  if (args.json) {
    const figures = runs.map((run): ListedRunFigures => {
      const { labels, manifest, name, status } = run;
      return { name, number: numberOfRun(run), ...manifest, status, ...labels };
    });
    const trained = trainings.map(({ labels, ...one }): ListedTrainingFigures => {
      const { note = one.note, tags } = labels;
      return { ...trainingFigures(one, cwd), number: numberOfTraining(one), tags, note };
    });
    print(JSON.stringify([...figures, ...trained] satisfies Output));
    return 0;
  }
  if (found.isEmpty) {
    note(`no runs in ${args.runsDir}; policyloop run quickstart makes one`);
    return 0;
  }
  if (runs.length + trainings.length === 0 && damaged.length + damagedTrainings.length === 0) {
    note('nothing fits these filters');
    return 0;
  }
  const lines = linesOf(runs, root);
  const tables = [
    ...(lines.length + damaged.length > 0
      ? [listTable(lines, ([, [first]]) => numberOfRun(first!), columns)]
      : []),
    ...(trainings.length > 0 ? [trainingTable(trainings, cwd, numberOfTraining, columns)] : []),
  ];
  print(tables.join('\n\n'));
  const holder = lines.find((line) => !isRun(line));
  if (holder !== undefined) {
    const shown = join(args.runsDir, holder[0]);
    note(`a name that ends in / holds many runs: policyloop list --runs-dir ${shown} lists them`);
  }
  return 0;
}
