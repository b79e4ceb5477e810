/** Options of the commands that make models for others out of what was trained. */
import type { Argv } from 'yargs';

const json = { type: 'boolean', default: false, describe: 'Print JSON for machines' } as const;

export const mergeOptions = (y: Argv) =>
  y
    .positional('adapter', { type: 'string', demandOption: true, describe: 'Directory of a LoRA adapter' })
    .option('model', {
      type: 'string',
      requiresArg: true,
      describe: 'Directory of its base model (default: the one that the adapter names)',
    })
    .option('out', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Directory of the merged model, a new one',
    })
    .option('dtype', {
      choices: ['stored', 'float32'] as const,
      default: 'stored' as const,
      requiresArg: true,
      describe: 'Dtype of changed matrices: as the base has them, or float32',
    })
    .option('json', json)
    .example('$0 finetune merge tuned/adapter --out tuned/merged', '');

export const ggufOptions = (y: Argv) =>
  y
    .positional('model', {
      type: 'string',
      demandOption: true,
      describe: 'Model directory, or that of an adapter, which is merged into its base',
    })
    .option('adapter', { type: 'string', requiresArg: true, describe: 'Adapter to merge into the model' })
    .option('out', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'File to write, e.g. tuned.gguf; tuned.Modelfile goes beside it',
    })
    .option('dtype', {
      choices: ['f32', 'f16', 'bf16', 'q8_0'] as const,
      default: 'f16' as const,
      requiresArg: true,
      describe: 'Format of the matrices',
    })
    .option('json', json)
    .example('$0 finetune gguf tuned/adapter --out tuned.gguf', 'base and adapter in one file')
    .example('$0 finetune gguf models/Qwen3-0.6B --out qwen.gguf --dtype q8_0', 'half the size');

export const ollamaOptions = (y: Argv) =>
  y
    .positional('adapter', { type: 'string', demandOption: true, describe: 'Directory of a LoRA adapter' })
    .option('from', {
      type: 'string',
      demandOption: true,
      requiresArg: true,
      describe: 'Its base model in Ollama, e.g. llama3.2:1b-instruct-fp16',
    })
    .option('model', {
      type: 'string',
      requiresArg: true,
      describe: 'Directory of its base model here (default: the one that the adapter names)',
    })
    .option('out', {
      type: 'string',
      default: 'Modelfile',
      requiresArg: true,
      describe: 'File to write',
    })
    .option('json', json)
    .example('$0 finetune ollama tuned/adapter --from llama3.2:1b-instruct-fp16', '');
