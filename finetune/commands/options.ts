/** Options of the fine-tuner's commands, apart from them so that `--help` loads none of it. */
import type { Argv } from 'yargs';
import { rowFormats } from '../dataset/row-formats.js';

export const datasetOptions = (y: Argv) =>
  y
    .positional('runs', {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'Run directories, their names, or patterns (buffers/cartpole-*)',
    })
    .option('recipe', {
      choices: ['improvement', 'best-of-group', 'weighted', 'preference', 'hindsight'] as const,
      demandOption: true,
      requiresArg: true,
      describe: 'What is learnt from a run',
    })
    .option('out', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Directory of the dataset, a new one',
    })
    .option('validation', {
      type: 'string',
      default: '0.1',
      requiresArg: true,
      describe: 'Held out: a share of the runs, names of environments or runs, or none',
    })
    .option('format', {
      choices: rowFormats,
      default: 'jsonl' as const,
      requiresArg: true,
      describe: 'Format of the rows; finetune train reads jsonl',
    })
    .option('seed', {
      type: 'number',
      default: 0,
      requiresArg: true,
      describe: 'Fixes what is drawn',
    })
    .option('samples', {
      type: 'number',
      requiresArg: true,
      describe: 'Prompts a run (recipe hindsight; default: its iterations)',
    })
    .option('winners', {
      type: 'number',
      requiresArg: true,
      describe: 'Candidates of an iteration to imitate, the best first (recipe best-of-group; default: 1)',
    })
    .option('look-ahead', {
      type: 'string',
      requiresArg: true,
      describe:
        'Iterations further whose candidates count, too, e.g. 0,4,16: winners for each (recipe best-of-group; default: 0)',
    })
    .option('augment', {
      type: 'number',
      default: 0,
      requiresArg: true,
      describe: 'Copies of each run in other orders and signs (prompts: numeric or compact)',
    })
    .option('context', {
      type: 'number',
      requiresArg: true,
      describe: 'Tokens that the model can read: longer examples raise an alarm',
    })
    .option('runs-dir', {
      type: 'string',
      default: 'buffers',
      requiresArg: true,
      describe: 'Directory that holds the runs',
    })
    .option('json', { type: 'boolean', default: false, describe: 'Print JSON for machines' })
    .example('$0 finetune dataset "buffers/cartpole-*" --recipe improvement --out datasets/a', '');

export const trainOptions = (y: Argv) =>
  y
    .positional('config', { type: 'string', demandOption: true, describe: 'YAML file of the training' })
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [],
      describe: 'key=value, e.g. epochs=1 method.rank=16 output=tuned-2',
    })
    .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
    .option('json', {
      type: 'boolean',
      default: false,
      describe: 'Events as JSON lines; the last line is the result',
    })
    .example(
      '$0 finetune train tune.yaml',
      'trains, or goes on from the checkpoint of an interrupted training',
    )
    .example(
      '$0 finetune train tune.yaml output=quick epochs=1',
      'with overrides: paths are relative to the file',
    );

export const collectOptions = (y: Argv) =>
  y
    .positional('config', { type: 'string', demandOption: true, describe: 'YAML file of the collection' })
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [],
      describe: 'key=value, e.g. runs=100 experiment.iterations=5',
    })
    .option('jobs', {
      type: 'number',
      requiresArg: true,
      describe: 'Runs that are played at once (default: one a core)',
    })
    .option('quiet', { type: 'boolean', default: false, describe: 'No progress' })
    .option('json', {
      type: 'boolean',
      default: false,
      describe: 'A JSON line a run; the last line is the result',
    })
    .example(
      '$0 finetune collect collection.yaml',
      'plays the runs, or those that are missing; with a higher runs= it adds to them',
    );
