import type { Argv } from 'yargs';
import { type Arguments, common } from '../../base/command.js';
import type { CommandContext } from '../../base/context.js';
import { formatBytes, formatCount } from '../../format/numbers.js';
import { number, terminalTable, text } from '../../format/table.js';
import type { ModelOverview } from '../../models/local/summary/model-summary.js';

export const options = (y: Argv) =>
  y
    .option('json', common.json)
    .example('$0 models list', 'models in Ollama, the Hugging Face cache and LM Studio')
    .example('$0 run my.yaml model.path=ollama:qwen3:0.6b', 'run one of them directly, without Ollama');

type Args = Arguments<typeof options>;

/** Models found on this machine. */
type Output = readonly ({
  /** Value for `model.path`. */
  readonly reference: string;
  readonly store: string;
  /** Directory or GGUF file. */
  readonly path: string;
} & ModelOverview)[];

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { findStoredModels } = await import('../../models/local/stores/stored-models.js');
  const { embeddedModel, modelDirectory } = await import('../../models/local/settings.js');
  const { modelOverview } = await import('../../models/local/summary/model-summary.js');
  const embedded = { reference: embeddedModel, store: 'policyloop', path: modelDirectory(embeddedModel) };
  const models = [embedded, ...findStoredModels(context.env)].map((model) => ({
    ...model,
    ...modelOverview(model.path),
  }));
  if (args.json) {
    context.print(JSON.stringify(models satisfies Output));
    return 0;
  }
  context.print(
    terminalTable(models, [
      text('model.path', ({ reference }) => reference),
      text('from', ({ store }) => store),
      number('parameters', ({ parameters }) => parameters && formatCount(parameters)),
      number('size', ({ bytes }) => bytes && formatBytes(bytes)),
      text('weights', ({ dtypes }) => dtypes?.join(', ')),
      number('context', ({ contextTokens }) => contextTokens),
      text('usable', ({ problem }) => problem ?? 'yes'),
    ]),
  );
  return 0;
}
