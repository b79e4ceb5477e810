/** `policyloop finetune gguf <directory>`: writes a GGUF file for llama.cpp, and a Modelfile for Ollama next to it. */
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

export const options = (y: Argv) =>
  y
    .positional('directory', {
      type: 'string',
      describe: 'Directory of a model, or of an adapter to merge into its base',
    })
    .option('model', {
      ...kinds.text,
      describe: 'Model, or base model of the adapter (default: as named by the adapter)',
    })
    .option('adapter', { ...kinds.text, describe: 'Adapter to merge into the model' })
    .option('ignore-keys', common.ignoreKeys)
    .option('out', {
      ...kinds.text,
      demandOption: true,
      describe: 'File to write, e.g. tuned.gguf, along with tuned.Modelfile',
    })
    .option('dtype', {
      choices: ['f32', 'f16', 'bf16', 'q8_0'] as const,
      default: 'f16' as const,
      requiresArg: true,
      describe: 'Data type of the matrices (if the base is a GGUF file, only of the changed ones)',
    })
    .option('quiet', common.quiet)
    .option('json', common.json)
    .example('$0 finetune gguf tuned/adapter --out tuned.gguf', 'base and adapter in one file')
    .example('$0 finetune gguf tuned/adapter --model models/base --out tuned.gguf', 'with an explicit base')
    .example('$0 finetune gguf models/Qwen3-0.6B --out qwen.gguf --dtype q8_0', 'about half the size of f16');

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
  const { roundingNote } = await import('../export/rounding.js');
  const ignored = listed(args.ignoreKeys);
  const { model, adapter } = await locate(args, context.cwd);
  const out = resolve(context.cwd, args.out);
  const name = basename(out, extname(out));
  const modelfile = join(dirname(out), `${name}.Modelfile`);
  requireFree(args.out, modelfile, isCutOff(out));
  requireOneLine(name, '--out');
  const type = args.dtype.toUpperCase() as GgufTensorType;
  const { stoppable } = await import('../export/writing.js');
  const written = await stoppable(args, context, (hooks) =>
    writeGguf(model, adapter, out, type, hooks, ignored),
  );
  if (written === undefined) return exitCodes.interrupted;
  const variables = trainedVariables(adapter?.directory ?? model);
  const { text, template } = ggufModelfile(model, basename(out), variables, written.contextTokens, ignored);
  replaceFile(modelfile, text);
  const place = shownPath(out, context.cwd);
  const ollama = shownPath(modelfile, context.cwd);
  const output = { out: place, modelfile: ollama, template, dtype: args.dtype, ...written };
  context.print(
    args.json
      ? JSON.stringify(output satisfies Output)
      : [
          `written     ${place} (${formatBytes(written.bytes)}, ${args.dtype}), ${ollama}`,
          `ollama      ollama create ${shellWord(name)} -f ${shellWord(ollama)}, then model.provider=ollama ${shellWord(`model.name=${name}`)}`,
          `llama.cpp   llama-server -m ${shellWord(place)} --jinja`,
        ].join('\n'),
  );
  if (!template)
    context.note(
      `${ollama} has no TEMPLATE: the model's chat template can't be converted; see the comment in the file`,
    );
  if (written.cappedFrom !== undefined)
    context.note(
      `the context is ${written.contextTokens} tokens, not ${written.cappedFrom}: llama.cpp doesn't support sliding windows for this model`,
    );
  const note = roundingNote(
    written.keptChange,
    args.dtype,
    args.dtype === 'q8_0'
      ? '--dtype f16 keeps more, at twice the size'
      : '--dtype f32 keeps all, at twice the size',
  );
  if (note !== undefined) context.note(note);
  return 0;
}

/** @throws UserError unless `out` ends in .gguf and its Modelfile is new or left over from a killed command */
function requireFree(out: string, modelfile: string, isRetry: boolean): void {
  if (extname(out) !== '.gguf')
    throw new UserError({ field: '--out', value: out, message: 'must end in .gguf' });
  if (existsSync(modelfile) && !isRetry)
    throw new UserError({
      field: '--out',
      value: out,
      message: `${basename(modelfile)} already exists`,
      remedy: 'choose another file name',
    });
}

async function locate({ directory, model, adapter, ignoreKeys }: Args, cwd: string) {
  const { isAdapter, openBase } = await import('../export/base-model.js');
  const { modelDirectory } = await import('../../src/models/local/settings.js');
  const given = directory ?? model ?? adapter;
  if (given === undefined)
    throw new UserError({
      field: 'directory',
      message: 'no model or adapter given',
      remedy: 'pass a directory, e.g. models/…',
    });
  const field = directory !== undefined ? 'directory' : model !== undefined ? '--model' : '--adapter';
  const place = modelDirectory(given, cwd, field);
  const base =
    directory === undefined || model === undefined ? undefined : modelDirectory(model, cwd, '--model');
  const ignored = listed(ignoreKeys);
  if (isAdapter(place)) {
    if (adapter !== undefined && adapter !== given) throw twice('--adapter', adapter, 'an adapter');
    const remedy = `pass the base model too: finetune gguf ${shellWord(given)} --model models/…`;
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
    message: `the first directory is already ${what}`,
    remedy: 'pass one model and one adapter',
  });
