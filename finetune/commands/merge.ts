/** `policyloop finetune merge <adapter>`: an adapter and its base as one model directory. */
import { resolve } from 'node:path';
import { type CommandContext, exitCodes } from '../../src/context.js';
import { formatBytes } from '../../src/format/numbers.js';
import { shellQuote } from '../../src/report/views/reproduce.js';
import { shownPath } from '../../src/runs/facts.js';
import { openBase } from '../export/base-model.js';
import { type MergedDtype, mergeAdapter } from '../export/merge.js';
import { writingProgress } from '../export/writing.js';

export interface MergeArguments {
  readonly adapter: string;
  readonly model?: string | undefined;
  readonly out: string;
  readonly dtype: MergedDtype;
  readonly json: boolean;
}

/** Above this share of the adapter's change, what rounding did to it is worth a word. */
const notableRounding = 0.05;

export async function mergeCommand(args: MergeArguments, context: CommandContext): Promise<number> {
  const adapterDirectory = resolve(context.cwd, args.adapter);
  const { model, adapter } = openBase(
    adapterDirectory,
    args.model === undefined ? undefined : resolve(context.cwd, args.model),
    context.cwd,
  );
  const out = resolve(context.cwd, args.out);
  const progress = writingProgress(args.json, context);
  try {
    const merged = await mergeAdapter(model, adapter, out, args.dtype, progress);
    progress.close();
    const place = shownPath(out, context.cwd);
    context.print(
      args.json
        ? JSON.stringify({ out: place, base: shownPath(model, context.cwd), dtype: args.dtype, ...merged })
        : [
            `merged      ${place} (${formatBytes(merged.bytes)}, ${merged.changedMatrices} matrices changed)`,
            `run it      model.provider=local ${shellQuote(`model.path=${place}`)}`,
          ].join('\n'),
    );
    if (merged.roundingError > notableRounding) context.note(roundingNote(merged.roundingError));
    return 0;
  } catch (error) {
    if (!context.stop.finish.aborted) throw error;
    context.note('nothing was written');
    return exitCodes.interrupted;
  } finally {
    progress.close();
  }
}

function roundingNote(share: number): string {
  return (
    `rounding to the stored dtype added noise of ${(100 * share).toFixed(0)} % of what the adapter changes; ` +
    '--dtype float32 keeps all of it, at twice the size'
  );
}
