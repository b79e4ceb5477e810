/** Options of `controls`, apart from it so that `--help` loads none of it. */
import type { Argv } from 'yargs';
import { studyOptions } from './study-options.js';

export const controlsOptions = (y: Argv) =>
  studyOptions(
    y
      .positional('configs', {
        type: 'string',
        array: true,
        demandOption: true,
        describe: 'Config files, or names of ready ones; and key=value for all of them',
      })
      .option('controls', {
        type: 'string',
        default: 'random,hill-climb,cma-es',
        requiresArg: true,
        describe: 'Which ones, separated by commas; one-plus-one-es and mixture are there too',
      })
      .option('iterations', {
        type: 'number',
        default: 400,
        requiresArg: true,
        describe: 'Iterations of a run, after its warm-up',
      })
      .option('candidates', {
        type: 'number',
        default: 1,
        requiresArg: true,
        describe: 'Proposals an iteration',
      })
      .option('episodes', {
        type: 'number',
        default: 20,
        requiresArg: true,
        describe: 'Episodes an evaluation',
      })
      .option('repeats', {
        type: 'number',
        default: 5,
        requiresArg: true,
        describe: 'Seeds that everything is played with',
      })
      .option('markdown', {
        type: 'string',
        requiresArg: true,
        describe: 'Write the table to this file, as documents have it',
      })
      .option('csv', { type: 'string', requiresArg: true, describe: 'Write the table to this file, as CSV' }),
  ).example(
    '$0 controls cartpole-numeric pong-numeric nim-numeric --repeats 10',
    'random search, hill climbing and CMA-ES; the same command goes on, as does one with more tasks and the same --out',
  );
