import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import type { CommandContext } from '../../base/context.js';
import { UserError } from '../../base/errors.js';
import type { Value } from '../../runs/tables/query.js';

export const options = (y: Argv) =>
  y
    .positional('sql', { type: 'string', demandOption: true, describe: 'A SELECT statement, in quotes' })
    .positional('runs', {
      type: 'string',
      array: true,
      describe: 'Runs to query (default: all in --runs-dir)',
    })
    .option('runs-dir', common.runsDir)
    .option('csv', { ...kinds.flag, describe: 'Print CSV' })
    .option('json', common.json)
    .epilogue('Tables: runs, evaluations, episodes, calls, steps; docs/runs.md lists their columns.')
    .example(
      "$0 query 'SELECT environment, model, avg(confirmed) FROM runs GROUP BY ALL'",
      'mean confirmed returns',
    )
    .example(
      "$0 query 'SELECT outcome, count(*) FROM calls GROUP BY ALL' latest",
      'call outcomes of one run',
    );

type Args = Arguments<typeof options>;

/** The rows as objects. */
export type Output = readonly Readonly<Record<string, Value>>[];

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { answerText, selectRuns } = await import('../../runs/tables/query.js');
  const { query } = await import('../../runs/tables/query.js');
  const { columns, cwd, print } = context;
  if (args.csv && args.json)
    throw new UserError({
      field: '--csv',
      message: "can't be combined with --json",
    });
  if (args.sql.trim() === '')
    throw new UserError({ field: 'sql', message: 'is empty', alternatives: ["'SELECT * FROM runs'"] });
  const answer = await query(args.sql, selectRuns(args.runs ?? [], { cwd, runsDir: args.runsDir }));
  const format = args.json ? 'json' : args.csv ? 'csv' : 'table';
  print(answerText(answer, format, columns));
  return 0;
}
