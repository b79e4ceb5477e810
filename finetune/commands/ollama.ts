/** `policyloop finetune ollama <adapter> --from <base>`: writes an adapter's Modelfile and GGUF file for Ollama. */
import { existsSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds, listed } from '../../src/base/command.js';
import { type CommandContext, shownPath } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { shellWord } from '../../src/format/one-line.js';
import { isCutOff } from '../../src/storage/draft.js';
import { replaceFile } from '../../src/storage/files.js';

export const options = (y: Argv) =>
  y
    .positional('adapter', { type: 'string', demandOption: true, describe: 'Directory of a LoRA adapter' })
    .option('from', {
      ...kinds.text,
      demandOption: true,
      describe: 'Base model in Ollama, e.g. llama3.2:1b-instruct-fp16',
    })
    .option('model', {
      ...kinds.text,
      describe: 'Directory of the base model (default: as named by the adapter)',
    })
    .option('ignore-keys', common.ignoreKeys)
    .option('out', { ...kinds.text, default: 'Modelfile', describe: 'File to write' })
    .option('json', common.json)
    .example('$0 finetune ollama tuned/adapter --from llama3.2:1b-instruct-fp16', 'then: ollama create');

type Args = Arguments<typeof options>;

/** The files that were written. */
export type Output = { readonly out: string; readonly adapter: string; readonly from: string };

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { openBase } = await import('../export/base-model.js');
  const { writeGgufAdapter } = await import('../export/gguf/adapter.js');
  const { readDecoderConfig } = await import('../../src/models/local/families/hf-config.js');
  const { adapterModelfile } = await import('../export/ollama/modelfile.js');
  const { modelDirectory } = await import('../../src/models/local/settings.js');
  const directory = modelDirectory(args.adapter, context.cwd, 'adapter');
  const out = resolve(context.cwd, args.out);
  const weights = `${out.replace(/\.Modelfile$/, '')}.adapter.gguf`;
  const existing = [out, weights].find((file) => existsSync(file));
  if (existing !== undefined && !isCutOff(weights))
    throw new UserError({
      field: '--out',
      value: shownPath(existing, context.cwd),
      message: 'this file already exists',
      remedy: 'choose another file name',
    });
  const model = args.model === undefined ? undefined : modelDirectory(args.model, context.cwd, '--model');
  const ignored = listed(args.ignoreKeys);
  const base = openBase(directory, model, context.cwd, ignored);
  const config = readDecoderConfig(base.model, ignored);
  const modelfile = adapterModelfile(base, config, args.from, basename(weights));
  await writeGgufAdapter(base, config, weights);
  replaceFile(out, modelfile);
  const place = shownPath(out, context.cwd);
  context.print(
    args.json
      ? JSON.stringify({
          out: place,
          adapter: shownPath(weights, context.cwd),
          from: args.from,
        } satisfies Output)
      : [
          `written     ${place}, ${shownPath(weights, context.cwd)}`,
          `ollama      ollama create ${shellWord(modelName(out, directory))} -f ${shellWord(place)}`,
          `base        ${args.from} must be ${basename(base.model)}, the model that the adapter was trained on`,
        ].join('\n'),
  );
  return 0;
}

/** Returns `NAME` for `NAME.Modelfile`, otherwise the name of the adapter's directory or, for `adapter`, its parent. */
function modelName(out: string, adapter: string): string {
  const name = /^(.+)\.Modelfile$/.exec(basename(out))?.[1] ?? basename(adapter);
  return name === 'adapter' ? basename(dirname(adapter)) : name;
}
