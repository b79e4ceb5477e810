import type { Argv } from 'yargs';
import { type Arguments, commonOptions, kinds } from '../../base/command.js';
import { type CommandContext, exitCodes } from '../../base/context.js';
import { formatBytes, plural } from '../../base/text/numbers.js';
import { createProgress } from '../../base/text/progress.js';

export const options = (y: Argv) =>
  y
    .positional('model', {
      ...kinds.text,
      demandOption: true,
      describe: 'Model: hf:ORG/NAME, hf:ORG/NAME@REVISION or hf:ORG/NAME:FILE.gguf',
    })
    .option('quiet', commonOptions.quiet)
    .option('json', commonOptions.json)
    .epilogue(
      'Uses HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, HF_HOME and HF_HUB_CACHE. For Ollama models, use `ollama pull`.',
    )
    .example('$0 models pull hf:HuggingFaceTB/SmolLM2-135M-Instruct', 'into the Hugging Face cache');

export const finishingText = 'stopping (complete files are kept; press Ctrl-C again to stop immediately)';

/** Location of the model. */
type Output = { readonly model: string; readonly path: string };

export async function execute(args: Arguments<typeof options>, context: CommandContext): Promise<number> {
  const { pullModel } = await import('../../models/local/stores/hf-download.js');
  const progress = createProgress({ quiet: args.quiet || args.json }, context);
  try {
    const path = await pullModel(args.model, context.env, {
      signal: context.stop.finish,
      onStart(total, files) {
        if (files > 0) progress.begin({ label: plural(files, 'file'), total, formatAmount: formatBytes });
      },
      onBytes: (bytes) => progress.update(bytes),
    });
    progress.close();
    context.print(
      args.json
        ? JSON.stringify({ model: args.model, path } satisfies Output)
        : [`pulled  ${path}`, `use it  model.provider=local model.path=${args.model}`].join('\n'),
    );
    return 0;
  } catch (error) {
    if (!context.stop.finish.aborted) throw error;
    context.note('interrupted: complete files are kept; run policyloop models pull again for the rest');
    return exitCodes.interrupted;
  } finally {
    progress.close();
  }
}
