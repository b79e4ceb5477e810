/** What `policyloop finetune export` can write. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { shownPath } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { isCutOff } from '../../src/base/files/draft.js';
import { replaceFile } from '../../src/base/files/files.js';
import { formatBytes, plural } from '../../src/base/text/numbers.js';
import { requireOneLine, shellWord } from '../../src/base/text/one-line.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { loadTrainConfig } from '../train/train-config.js';
import { writeGgufAdapter } from './gguf/adapter.js';
import type { GgufTensorType } from './gguf/format.js';
import { type WrittenGguf, writeGguf } from './gguf/gguf.js';
import { type AdaptedModel, isAdapter, openBase, trainedVariables } from './merged/base-model.js';
import { type Merged, mergeAdapter } from './merged/merge.js';
import { roundingNote } from './merged/rounding.js';
import type { MergeHooks } from './merged/writing.js';
import { ggufModelfile } from './ollama/modelfile.js';
import { type WrittenTrl, writeTrl } from './trl/trl.js';

export interface ExportJob {
  readonly source: string;
  readonly overrides: readonly string[];
  readonly out: string;
  /** Base model, or with `trl` its name on the other machine. */
  readonly model: string | undefined;
  /** Data type of the changed matrices. */
  readonly dtype: 'stored' | 'f32' | 'f16' | 'bf16' | 'q8_0' | undefined;
  readonly ignoredKeys: readonly string[] | undefined;
  readonly cwd: string;
}

interface Written {
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  readonly output: { readonly out: string } & (
    | ({ readonly base: string; readonly dtype: string } & Merged)
    | ({
        readonly modelfile: string;
        /** True if the Modelfile includes a chat template. */
        readonly template: boolean;
        readonly dtype: string;
      } & WrittenGguf)
    | { readonly adapter: string }
    | WrittenTrl
  );
}

interface Target {
  /** The options that it uses, besides `--out`. */
  readonly options: readonly ('model' | 'dtype' | 'ignoreKeys' | 'overrides')[];
  write(job: ExportJob, hooks: MergeHooks): Promise<Written>;
}

export const targets = {
  merged: { options: ['model', 'dtype', 'ignoreKeys'], write: writeMerged },
  gguf: { options: ['model', 'dtype', 'ignoreKeys'], write: writeGgufAndModelfile },
  adapter: { options: ['model', 'ignoreKeys'], write: writeAdapter },
  trl: { options: ['model', 'overrides'], write: writeTrlFolder },
} satisfies Record<string, Target> as Readonly<Record<'merged' | 'gguf' | 'adapter' | 'trl', Target>>;

async function writeMerged(job: ExportJob, hooks: MergeHooks): Promise<Written> {
  const { model, adapter } = openAdapted(job);
  const dtype = requireDtype(job.dtype ?? 'stored', ['stored', 'f32']);
  const merged = await mergeAdapter(model, adapter, job.out, dtype === 'f32' ? 'float32' : 'stored', hooks);
  const out = shownPath(job.out, job.cwd);
  return {
    output: { out, base: shownPath(model, job.cwd), dtype, ...merged },
    lines: [
      `merged      ${out} (${formatBytes(merged.bytes)}, ${merged.changedMatrices} matrices changed)`,
      `run         model.provider=local ${shellWord(`model.path=${out}`)}`,
    ],
    notes: notesOf(
      roundingNote(merged.keptChange, 'the stored dtype', '--dtype f32 keeps all, at up to twice the size'),
    ),
  };
}

async function writeGgufAndModelfile(job: ExportJob, hooks: MergeHooks): Promise<Written> {
  const { cwd, ignoredKeys } = job;
  const dtype = requireDtype(job.dtype ?? 'f16', ['f32', 'f16', 'bf16', 'q8_0']);
  const { model, adapter } = openModel(job);
  const name = basename(job.out, extname(job.out));
  const file = join(dirname(job.out), `${name}.Modelfile`);
  requireGguf(job.out);
  if (!isCutOff(job.out)) requireNew(file, cwd);
  requireOneLine(name, '--out');
  const type = dtype.toUpperCase() as GgufTensorType;
  const written = await writeGguf(model, adapter, job.out, type, hooks, ignoredKeys);
  const variables = trainedVariables(adapter?.directory ?? model);
  const { text, template } = ggufModelfile(
    model,
    basename(job.out),
    variables,
    written.contextTokens,
    ignoredKeys,
  );
  replaceFile(file, text);
  const [out, modelfile] = [shownPath(job.out, cwd), shownPath(file, cwd)];
  return {
    output: { out, modelfile, template, dtype, ...written },
    lines: [
      `written     ${out} (${formatBytes(written.bytes)}, ${dtype}), ${modelfile}`,
      `ollama      ollama create ${shellWord(name)} -f ${shellWord(modelfile)}, then model.provider=ollama ${shellWord(`model.name=${name}`)}`,
      `llama.cpp   llama-server -m ${shellWord(out)} --jinja`,
    ],
    notes: notesOf(
      template
        ? undefined
        : `${modelfile} has no TEMPLATE: the model's chat template can't be converted; see the comment in the file`,
      written.cappedFrom === undefined
        ? undefined
        : `the context is ${written.contextTokens} tokens, not ${written.cappedFrom}: llama.cpp doesn't support sliding windows for this model`,
      roundingNote(
        written.keptChange,
        dtype,
        dtype === 'q8_0'
          ? '--dtype f16 keeps more, at twice the size'
          : '--dtype f32 keeps all, at twice the size',
      ),
    ),
  };
}

async function writeAdapter(job: ExportJob): Promise<Written> {
  requireGguf(job.out);
  const adapted = openAdapted(job);
  await writeGgufAdapter(adapted, readDecoderConfig(adapted.model, job.ignoredKeys), job.out);
  const out = shownPath(job.out, job.cwd);
  return {
    output: { out, adapter: out },
    lines: [
      `written     ${out}`,
      `llama.cpp   llama-server -m BASE.gguf --lora ${shellWord(out)} --jinja, with ${basename(adapted.model)}, the model that the adapter was trained on`,
    ],
    notes: [],
  };
}

async function writeTrlFolder({ cwd, model, out, overrides, source }: ExportJob): Promise<Written> {
  const config = loadTrainConfig(source, overrides, cwd);
  const written = writeTrl(config, model ?? config.model, out);
  const { examples, trainer, warnings } = written;
  const folder = shownPath(out, cwd);
  return {
    output: { out: folder, ...written },
    lines: [
      `${trainer}         ${plural(examples.train, 'training example')}, ${plural(examples.validation, 'validation example')}`,
      `written     ${folder}`,
      'train       accelerate launch train.py, or sbatch job.sh, in that folder',
      config.method.kind === 'lora'
        ? `run         model.provider=local ${shellWord(`model.path=${config.model}`)} ${shellWord(`model.adapter=${join(folder, 'output')}`)}`
        : `run         model.provider=local ${shellWord(`model.path=${join(folder, 'output')}`)}`,
    ],
    notes: warnings,
  };
}

const notesOf = (...notes: readonly (string | undefined)[]) => notes.filter((note) => note !== undefined);

const openAdapted = ({ cwd, ignoredKeys, model, source }: ExportJob): AdaptedModel =>
  openBase(
    modelDirectory(source, cwd, 'source'),
    model === undefined ? undefined : modelDirectory(model, cwd, '--model'),
    cwd,
    ignoredKeys,
  );

/** Opens an adapter with its base, or locates a model. */
function openModel(job: ExportJob): { readonly model: string; readonly adapter?: AdaptedModel['adapter'] } {
  const { cwd, model, source } = job;
  const place = modelDirectory(source, cwd, 'source');
  if (isAdapter(place)) return openAdapted(job);
  if (model === undefined) return { model: place };
  throw new UserError({
    field: '--model',
    value: model,
    message: `${source} isn't an adapter, so it needs no base model`,
    hint: 'pass the adapter as the source, or remove --model',
  });
}

function requireDtype<T extends string>(dtype: string, possible: readonly T[]): T {
  const found = possible.find((one) => one === dtype);
  if (found !== undefined) return found;
  throw new UserError({
    field: '--dtype',
    value: dtype,
    message: 'not possible here',
    alternatives: possible,
  });
}

function requireGguf(out: string): void {
  if (extname(out) !== '.gguf')
    throw new UserError({ field: '--out', value: out, message: 'must end in .gguf' });
}

function requireNew(file: string, cwd: string): void {
  if (existsSync(file))
    throw new UserError({
      field: '--out',
      value: shownPath(file, cwd),
      message: 'this file already exists',
      hint: 'choose another file name',
    });
}
