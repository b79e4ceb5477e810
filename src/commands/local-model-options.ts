/** What the command line of `models check` and of `serve` takes. */
import type { Argv } from 'yargs';

const json = { type: 'boolean', default: false } as const;
const text = { type: 'string', requiresArg: true } as const;
const number = { type: 'number', requiresArg: true } as const;

export const checkOptions = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      describe: 'Directory of a Hugging Face model, or of a LoRA adapter (default: the embedded model)',
    })
    .option('quantization', { ...text, describe: 'Measure what int8 or int4 weights lose' })
    .option('base', {
      ...text,
      describe: 'Model that an adapter should fit (default: the one that the adapter names)',
    })
    .option('json', { ...json, describe: 'Print JSON for machines' })
    .example('$0 models check models/Qwen2.5-0.5B-Instruct --quantization int4', '');

export const serveOptions = (y: Argv) =>
  y
    .option('model', { ...text, describe: 'Directory of a Hugging Face model (default: the embedded model)' })
    .option('adapter', {
      ...text,
      array: true,
      default: [],
      describe: 'Directory of a LoRA adapter that requests can name as their model, or name=directory',
    })
    .option('port', { ...number, default: 8000, describe: 'Port, 0 for any free one' })
    .option('host', { ...text, default: '127.0.0.1', describe: '127.0.0.1 or ::1' })
    .option('device', { ...text, default: 'auto', describe: 'auto, cpu, cuda, webgpu, dml or coreml' })
    .option('quantization', { ...text, default: 'none', describe: 'none, int8 or int4' })
    .option('threads', { ...number, describe: 'Processor threads (default: the free cores)' })
    .option('context-tokens', {
      ...number,
      describe: "Longest prompt and answer together (default: the model's own)",
    })
    .option('template', {
      ...text,
      array: true,
      default: [],
      describe: 'name=value for the chat template, e.g. enable_thinking=false',
    })
    .option('json', { ...json, describe: 'One JSON line when it is ready' })
    .example('$0 serve --model models/Qwen2.5-0.5B-Instruct --quantization int4', '')
    .example('$0 serve --model models/Qwen2.5-0.5B-Instruct --adapter tuned=runs/tuned/adapter', '');
