import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import { type CommandContext, shownPath } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { ExportedProgram } from '../../experiment/afterwards/export-program.js';
import { plural } from '../../format/numbers.js';
import { shellWord } from '../../format/one-line.js';
import type { ExportedCurves, ExportedTable } from '../../runs/tables/export.js';

export const options = (y: Argv) =>
  y
    .positional('runs', common.runs)
    .option('format', { ...kinds.text, default: 'csv', describe: 'Format: csv, parquet or tensorboard' })
    .option('out', {
      ...kinds.text,
      describe:
        'Directory for the tables or, with tensorboard, for a folder per run (default: export); for a program, its file (default: policy.js or policy.py)',
    })
    .option('language', {
      ...kinds.text,
      describe: 'Language of an exported program: js or python (default: js)',
    })
    .option('iteration', {
      ...kinds.number,
      describe: 'Export the program of this iteration (default: the best of the run)',
    })
    .option('candidate', {
      ...kinds.number,
      describe: 'Candidate of that iteration, numbered from 1 (default: the best)',
    })
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example("$0 export 'cartpole-*' --format parquet --out tables", 'runs, evaluations, episodes and calls')
    .example(
      '$0 export program cartpole --language python',
      'the best program of a run, as a stand-alone file',
    );

type Args = Arguments<typeof options>;

/** The files or, for tensorboard, the folders; for a program, its file. */
type Output = readonly ExportedTable[] | readonly ExportedCurves[] | ExportedProgram;

/** Default of `--out` for tables and curves. */
const tables = 'export';

type Context = Pick<CommandContext, 'cwd' | 'print'>;

/** `export <runs..>` exports tables or curves, `export program <run>` a program. */
export async function execute(args: Args, { cwd, print }: Context): Promise<number> {
  const [subject, run, ...more] = args.runs;
  if (subject === 'program' && run !== undefined) {
    if (more.length > 0)
      throw new UserError({ message: 'only one run can be given with export program', value: more[0] });
    return exportOne({ ...args, run }, { cwd, print });
  }
  const { exportFormats, exportRuns, selectRuns } = await import('../../runs/tables/export.js');
  if (args.format === 'tensorboard') return exportCurves(args, { cwd, print });
  const format = exportFormats.find((one) => one === args.format);
  if (format === undefined)
    throw new UserError({
      ...{ field: '--format', value: args.format, message: 'unknown format' },
      alternatives: [...exportFormats, 'tensorboard'],
    });
  const runs = selectRuns(args.runs, { cwd, runsDir: args.runsDir });
  const written = await exportRuns(runs, format, resolve(cwd, args.out ?? tables));
  const shown = written.map((one) => ({ ...one, file: shownPath(one.file, cwd) }));
  print(
    args.json
      ? JSON.stringify(shown satisfies Output)
      : shown.map(({ file, rows }) => `${file}  ${plural(rows, 'row')}`).join('\n'),
  );
  return 0;
}

async function exportOne(args: Args & { readonly run: string }, { cwd, print }: Context): Promise<number> {
  const { exportProgram } = await import('../../experiment/afterwards/export-program.js');
  const exported: Output = await exportProgram(args, { cwd });
  print(args.json ? JSON.stringify(exported) : exported.file);
  return 0;
}

async function exportCurves(
  { json, out = tables, runs, runsDir }: Args,
  { cwd, print }: Context,
): Promise<number> {
  const { exportEventFiles, selectRuns } = await import('../../runs/tables/export.js');
  const written = exportEventFiles(selectRuns(runs, { cwd, runsDir }), resolve(cwd, out));
  const shown = written.map((one) => ({ ...one, file: shownPath(one.file, cwd) }));
  const lines = shown.map(({ file, values }) => `${file}  ${plural(values, 'value')}`);
  print(
    json
      ? JSON.stringify(shown satisfies Output)
      : [...lines, `tensorboard --logdir ${shellWord(out)}`].join('\n'),
  );
  return 0;
}
