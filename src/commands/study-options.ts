/** Options of the commands that play several configs, models and seeds. */
import type { Argv } from 'yargs';

export const studyOptions = <T>(y: Argv<T>) =>
  y
    .option('seed', {
      type: 'number',
      requiresArg: true,
      describe: "First seed (default: the first config's)",
    })
    .option('out', {
      type: 'string',
      requiresArg: true,
      describe: 'Directory of the runs and the result (default: one below --runs-dir, the same each time)',
    })
    .option('runs-dir', {
      type: 'string',
      default: 'buffers',
      requiresArg: true,
      describe: 'Directory that holds the runs',
    })
    .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
    .option('json', {
      type: 'boolean',
      default: false,
      describe: 'A JSON line for each run; the last line is the result',
    });
