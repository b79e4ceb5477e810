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
      describe:
        'Words, or filters as key=value; keys: environment, model, status, tag, name, best, confirmed, iterations, started, …',
    })
    .option('sort', {
      ...kinds.text,
      describe: 'Sort key: highest or newest first, text alphabetically (default: oldest first)',
    })
    .option('limit', {
      ...kinds.number,
      describe: 'Maximum number of runs to list: the newest, unless --sort is given',
    })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 list', 'runs in buffers/ and all training runs; the runs of a sweep share a line')
    .example("$0 list environment='CartPole*' status=completed best=400..", 'filter by results')
    .example('$0 list tag=baseline --sort confirmed --limit 5', 'the best five with this tag')
    .example('$0 list --runs-dir buffers/sweep-1a2b3c4d5e', 'the individual runs of a sweep')
    .example('$0 list --runs-dir elsewhere', 'runs and training runs in another directory');

type Args = Arguments<typeof options>;

interface ListedRunFigures extends Omit<Manifest, 'status'>, Labels {
  readonly name: string;
  /** Number that commands accept; the runs of a study share one. */
  readonly number?: number | undefined;
  readonly status: RunStatus;
}

interface ListedTrainingFigures extends TrainingFigures {
  readonly number?: number | undefined;
  readonly tags: Labels['tags'];
}

/** Manifests of the runs, then the training runs. */
type Output = readonly (ListedRunFigures | ListedTrainingFigures)[];

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
  const inside = args.runsDir === common.runsDir.default ? '' : ` --runs-dir ${args.runsDir}`;
  for (const name of damaged) note(`${name}: its manifest is damaged; see policyloop show ${name}${inside}`);
  for (const name of damagedTrainings) note(`${name}: its record is damaged; see policyloop show ${name}`);
  if (args.json) {
    const figures = runs.map((run): ListedRunFigures => {
      const { labels, manifest, name, status } = run;
      return { name, number: numberOfRun(run), ...manifest, status, ...labels };
    });
    const trained = trainings.map(({ labels, ...one }): ListedTrainingFigures => {
      return { ...trainingFigures(one, cwd), number: numberOfTraining(one), ...labels };
    });
    print(JSON.stringify([...figures, ...trained] satisfies Output));
    return 0;
  }
  if (found.isEmpty) {
    note(`no runs in ${args.runsDir}; create one with policyloop run quickstart`);
    return 0;
  }
  if (runs.length + trainings.length === 0 && damaged.length + damagedTrainings.length === 0) {
    note('no runs match');
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
    note(`names ending in / are directories of runs; list one with policyloop list --runs-dir ${shown}`);
  }
  return 0;
}
