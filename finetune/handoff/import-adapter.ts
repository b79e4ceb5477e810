/** Imports an adapter or model that was trained elsewhere: checks it, copies it and records its lineage. */
import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { checkModel } from '../../src/models/local/engine/inspect.js';
import { readDecoderConfig } from '../../src/models/local/families/hf-config.js';
import { openAdapter } from '../../src/models/local/graph/adapter.js';
import { modelDirectory } from '../../src/models/local/settings.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { readJson, replaceFile } from '../../src/storage/files.js';
import { contentHash, type TrainingLineage, trainingLineage, writeLineage } from '../dataset/lineage.js';
import { holdsModel } from '../export/base-model.js';
import { makeModelDirectory } from '../export/model-directory.js';
import { makeRoom, type WriteHooks, writeParts } from '../export/writing.js';
import { findHandOver, type HandOver } from './hand-over.js';
import { checkTrained, readOutcome, type TrainedDirectory, type TrlOutcome } from './trained-directory.js';

interface Import {
  readonly trained: TrainedDirectory;
  /** Base of an adapter. Default: the base it was exported for, or the one it names. */
  readonly base: string | undefined;
  /** Default: `adapter` or `model` in the exported config's output directory, if that is inside `cwd`. */
  readonly out: string | undefined;
  readonly cwd: string;
  readonly ignoredKeys?: readonly string[] | undefined;
}

export interface Imported {
  readonly kind: TrainedDirectory['kind'];
  readonly directory: string;
  readonly base: string | undefined;
  readonly outcome: TrlOutcome;
  readonly lineage: TrainingLineage;
  readonly warnings: readonly string[];
}

const chunkBytes = 1 << 22;

/**
 * Copies only the files that `job.trained` lists. The new directory appears only when it is complete.
 * @throws UserError for links, damaged weights or a wrong base; the reason of `hooks.signal` if it aborts
 */
export async function importTrained(job: Import, hooks: WriteHooks = {}): Promise<Imported> {
  const { kind, directory: from, files } = job.trained;
  const handOver = findHandOver(from);
  const base = kind === 'adapter' ? baseOf(job, handOver) : undefined;
  const output = job.out ?? defaultOutput(job, handOver);
  const outcome = readOutcome(from);
  const bytes = files.reduce((sum, name) => sum + plainSize(from, name), 0);
  if (base !== undefined) {
    checkTrained(openAdapter(from, readDecoderConfig(base, job.ignoredKeys), job.ignoredKeys));
  } else {
    checkModel(from, job.ignoredKeys);
    openTokenizer(from);
  }
  return makeModelDirectory(output, async (directory) => {
    makeRoom(directory, bytes);
    const hashes: Record<string, string> = {};
    for (const name of files) {
      const hash = createHash('sha256');
      await writeParts(path.join(directory, name), contents(path.join(from, name), hash), hooks);
      hashes[name] = hash.digest('hex');
    }
    if (base !== undefined) nameBase(directory, base);
    const warnings = warningsOf(handOver, base, outcome);
    const lineage = lineageOf(handOver, base, outcome, hashes, warnings);
    writeLineage(directory, lineage);
    return { kind, directory: path.resolve(output), base, outcome, lineage, warnings };
  });
}

function baseOf({ trained, base }: Import, handOver: HandOver | undefined): string {
  if (base !== undefined) return base;
  const config = readJson(path.join(trained.directory, 'adapter_config.json'));
  const named = (config as { base_model_name_or_path?: unknown } | null)?.base_model_name_or_path;
  const found = [handOver?.base.path, named]
    .filter((place) => typeof place === 'string')
    .map((place) => modelDirectory(place))
    .find(holdsModel);
  if (found !== undefined) return found;
  throw new UserError({
    field: '--model',
    message: "this adapter's base model wasn't found",
    value: handOver?.base.path ?? named,
    remedy: "pass the base model's directory, e.g. --model models/…",
  });
}

/** The output directory that lineage.json names. It must be in the working directory, because the file is untrusted. */
function defaultOutput({ cwd, trained }: Import, handOver: HandOver | undefined): string {
  const { directory, kind } = trained;
  if (handOver === undefined) {
    throw new UserError({
      field: '--out',
      message: 'is required, because there is no lineage.json',
      remedy: 'set it, e.g. --out tuned/adapter',
    });
  }
  const seed = /^seed-\d+$/.exec(path.basename(directory))?.[0];
  const output = path.resolve(cwd, handOver.config.output, ...(seed === undefined ? [] : [seed]), kind);
  if (output.startsWith(path.join(cwd, path.sep))) return output;
  throw new UserError({
    field: '--out',
    value: output,
    message: 'the output directory in lineage.json is outside the working directory',
    remedy: 'set the directory, e.g. --out tuned/adapter',
  });
}

/** Size of a regular file, in bytes. @throws UserError for anything else */
function plainSize(directory: string, name: string): number {
  const file = path.join(directory, name);
  const stat = lstatSync(file);
  if (stat.isFile()) return stat.size;
  throw new UserError({
    file,
    message: stat.isSymbolicLink() ? "is a link, which isn't followed" : 'not a regular file',
    remedy: 'first copy the directory with the files that its links point to (cp -rL, rsync -L)',
  });
}

/** Reads a file in pieces. Checks again that it isn't a link, because it may have been replaced. */
function* contents(file: string, hash: ReturnType<typeof createHash>): Generator<Uint8Array> {
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    if (!fstatSync(descriptor).isFile()) throw new UserError({ file, message: 'not a regular file' });
    const chunk = Buffer.alloc(chunkBytes);
    for (;;) {
      const bytes = chunk.subarray(0, readSync(descriptor, chunk, 0, chunkBytes, null));
      if (bytes.length === 0) return;
      hash.update(bytes);
      yield bytes;
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Replaces the base model's name, which was valid on the other machine, with its local path. */
function nameBase(directory: string, base: string): void {
  const file = path.join(directory, 'adapter_config.json');
  const config = readJson(file) as Record<string, unknown>;
  replaceFile(file, `${JSON.stringify({ ...config, base_model_name_or_path: base }, null, 2)}\n`);
}

function warningsOf(
  handOver: HandOver | undefined,
  base: string | undefined,
  { finished, step }: TrlOutcome,
): readonly string[] {
  const exportedFor = handOver?.base.hash ?? null;
  const warnings = [
    ...(handOver?.warnings ?? ['there is no lineage.json, so the training data is unknown']),
    base !== undefined &&
      exportedFor !== null &&
      contentHash(base) !== exportedFor &&
      `the base model ${base} differs from the one in the export`,
    !finished &&
      (step === undefined
        ? "it's unknown whether training finished"
        : `it's unknown whether training finished; the last recorded step is ${step}`),
  ];
  return warnings.filter((warning) => warning !== false);
}

function lineageOf(
  handOver: HandOver | undefined,
  base: string | undefined,
  outcome: TrlOutcome,
  files: Readonly<Record<string, string>>,
  warnings: readonly string[],
): TrainingLineage {
  const { finished, step, best, versions, seed, lastLoss } = outcome;
  const lineage = trainingLineage({
    method: handOver?.config.method.kind ?? (base === undefined ? 'full' : 'lora'),
    model: base ?? handOver?.base.path ?? 'unknown',
    dataset: handOver?.dataset ?? { path: 'unknown', recipe: null, sources: null, files: {}, changed: false },
    config: handOver?.config ?? {},
    outcome: { ended: finished ? 'complete' : 'unknown', step: step ?? 0, best },
  });
  return {
    ...lineage,
    /** Fields that `finetune train` doesn't record. */
    imported: {
      trainer: handOver === undefined ? null : `trl ${handOver.trainer}`,
      rows: handOver?.rows ?? null,
      exportedBy: handOver?.policyloop ?? null,
      seed: seed ?? null,
      lastLoss: lastLoss ?? null,
      versions,
      /** SHA-256 of the imported files. */
      files,
      warnings,
    },
  };
}
