/** `policyloop finetune merge <adapter>`: merges an adapter and its base into one model directory. */
import { resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds, listed } from '../../src/base/command.js';
import { type CommandContext, exitCodes, shownPath } from '../../src/base/context.js';
import { formatBytes } from '../../src/format/numbers.js';
import { shellWord } from '../../src/format/one-line.js';
import type { Merged } from '../export/merge.js';

export const options = (y: Argv) =>
  y
    .positional('adapter', { type: 'string', demandOption: true, describe: 'Directory of a LoRA adapter' })
    .option('model', {
      ...kinds.text,
      describe: 'Directory of the base model (default: as named by the adapter)',
    })
    .option('ignore-keys', common.ignoreKeys)
    .option('out', { ...kinds.text, demandOption: true, describe: 'New directory for the merged model' })
    .option('dtype', {
      choices: ['stored', 'float32'] as const,
      default: 'stored' as const,
      requiresArg: true,
      describe: 'Data type of the changed matrices',
    })
    .option('quiet', common.quiet)
    .option('json', common.json)
    .example('$0 finetune merge tuned/adapter --out tuned/merged', 'writes an ordinary model');

type Args = Arguments<typeof options>;

/** The model that was written. */
export type Output = { readonly out: string; readonly base: string; readonly dtype: string } & Merged;

export const finishing = 'stopping';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { openBase } = await import('../export/base-model.js');
  const { mergeAdapter } = await import('../export/merge.js');
  const { roundingNote } = await import('../export/rounding.js');
  const { modelDirectory } = await import('../../src/models/local/settings.js');
  const { model, adapter } = openBase(
    modelDirectory(args.adapter, context.cwd, 'adapter'),
    args.model === undefined ? undefined : modelDirectory(args.model, context.cwd, '--model'),
    context.cwd,
    listed(args.ignoreKeys),
  );
  const out = resolve(context.cwd, args.out);
  const { stoppable } = await import('../export/writing.js');
  const merged = await stoppable(args, context, (hooks) =>
    mergeAdapter(model, adapter, out, args.dtype, hooks),
  );
  if (merged === undefined) return exitCodes.interrupted;
  const place = shownPath(out, context.cwd);
  const output = { out: place, base: shownPath(model, context.cwd), dtype: args.dtype, ...merged };
  context.print(
    args.json
      ? JSON.stringify(output satisfies Output)
      : [
          `merged      ${place} (${formatBytes(merged.bytes)}, ${merged.changedMatrices} matrices changed)`,
          `run         model.provider=local ${shellWord(`model.path=${place}`)}`,
        ].join('\n'),
  );
  const note = roundingNote(
    merged.keptChange,
    'the stored dtype',
    '--dtype float32 keeps all, at up to twice the size',
  );
  if (note !== undefined) context.note(note);
  return 0;
}
