/** Options of `finetune evaluate`, apart from it so that `--help` loads none of it. */
import type { Argv } from 'yargs';
import { studyOptions } from '../../src/commands/study-options.js';
import { controls } from '../../src/search/controls.js';

export const evaluateOptions = (y: Argv) =>
  studyOptions(
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
        choices: controls,
        describe: 'Searches that play beside them with the same budget',
      })
      .option('repeats', {
        type: 'number',
        default: 10,
        requiresArg: true,
        describe: 'Seeds that everything is played with; fewer than 6 give no verdict',
      })
      .option('trained-on', {
        type: 'string',
        requiresArg: true,
        describe:
          'Environments that it has learnt from, ID,… or none (default: what its training wrote down)',
      }),
  ).example(
    '$0 finetune evaluate --tuned tuned --configs cartpole-numeric acrobot-numeric --control random iterations=50',
    'plays both with the tuned model, its base, and random search; the same command goes on',
  );
