/** Options of `finetune evaluate`, apart from it so that `--help` loads none of it. */
import type { Argv } from 'yargs';

export const evaluateOptions = (y: Argv) =>
  y
    .positional('overrides', {
      type: 'string',
      array: true,
      default: [],
      describe: 'key=value for all configs, e.g. iterations=50 model.temperature=1',
    })
    .option('tuned', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Directory of an adapter, a model, or a training; or ollama:NAME, openai:NAME, a control',
    })
    .option('base', {
      type: 'string',
      requiresArg: true,
      describe: 'The model to compare it with (default: the one that it was trained from)',
    })
    .option('configs', {
      type: 'string',
      array: true,
      demandOption: true,
      requiresArg: true,
      describe: 'Experiments that all models play: files, or names of ready ones',
    })
    .option('control', {
      type: 'string',
      array: true,
      default: [],
      requiresArg: true,
      choices: ['random', 'hill-climb', 'cma-es'] as const,
      describe: 'Searches that play beside them with the same budget',
    })
    .option('repeats', {
      type: 'number',
      default: 10,
      requiresArg: true,
      describe: 'Seeds that everything is played with; fewer than 6 give no verdict',
    })
    .option('seed', {
      type: 'number',
      requiresArg: true,
      describe: "First seed (default: the first config's)",
    })
    .option('trained-on', {
      type: 'string',
      requiresArg: true,
      describe: 'Environments that it has learnt from, ID,… or none (default: what its training wrote down)',
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
    })
    .example(
      '$0 finetune evaluate --tuned tuned --configs cartpole-numeric acrobot-numeric --control random iterations=50',
      'plays both with the tuned model, its base, and random search; the same command goes on',
    );
