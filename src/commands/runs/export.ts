import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import { plural } from '../../base/text/numbers.js';
import { shellWord } from '../../base/text/one-line.js';

export const options = (y: Argv) =>
  y
    .positional('runs', common.runs)
    .option('format', { ...kinds.text, default: 'csv', describe: 'Format: csv, parquet or tensorboard' })
    .option('out', {
      ...kinds.text,
      default: 'export',
      describe: 'Directory for the tables or, with tensorboard, for a folder per run',
    })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example("$0 export 'cartpole-*' --format parquet --out tables", 'runs, evaluations, episodes and calls');

type Args = Arguments<typeof options>;

type Context = Pick<CommandContext, 'cwd' | 'print'>;

export async function execute(args: Args, { cwd, print }: Context): Promise<number> {
  const { exportFormats, exportRuns, selectRuns } = await import('../../runs/tables/export.js');
  if (args.format === 'tensorboard') return exportCurves(args, { cwd, print });
  const format = exportFormats.find((one) => one === args.format);
  if (format === undefined)
    throw new UserError({
      field: '--format',
      value: args.format,
      message: 'unknown format',
      alternatives: [...exportFormats, 'tensorboard'],
    });
  const runs = selectRuns(args.runs, { cwd, runsDir: args.runsDir });
  const written = await exportRuns(runs, format, resolve(cwd, args.out));
  const shown = written.map((one) => ({ ...one, file: shownPath(one.file, cwd) }));
  print(
    args.json
      ? JSON.stringify(shown)
      : shown.map(({ file, rows }) => `${file}  ${plural(rows, 'row')}`).join('\n'),
  );
  return 0;
}

async function exportCurves({ json, out, runs, runsDir }: Args, { cwd, print }: Context): Promise<number> {
  const { exportEventFiles, selectRuns } = await import('../../runs/tables/export.js');
  const written = exportEventFiles(selectRuns(runs, { cwd, runsDir }), resolve(cwd, out));
  const shown = written.map((one) => ({ ...one, file: shownPath(one.file, cwd) }));
  const lines = shown.map(({ file, values }) => `${file}  ${plural(values, 'value')}`);
  print(json ? JSON.stringify(shown) : [...lines, `tensorboard --logdir ${shellWord(out)}`].join('\n'));
  return 0;
}
