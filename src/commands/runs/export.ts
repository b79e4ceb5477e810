import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import { plural } from '../../base/text/numbers.js';
import { shellWord } from '../../base/text/one-line.js';
import type { StudyPageBuilders } from '../../view/pages.js';

export const options = (y: Argv) =>
  y
    .positional('runs', {
      ...commonOptions.runs,
      describe: `${commonOptions.runs.describe}; with --charts, also training runs`,
    })
    .option('format', {
      choices: ['csv', 'parquet', 'tensorboard'] as const,
      default: 'csv' as const,
      requiresArg: true,
      describe: 'Format: tables (csv, parquet), or curves as event files (tensorboard)',
    })
    .option('out', {
      ...kinds.text,
      default: 'export',
      describe: 'Directory for the tables or, with tensorboard, for a folder per run',
    })
    .option('charts', {
      ...kinds.text,
      describe: 'Write the charts of the pages to this directory as SVG files, instead of tables',
    })
    .option('runs-dir', commonOptions.runsDir)
    .option('json', commonOptions.json)
    .example("$0 export 'cartpole-*' --format parquet --out tables", 'runs, evaluations, episodes and calls')
    .example('$0 export buffers/sweep-1a2b3c4d5e --charts figures', 'the charts of a sweep, for a paper');

/** @param pages renders the pages of fine-tuning evaluations */
export async function execute(
  { charts, format, json, ...args }: Arguments<typeof options>,
  { cwd, print }: CommandContext,
  pages: StudyPageBuilders,
): Promise<number> {
  const { exportEventFiles, exportRuns, selectRuns } = await import('../../runs/tables/export.js');
  const { runsToExport } = await import('../../view/run-data.js');
  const { exportCharts } = await import('../../view/pages.js');
  const folders = { cwd, runsDir: args.runsDir };
  const out = resolve(cwd, args.out);
  const areCurves = format === 'tensorboard' && charts === undefined;
  const exportTables = () => {
    const runs = runsToExport(selectRuns(args.runs, folders));
    return format === 'tensorboard' ? exportEventFiles(runs, out) : exportRuns(runs, format, out);
  };
  const written =
    charts === undefined
      ? await exportTables()
      : await exportCharts(args.runs, folders, resolve(cwd, charts), pages);
  const outputs = written.map((one) => ({ ...one, file: shownPath(one.file, cwd) }));
  const textOf = (one: (typeof outputs)[number]) =>
    'chart' in one ? one.chart : 'rows' in one ? plural(one.rows, 'row') : plural(one.values, 'value');
  const lines = outputs.map((one) => `${one.file}  ${textOf(one)}`);
  if (areCurves) lines.push(`tensorboard --logdir ${shellWord(args.out)}`);
  print(json ? JSON.stringify(outputs) : lines.join('\n'));
  return 0;
}
