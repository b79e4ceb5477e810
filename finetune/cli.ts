/** The commands of `policyloop finetune …`, in the order of `--help`. */
import type { ListedCommand } from '../src/base/command.js';

export const finetuneCommands: readonly ListedCommand[] = [
  [
    'collect <config> [overrides..]',
    'Run many experiments to collect training data',
    () => import('./commands/collect.js'),
  ],
  ['dataset <runs..>', 'Make a training dataset from runs', () => import('./commands/dataset.js')],
  ['train <config> [overrides..]', 'Train a local model on a dataset', () => import('./commands/train.js')],
  [
    'rl <config> [overrides..]',
    'Train a local model by reinforcement learning',
    () => import('./commands/rl.js'),
  ],
  ['merge <adapter>', 'Merge an adapter into its base model', () => import('./commands/merge.js')],
  [
    'gguf [directory]',
    'Convert a model to GGUF, for llama.cpp and Ollama',
    () => import('./commands/gguf.js'),
  ],
  [
    'ollama <adapter>',
    'Write a Modelfile that adds an adapter to a model in Ollama',
    () => import('./commands/ollama.js'),
  ],
  [
    'export <trainer> <config> [overrides..]',
    'Export a folder for training on another machine',
    () => import('./commands/export.js'),
  ],
  ['import <directory>', 'Import a model that was trained elsewhere', () => import('./commands/import.js')],
  [
    'evaluate [overrides..]',
    'Compare the tuned model with its base on the same experiments',
    () => import('./commands/evaluate.js'),
  ],
];
