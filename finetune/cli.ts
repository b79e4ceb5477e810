/** `policyloop finetune …` on the command line; each command's module is loaded when it runs. */
import type { Argv } from 'yargs';
import type { CommandContext } from '../src/context.js';
import { evaluateOptions } from './commands/evaluate-options.js';
import { collectOptions, datasetOptions, trainOptions } from './commands/options.js';
import { ggufOptions, mergeOptions, ollamaOptions } from './commands/output-options.js';
import {
  exportOptions,
  hostedCancelOptions,
  hostedFollowOptions,
  hostedListOptions,
  hostedStartOptions,
  importOptions,
} from './commands/scale-out-options.js';

/** How the command line runs a command: its result is the exit code. */
export interface CommandRunner {
  readonly context: CommandContext;
  run(command: () => Promise<number>): Promise<void>;
  /** The same for a command that Ctrl-C ends in order; `finishing` says what it then still does. */
  runInterruptible(command: () => Promise<number>, finishing: string): Promise<void>;
}

export function finetuneCommands(y: Argv, runner: CommandRunner): Argv {
  const { context, run, runInterruptible } = runner;
  return y
    .usage('$0 finetune <command>')
    .command(
      'collect <config> [overrides..]',
      'Play many runs of many tasks, to be learnt from',
      collectOptions,
      (args) =>
        runInterruptible(
          async () => (await import('./commands/collect.js')).collectCommand(args, context),
          'finishing the runs that are being played; the same command goes on (Ctrl-C again stops at once)',
        ),
    )
    .command('dataset <runs..>', 'Make training examples of runs', datasetOptions, (args) =>
      run(async () => (await import('./commands/dataset.js')).datasetCommand(args, context)),
    )
    .command('train <config> [overrides..]', 'Train a local model on a dataset', trainOptions, (args) =>
      runInterruptible(
        async () => (await import('./commands/train.js')).trainCommand(args, context),
        'writing a checkpoint; the same command goes on from it',
      ),
    )
    .command('merge <adapter>', 'Merge an adapter into its base model', mergeOptions, (args) =>
      runInterruptible(
        async () => (await import('./commands/merge.js')).mergeCommand(args, context),
        'stopping',
      ),
    )
    .command('gguf <model>', 'Write a model for llama.cpp and Ollama', ggufOptions, (args) =>
      runInterruptible(
        async () => (await import('./commands/gguf.js')).ggufCommand(args, context),
        'stopping',
      ),
    )
    .command(
      'ollama <adapter>',
      "Write a Modelfile of an adapter for a model of Ollama's",
      ollamaOptions,
      (args) => run(async () => (await import('./commands/ollama.js')).ollamaCommand(args, context)),
    )
    .command('export <trainer> <config>', 'Write a folder for a training elsewhere', exportOptions, (args) =>
      run(async () => (await import('./commands/export.js')).exportCommand(args, context)),
    )
    .command('import <directory>', 'Take back what was trained elsewhere', importOptions, (args) =>
      runInterruptible(
        async () => (await import('./commands/import.js')).importCommand(args, context),
        'stopping',
      ),
    )
    .command(
      'evaluate [overrides..]',
      'Did it help? The same experiments with the tuned model and its base',
      evaluateOptions,
      (args) =>
        runInterruptible(
          async () => (await import('./commands/evaluate.js')).evaluateCommand(args, context),
          'finishing the iteration; the same command goes on (Ctrl-C again stops at once)',
        ),
    )
    .command('hosted', 'Jobs at an OpenAI-compatible fine-tuning API', (yargs) =>
      hostedCommands(yargs, runner),
    )
    .demandCommand(1, 'Name a command; policyloop finetune --help lists them.');
}

function hostedCommands(y: Argv, { context, runInterruptible }: CommandRunner): Argv {
  const hosted = () => import('./commands/hosted.js');
  return y
    .usage('$0 finetune hosted <command>')
    .command('start <dataset>', 'Upload a dataset and start a job', hostedStartOptions, (args) =>
      runInterruptible(async () => (await hosted()).hostedStartCommand(args, context), 'stopping'),
    )
    .command('follow <job>', 'Show what a job does, until it has ended', hostedFollowOptions, (args) =>
      runInterruptible(
        async () => (await hosted()).hostedFollowCommand(args, context),
        'leaving the job running',
      ),
    )
    .command('cancel <job>', 'Cancel a job', hostedCancelOptions, (args) =>
      runInterruptible(async () => (await hosted()).hostedCancelCommand(args, context), 'stopping'),
    )
    .command('list', 'List the latest jobs', hostedListOptions, (args) =>
      runInterruptible(async () => (await hosted()).hostedListCommand(args, context), 'stopping'),
    )
    .demandCommand(1, 'Name a command; policyloop finetune hosted --help lists them.');
}
