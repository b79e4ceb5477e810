import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../../base/command.js';
import type { CommandContext } from '../../base/context.js';

export const options = (y: Argv) =>
  y
    .positional('model', { ...kinds.text, demandOption: true, describe: 'Model: hf:ORG/NAME' })
    .option('json', common.json)
    .epilogue('Removes only what `models pull` downloaded; other programs may need the rest.')
    .example('$0 models remove hf:HuggingFaceTB/SmolLM2-135M-Instruct', 'all its revisions and files');

type Args = Arguments<typeof options>;

/** The folder that was removed. */
type Output = { readonly removed: string };

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { withoutScheme } = await import('../../models/local/stores/hf-cache.js');
  const { removeModel } = await import('../../models/local/stores/hf-download.js');
  const reference = withoutScheme(args.model);
  const folder = removeModel(reference, context.env);
  context.print(args.json ? JSON.stringify({ removed: folder } satisfies Output) : `removed  ${folder}`);
  return 0;
}
