/** The commands of `policyloop finetune …`, in the order of `--help`. */
import type { ListedCommand } from '../src/base/command.js';

export const finetuneCommands: readonly ListedCommand[] = [
  ['dataset <runs..>', 'Make a training dataset from runs', () => import('./commands/dataset.js')],
  ['train <config> [overrides..]', 'Train a local model on a dataset', () => import('./commands/train.js')],
  ['rl <config> [overrides..]', 'Train a model or policy by RL', () => import('./commands/rl.js')],
  [
    'export <source> [overrides..]',
    'Write a model for other programs, or a training job for TRL',
    () => import('./commands/export.js'),
  ],
  [
    'evaluate [overrides..]',
    'Compare the tuned model with its base on the same experiments',
    () => import('./commands/evaluate.js'),
  ],
];
