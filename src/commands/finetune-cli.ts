/** `policyloop finetune …` on the command line; each command's module is loaded when it runs. */
import type { Argv } from 'yargs';
import type { CommandContext } from '../terminal.js';
import { evaluateOptions } from './finetune-evaluate-options.js';
import { datasetOptions, trainOptions } from './finetune-options.js';
import { ggufOptions, mergeOptions, ollamaOptions } from './finetune-output-options.js';
import { exportOptions, importOptions } from './finetune-scale-out-options.js';

/** How the command line runs a command: its result is the exit code. */
export interface CommandRunner {
  readonly context: CommandContext;
  run(command: () => Promise<number>): Promise<void>;
  /** The same for a command that Ctrl-C ends in order; `finishing` says what it then still does. */
  runInterruptible(command: () => Promise<number>, finishing: string): Promise<void>;
}

export function finetuneCommands(y: Argv, { context, run, runInterruptible }: CommandRunner): Argv {
  return y
    .usage('$0 finetune <command>')
    .command('dataset <runs..>', 'Make training examples of runs', datasetOptions, (args) =>
      run(async () => (await import('./finetune.js')).datasetCommand(args, context)),
    )
    .command('train <config>', 'Train a local model on a dataset', trainOptions, (args) =>
      runInterruptible(
        async () => (await import('./finetune-train.js')).trainCommand(args, context),
        'writing a checkpoint; the same command goes on from it',
      ),
    )
    .command('merge <adapter>', 'Merge an adapter into its base model', mergeOptions, (args) =>
      runInterruptible(
        async () => (await import('./finetune-merge.js')).mergeCommand(args, context),
        'stopping',
      ),
    )
    .command('gguf <model>', 'Write a model for llama.cpp and Ollama', ggufOptions, (args) =>
      runInterruptible(
        async () => (await import('./finetune-gguf.js')).ggufCommand(args, context),
        'stopping',
      ),
    )
    .command(
      'ollama <adapter>',
      "Write a Modelfile of an adapter for a model of Ollama's",
      ollamaOptions,
      (args) => run(async () => (await import('./finetune-ollama.js')).ollamaCommand(args, context)),
    )
    .command('export <trainer> <config>', 'Write a folder for a training elsewhere', exportOptions, (args) =>
      run(async () => (await import('./finetune-export.js')).exportCommand(args, context)),
    )
    .command('import <directory>', 'Take back what was trained elsewhere', importOptions, (args) =>
      runInterruptible(
        async () => (await import('./finetune-import.js')).importCommand(args, context),
        'stopping',
      ),
    )
    .command(
      'evaluate [overrides..]',
      'Did it help? The same experiments with the tuned model and its base',
      evaluateOptions,
      (args) =>
        runInterruptible(
          async () => (await import('./finetune-evaluate.js')).evaluateCommand(args, context),
          'finishing the iteration; the same command goes on (Ctrl-C again stops at once)',
        ),
    )
    .demandCommand(1, 'Name a command; policyloop finetune --help lists them.');
}
