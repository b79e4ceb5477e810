/** The targets of `policyloop finetune export`. */
import { existsSync } from 'node:fs';
import { basename, dirname, extname, join } from 'node:path';
import { shownPath } from '../../src/base/context.js';
import { UserError } from '../../src/base/errors.js';
import { isReplaceable } from '../../src/base/files/draft.js';
import { replaceFile } from '../../src/base/files/files.js';
import { formatBytes, plural } from '../../src/base/text/numbers.js';
import { requireOneLine, shellWord } from '../../src/base/text/one-line.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { isAdapter } from '../../src/models/local/summary/adapter-summary.js';
import { loadTrainConfig } from '../train/train-config.js';
import type { GgufTensorType } from './gguf/format.js';
import { type WrittenGguf, writeGguf } from './gguf/gguf.js';
import { openBase, templateVariables } from './merged/base-model.js';
import { type MergeResult, mergeAdapter } from './merged/merge.js';
import { roundingNotes } from './merged/rounding.js';
import { ggufModelfile } from './ollama/modelfile.js';
import { type WrittenTrl, writeTrl } from './trl/trl.js';

export interface ExportJob {
  readonly source: string;
  readonly overrides: readonly string[];
  readonly out: string;
  /** Base model; with `trl`, its name on the machine that trains. */
  readonly model: string | undefined;
  /** Data type of the matrices; for merged or a GGUF base, only of the changed ones. */
  readonly dtype: 'stored' | 'f32' | 'f16' | 'bf16' | 'q8_0' | undefined;
  readonly ignoredKeys: readonly string[] | undefined;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

interface ExportResult {
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  readonly output: { readonly out: string } & (
    | ({ readonly base: string; readonly dtype: string } & MergeResult)
    | ({
        readonly modelfile: string;
        /** True if the Modelfile includes a chat template. */
        readonly template: boolean;
        readonly dtype: string;
      } & WrittenGguf)
    | WrittenTrl
  );
}

interface Target {
  /** Options that the target uses, besides `--out`. */
  readonly options: readonly ('model' | 'dtype' | 'ignoreKeys' | 'overrides')[];
  write(job: ExportJob): Promise<ExportResult> | ExportResult;
}

export const targets: Readonly<Record<'merged' | 'gguf' | 'trl', Target>> = {
  merged: { options: ['model', 'dtype', 'ignoreKeys'], write: writeMerged },
  gguf: { options: ['model', 'dtype', 'ignoreKeys'], write: writeGgufAndModelfile },
  trl: { options: ['model', 'overrides'], write: writeTrlFolder },
};

async function writeMerged(job: ExportJob): Promise<ExportResult> {
  const { model, adapter } = openSource(job);
  const dtype = requireDtype(job.dtype ?? 'stored', ['stored', 'f32']);
  const merged = await mergeAdapter(model, adapter, job.out, dtype, job.signal);
  const out = shownPath(job.out, job.cwd);
  return {
    output: { out, base: shownPath(model, job.cwd), dtype, ...merged },
    lines: [
      `merged      ${out} (${formatBytes(merged.bytes)}, changed matrices: ${merged.changedMatrices})`,
      `run         model.provider=local ${shellWord(`model.path=${out}`)}`,
    ],
    notes: roundingNotes(
      merged.keptChange,
      'the stored dtype',
      '--dtype f32 keeps all of it, at up to twice the size',
    ),
  };
}

async function writeGgufAndModelfile(job: ExportJob): Promise<ExportResult> {
  const { cwd, ignoredKeys, signal } = job;
  const dtype = requireDtype(job.dtype ?? 'f16', ['f32', 'f16', 'bf16', 'q8_0']);
  const source = modelDirectory(job.source, cwd, 'source');
  const { model, adapter } =
    isAdapter(source) || job.model !== undefined ? openSource(job) : { model: source, adapter: undefined };
  const name = basename(job.out, extname(job.out));
  const modelfilePath = join(dirname(job.out), `${name}.Modelfile`);
  if (extname(job.out) !== '.gguf')
    throw new UserError({ field: '--out', value: job.out, message: 'must end in .gguf' });
  if (existsSync(modelfilePath) && !isReplaceable(job.out))
    throw new UserError({
      field: '--out',
      value: shownPath(modelfilePath, cwd),
      message: 'this file already exists',
      hint: 'choose another file name',
    });
  requireOneLine(name, '--out');
  const type = dtype.toUpperCase() as GgufTensorType;
  const gguf = await writeGguf(model, adapter, job.out, type, ignoredKeys, signal);
  const { contextTokens, cappedFrom, keptChange } = gguf;
  const variables = templateVariables(adapter?.directory ?? model);
  const { text, hasTemplate } = ggufModelfile(model, `${name}.gguf`, variables, contextTokens, ignoredKeys);
  replaceFile(modelfilePath, text);
  const [out, modelfile] = [shownPath(job.out, cwd), shownPath(modelfilePath, cwd)];
  return {
    output: { out, modelfile, template: hasTemplate, dtype, ...gguf },
    lines: [
      `written     ${out} (${formatBytes(gguf.bytes)}, ${dtype}), ${modelfile}`,
      `ollama      ollama create ${shellWord(name)} -f ${shellWord(modelfile)}, then model.provider=ollama ${shellWord(`model.name=${name}`)}`,
      `llama.cpp   llama-server -m ${shellWord(out)} --jinja`,
    ],
    notes: [
      ...(hasTemplate
        ? []
        : [
            `${modelfile} has no TEMPLATE: the model's chat template can't be converted; see the comment in the file`,
          ]),
      ...(cappedFrom === undefined
        ? []
        : [
            `the context is ${contextTokens} tokens, not ${cappedFrom}: llama.cpp doesn't support sliding windows for this model`,
          ]),
      ...roundingNotes(keptChange, dtype, 'a --dtype with more bits keeps more of it'),
    ],
  };
}

function writeTrlFolder({ cwd, model, out, overrides, source }: ExportJob): ExportResult {
  const config = loadTrainConfig(source, overrides, cwd);
  const summary = writeTrl(config, model ?? config.model, out);
  const { examples, trainer, warnings } = summary;
  const folder = shownPath(out, cwd);
  const outputPath = join(folder, 'output');
  const modelSettings =
    config.method.kind === 'lora'
      ? `${shellWord(`model.path=${config.model}`)} ${shellWord(`model.adapter=${outputPath}`)}`
      : shellWord(`model.path=${outputPath}`);
  return {
    output: { out: folder, ...summary },
    lines: [
      `${trainer}         ${plural(examples.train, 'training example')}, ${plural(examples.validation, 'validation example')}`,
      `written     ${folder}`,
      'train       accelerate launch train.py, or sbatch job.sh, in that folder',
      `run         model.provider=local ${modelSettings}`,
    ],
    notes: warnings,
  };
}

const openSource = ({ cwd, ignoredKeys, model, source }: ExportJob) =>
  openBase(
    modelDirectory(source, cwd, 'source'),
    model === undefined ? undefined : modelDirectory(model, cwd, '--model'),
    cwd,
    ignoredKeys,
  );

function requireDtype<T extends string>(dtype: string, possible: readonly T[]): T {
  const found = possible.find((one) => one === dtype);
  if (found !== undefined) return found;
  throw new UserError({
    field: '--dtype',
    value: dtype,
    message: 'not supported by this export target',
    alternatives: possible,
  });
}
