/** `policyloop finetune export <source> --to …`: writes a model for other programs, or a training job for TRL. */
import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds, splitList } from '../../src/base/command.js';
import { type CommandContext, exitCodes } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import type { ExportJob } from '../export/targets.js';

const dtypes = ['stored', 'f32', 'f16', 'bf16', 'q8_0'] as const;

export const options = (y: Argv) =>
  y
    .positional('source', {
      type: 'string',
      demandOption: true,
      describe: 'Directory of an adapter or, with gguf, of a model; with trl, a config for finetune train',
    })
    .positional('overrides', { type: 'string', array: true, describe: 'With trl: key=value, e.g. epochs=1' })
    .option('to', {
      choices: ['merged', 'gguf', 'trl'] as const,
      demandOption: true,
      requiresArg: true,
      describe:
        'merged: the adapter and its base as one model directory; gguf: the same as one GGUF file, with a Modelfile; ' +
        'trl: rows, script and Slurm job',
    })
    .option('out', { ...kinds.text, demandOption: true, describe: 'File or directory to write' })
    .option('model', {
      ...kinds.text,
      describe:
        'Base model (default: as named by the adapter or config); with trl, its name on the machine that trains',
    })
    .option('dtype', {
      choices: dtypes,
      requiresArg: true,
      describe:
        'Data type. --to merged: stored (default) or f32, for changed matrices only; --to gguf: f16 (default), f32, bf16 or q8_0, for all matrices (only changed ones with a GGUF base)',
    })
    .option('ignore-keys', commonOptions.ignoreKeys)
    .option('json', commonOptions.json)
    .example('$0 finetune export tuned/adapter --to merged --out tuned/merged', 'a Hugging Face directory')
    .example('$0 finetune export tuned/adapter --to gguf --out tuned.gguf', 'for llama.cpp and Ollama')
    .example('$0 finetune export tune.yaml --to trl --out cluster', 'for training on another machine');

type Args = Arguments<typeof options>;

export const finishingText = 'stopping';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { targets } = await import('../export/targets.js');
  const target = targets[args.to];
  rejectUnused(args, target.options);
  const { cwd, note, print, stop } = context;
  const job: ExportJob = {
    source: args.source,
    overrides: args.overrides ?? [],
    out: resolve(cwd, args.out),
    model: args.model,
    dtype: args.dtype,
    ignoredKeys: splitList(args.ignoreKeys),
    cwd,
    signal: stop.finish,
  };
  try {
    const { lines, notes, output } = await target.write(job);
    print(args.json ? JSON.stringify(output) : lines.join('\n'));
    for (const text of notes) note(text);
    return 0;
  } catch (error) {
    if (!stop.finish.aborted) throw error;
    note('nothing was written');
    return exitCodes.interrupted;
  }
}

/** @throws UserError for an option, or overrides, that the target doesn't use */
function rejectUnused(args: Args, used: readonly string[]): void {
  const field = (['model', 'dtype', 'ignoreKeys'] as const).find(
    (key) => args[key] !== undefined && !used.includes(key),
  );
  const unusedOption = field === undefined ? args.overrides?.length && !used.includes('overrides') : field;
  if (!unusedOption) return;
  throw new UserError({
    field: field === undefined ? 'overrides' : `--${field === 'ignoreKeys' ? 'ignore-keys' : field}`,
    value: field === undefined ? args.overrides!.join(' ') : args[field],
    message: `has no effect with --to ${args.to}`,
    hint: 'remove it',
  });
}
