/** `policyloop finetune gguf <directory>`: writes one file for llama.cpp, and a Modelfile for Ollama next to it. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds, listed } from '../../src/base/command.js';
import { type CommandContext, exitCodes, shownPath } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { formatBytes } from '../../src/format/numbers.js';
import { requireOneLine, shellWord } from '../../src/format/one-line.js';
import { isCutOff } from '../../src/storage/draft.js';
import { replaceFile } from '../../src/storage/files.js';
import type { GgufTensorType } from '../export/gguf/format.js';
import type { WrittenGguf } from '../export/gguf/gguf.js';
import { writingProgress } from '../export/writing.js';

export const options = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      describe: 'Model directory, or that of an adapter, which is merged into its base',
    })
    .option('model', {
      ...kinds.text,
      describe: 'Base model of the adapter (default: the one that it names), or the model itself',
    })
    .option('adapter', { ...kinds.text, describe: 'Adapter to merge into the model' })
    .option('ignore-keys', common.ignoreKeys)
    .option('out', {
      ...kinds.text,
      demandOption: true,
      describe: 'File to write, e.g. tuned.gguf; tuned.Modelfile goes beside it',
    })
    .option('dtype', {
      choices: ['f32', 'f16', 'bf16', 'q8_0'] as const,
      default: 'f16' as const,
      requiresArg: true,
      describe: 'Format of the matrices; over a GGUF file, of those that the adapter changes',
    })
    .option('quiet', common.quiet)
    .option('json', common.json)
    .example('$0 finetune gguf tuned/adapter --out tuned.gguf', 'base and adapter in one file')
    .example('$0 finetune gguf tuned/adapter --model models/base --out tuned.gguf', 'its base lies elsewhere')
    .example('$0 finetune gguf models/Qwen3-0.6B --out qwen.gguf --dtype q8_0', 'half the size');

type Args = Arguments<typeof options>;

/** The files that were written. */
export type Output = {
  readonly out: string;
  readonly modelfile: string;
  /** True if the Modelfile includes a chat template. */
  readonly template: boolean;
  readonly dtype: string;
} & WrittenGguf;

export const finishing = 'stopping';

export async function execute(args: Args, context: CommandContext): Promise<number> {
  const { writeGguf } = await import('../export/gguf/gguf.js');
  const { ggufModelfile } = await import('../export/ollama/modelfile.js');
  const { trainedVariables } = await import('../export/base-model.js');
  const ignored = listed(args.ignoreKeys);
  const { model, adapter } = await locate(args, context.cwd);
  const out = resolve(context.cwd, args.out);
  const name = basename(out, extname(out));
  const modelfile = join(dirname(out), `${name}.Modelfile`);
  requireFree(args.out, modelfile, isCutOff(out));
  requireOneLine(name, '--out');
  const progress = writingProgress(args, context);
  try {
    const type = args.dtype.toUpperCase() as GgufTensorType;
    const written = await writeGguf(model, adapter, out, type, progress, ignored);
    progress.close();
    const { text, template } = ggufModelfile(
      model,
      basename(out),
      trainedVariables(adapter?.directory ?? model),
      written.contextTokens,
      ignored,
    );
    replaceFile(modelfile, text);
    const place = shownPath(out, context.cwd);
    const ollama = shownPath(modelfile, context.cwd);
    if (args.json) {
      context.print(
        JSON.stringify({
          ...{ out: place, modelfile: ollama, template, dtype: args.dtype },
          ...written,
        } satisfies Output),
      );
    } else {
      context.print(
        [
          `written     ${place} (${formatBytes(written.bytes)}, ${args.dtype}), ${ollama}`,
          `ollama      ollama create ${shellWord(name)} -f ${shellWord(ollama)}, then model.provider=ollama ${shellWord(`model.name=${name}`)}`,
          `llama.cpp   llama-server -m ${shellWord(place)} --jinja`,
        ].join('\n'),
      );
    }
    if (!template)
      context.note(
        `${ollama} holds no TEMPLATE: the model's own is of a kind that can't be derived; see there`,
      );
    if (written.cappedFrom !== undefined)
      context.note(
        `the context is ${written.contextTokens} tokens, not ${written.cappedFrom}: llama.cpp has no sliding window here`,
      );
    return 0;
  } catch (error) {
    if (!context.stop.finish.aborted) throw error;
    context.note('nothing was written');
    return exitCodes.interrupted;
  } finally {
    progress.close();
  }
}

/** @throws UserError unless the output ends in .gguf, and its Modelfile is free or left by a killed command */
function requireFree(out: string, modelfile: string, isAgain: boolean): void {
  if (extname(out) !== '.gguf')
    throw new UserError({ field: '--out', value: out, message: 'give a file name that ends in .gguf' });
  if (existsSync(modelfile) && !isAgain)
    throw new UserError({
      field: '--out',
      value: out,
      message: `${basename(modelfile)} is there already`,
      remedy: 'name another file, or move it away',
    });
}

async function locate({ directory, model, adapter, ignoreKeys }: Args, cwd: string) {
  const { isAdapter, openBase } = await import('../export/base-model.js');
  const { modelDirectory } = await import('../../src/models/local/settings.js');
  const given = directory ?? model ?? adapter;
  if (given === undefined)
    throw new UserError({
      field: 'directory',
      message: 'name a model or an adapter',
      remedy: 'policyloop finetune gguf models/… --out model.gguf',
    });
  const field = directory !== undefined ? 'directory' : model !== undefined ? '--model' : '--adapter';
  const place = modelDirectory(given, cwd, field);
  const base =
    directory === undefined || model === undefined ? undefined : modelDirectory(model, cwd, '--model');
  const ignored = listed(ignoreKeys);
  if (isAdapter(place)) {
    if (adapter !== undefined && adapter !== given) throw twice('--adapter', adapter, 'an adapter');
    const remedy = `name it too: finetune gguf ${shellWord(given)} --model models/…`;
    return openBase(place, base, cwd, ignored, remedy);
  }
  if (base !== undefined) throw twice('--model', model, 'a model');
  if (adapter !== undefined) return openBase(modelDirectory(adapter, cwd, '--adapter'), place, cwd, ignored);
  return { model: place, adapter: undefined };
}

const twice = (field: string, value: string | undefined, what: string) =>
  new UserError({
    field,
    value,
    message: `the directory that is named first is ${what} itself`,
    remedy: 'name one model and at most one adapter',
  });
