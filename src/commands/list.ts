import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../base/command.js';
import { type CommandContext, requireCount, shownPath } from '../base/context.js';
import { groupBy } from '../base/grouped.js';
import type { Item } from '../runs/listing/item.js';
import type { Manifest } from '../runs/manifest.js';
import type { TrainingJson } from '../runs/training/text.js';

export const options = (y: Argv) =>
  y
    .positional('filters', {
      type: 'string',
      array: true,
      describe:
        'Words to find, or filters as key=value; keys: environment, model, status, tag, name, best, confirmed, iterations, started, … and config keys',
    })
    .option('sort', {
      ...kinds.text,
      describe: 'Sort key: highest or newest first, text alphabetically (default: oldest first)',
    })
    .option('limit', {
      ...kinds.number,
      describe: 'Maximum number of runs, and of training runs, to list: the newest, unless --sort is given',
    })
    .option('runs-dir', commonOptions.runsDir)
    .option('json', commonOptions.json)
    .example('$0 list', 'runs in buffers/, training runs in tuned/; the runs of a sweep share a line')
    .example("$0 list environment='CartPole*' status=completed best=400..", 'filter by results')
    .example('$0 list model.temperature=0.7.. policy.kind=mlp', 'filter by config keys')
    .example('$0 list tag=baseline --sort confirmed --limit 5', 'the best five with this tag')
    .example('$0 list --runs-dir buffers/sweep-1a2b3c4d5e', 'the individual runs of a sweep')
    .example('$0 list --runs-dir .', 'runs and training runs in this directory, e.g. in tuned-2/');

/** A run or training run. `number`: accepted by commands in place of the name; shared by the runs of a study. */
type ListedItem = { readonly number: number; readonly tags: readonly string[] } & (
  | (Omit<Manifest, 'status'> & { readonly name: string; readonly status: Item['status'] })
  | TrainingJson
);

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { isStudy, listLines, listTable, selectItems, usedKeys } = await import('../runs/listing/listing.js');
  const { trainingJson, trainingTable } = await import('../runs/training/text.js');
  const { configKeys, withSettings } = await import('../view/run-data.js');
  const { columns, cwd, note, print } = context;
  const { filters = [], sort } = args;
  const selection = { filters, sort, limit: requireCount('--limit', args.limit, 1) };
  const { damaged, lines } = listLines({ cwd, runsDir: args.runsDir });
  const runsDirOption = args.runsDir === commonOptions.runsDir.default ? '' : ` --runs-dir ${args.runsDir}`;
  for (const { item, path } of damaged) {
    const itemPath = shownPath(path, cwd);
    note(
      item.kind === 'training'
        ? `${itemPath}: its record is damaged; see policyloop show ${itemPath}`
        : `${item.name}: its manifest is damaged; see policyloop show ${item.name}${runsDirOption}`,
    );
  }
  const settingKeys = usedKeys(selection);
  const allItems = lines.flatMap((line) =>
    line.places.map((place) => ({ ...place, item: withSettings(place, place.item, settingKeys), line })),
  );
  const keys = settingKeys.length === 0 ? [] : configKeys(allItems).keys;
  const select = (items: typeof allItems) => selectItems(items, selection, keys);
  const runs = select(allItems.filter(({ summary }) => summary));
  const trainingRuns = select(allItems.filter(({ training }) => training));
  if (args.json) {
    const listedItems = [...runs, ...trainingRuns].map(
      ({ item: { name, status, tags }, line, ...place }): ListedItem => {
        const { number } = line;
        if (place.training) return { ...trainingJson(place.training, cwd), number, tags };
        return { name, number, ...place.summary!.manifest, status, tags };
      },
    );
    print(JSON.stringify(listedItems));
    return 0;
  }
  if (runs.length + trainingRuns.length === 0) {
    if (lines.length > 0)
      note('no runs match; KEY=VALUE must match a whole value, but a plain word can match part of one');
    else if (damaged.length === 0)
      note(`no runs in ${args.runsDir}; create one with policyloop run quickstart`);
    return 0;
  }
  const shownLines = [...groupBy(runs, ({ line }) => line)].map(([line, places]) => ({ ...line, places }));
  const trainingRows = trainingRuns.map(({ line, training }) => ({ ...training!, number: line.number }));
  const tables = [
    ...(shownLines.length > 0 ? [listTable(shownLines, columns)] : []),
    ...(trainingRows.length > 0 ? [trainingTable(trainingRows, cwd, columns)] : []),
  ];
  print(tables.join('\n\n'));
  const study = shownLines.find(isStudy);
  if (study !== undefined) {
    const directory = shownPath(study.path, cwd);
    note(`names ending in / are directories of runs; list one with policyloop list --runs-dir ${directory}`);
  }
  return 0;
}
