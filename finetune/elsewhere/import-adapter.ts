/** Brings what was trained elsewhere back: an adapter or a whole model, checked against its base, with its lineage. */
import { createHash } from 'node:crypto';
import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../src/errors.js';
import { checkModel } from '../../src/models/local/engine/inspect.js';
import { openAdapter } from '../../src/models/local/graph/adapter.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { readDecoderConfig } from '../../src/models/local/weights/hf-config.js';
import { readJson } from '../../src/storage/checked-json.js';
import { replaceFile } from '../../src/storage/replace-file.js';
import { contentHash, type TrainingLineage, trainingLineage, writeLineage } from '../dataset/lineage.js';
import { makeRoom, type WriteHooks, writeParts } from '../export/file-parts.js';
import { newModelDirectory } from '../export/model-directory.js';
import { checkFactors } from './adapter-check.js';
import { findHandOver, type HandOver } from './hand-over.js';
import { readOutcome, type TrlOutcome } from './outcome.js';
import type { TrainedDirectory } from './trained-directory.js';

export interface Import {
  readonly trained: TrainedDirectory;
  /** Base of an adapter; undefined takes the one that it was exported for, or that it names. */
  readonly base: string | undefined;
  /** undefined takes `adapter` or `model` below the output of the exported config. */
  readonly out: string | undefined;
}

export interface Imported {
  readonly kind: TrainedDirectory['kind'];
  /** The new directory. */
  readonly directory: string;
  /** Of an adapter. */
  readonly base: string | undefined;
  readonly outcome: TrlOutcome;
  readonly lineage: TrainingLineage;
  readonly warnings: readonly string[];
}

/** Bytes that are copied at once. */
const chunkBytes = 1 << 22;

/**
 * Checks the files that are needed, copies them and no others into a new directory, and writes the lineage beside them.
 * The directory appears only once all of that is done.
 * @throws UserError for links instead of files, what doesn't fit the base, damaged weights; the reason of `hooks.signal`
 */
export async function importTrained(job: Import, hooks: WriteHooks = {}): Promise<Imported> {
  const { trained } = job;
  const handOver = findHandOver(trained.directory);
  const base = trained.kind === 'adapter' ? baseOf(job, handOver) : undefined;
  const output = job.out ?? defaultOutput(trained, handOver);
  const outcome = readOutcome(trained.directory);
  const sources = trained.files.map((name) => ({ name, size: plainSize(trained.directory, name) }));
  if (base !== undefined) {
    checkFactors(openAdapter(trained.directory, readDecoderConfig(base)));
  } else {
    checkModel(trained.directory);
    openTokenizer(trained.directory);
  }
  const directory = newModelDirectory(output);
  try {
    makeRoom(
      directory.path,
      sources.reduce((sum, { size }) => sum + size, 0),
    );
    const hashes: Record<string, string> = {};
    for (const { name } of sources) {
      const hash = createHash('sha256');
      await writeParts(
        path.join(directory.path, name),
        contents(path.join(trained.directory, name), hash),
        hooks,
      );
      hashes[name] = hash.digest('hex');
    }
    if (base !== undefined) nameBase(directory.path, base);
    const warnings = warningsOf(handOver, base, outcome);
    const lineage = lineageOf(handOver, base, outcome, hashes, warnings);
    writeLineage(directory.path, lineage);
    directory.finish();
    return { kind: trained.kind, directory: path.resolve(output), base, outcome, lineage, warnings };
  } catch (error) {
    directory.abandon();
    throw error;
  }
}

function baseOf({ trained, base }: Import, handOver: HandOver | undefined): string {
  if (base !== undefined) return base;
  const config = readJson(path.join(trained.directory, 'adapter_config.json'));
  const named = (config as { base_model_name_or_path?: unknown } | null)?.base_model_name_or_path;
  const found = [handOver?.base.path, named].find(
    (place): place is string => typeof place === 'string' && existsSync(path.join(place, 'config.json')),
  );
  if (found !== undefined) return found;
  throw new UserError({
    field: '--model',
    message: 'the base model of this adapter is not here',
    value: handOver?.base.path ?? named,
    remedy: 'name the directory of the base model: --model models/…',
  });
}

function defaultOutput({ kind, directory }: TrainedDirectory, handOver: HandOver | undefined): string {
  if (handOver === undefined) {
    throw new UserError({
      field: '--out',
      message: 'there is no lineage.json here that would say where the result belongs',
      remedy: 'name a new directory: --out tuned/adapter',
    });
  }
  const seed = /^seed-\d+$/.exec(path.basename(directory))?.[0];
  return path.join(handOver.config.output, ...(seed === undefined ? [] : [seed]), kind);
}

/** @throws UserError unless the name stands for a file itself */
function plainSize(directory: string, name: string): number {
  const file = path.join(directory, name);
  const stat = lstatSync(file);
  if (stat.isFile()) return stat.size;
  throw new UserError({
    file,
    message: stat.isSymbolicLink() ? 'this is a link: where it leads is not copied' : 'this is no file',
    remedy: 'copy the directory with its contents first (cp -rL, rsync -L)',
  });
}

/** Piece by piece; what was a file when it was looked at must still be one. */
function* contents(file: string, hash: ReturnType<typeof createHash>): Generator<Uint8Array> {
  const descriptor = openSync(file, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    if (!fstatSync(descriptor).isFile()) throw new UserError({ file, message: 'this is no file' });
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

/** The config that came back names the base as it is called elsewhere. */
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
  const warnings: string[] = [];
  if (handOver === undefined) {
    warnings.push('no lineage.json came with it: what it was trained on is not known');
  } else {
    warnings.push(...handOver.warnings);
    if (base !== undefined && handOver.base.hash !== null && contentHash(base) !== handOver.base.hash) {
      warnings.push(
        `the base model ${base} is not, byte for byte, the one that the training was exported for`,
      );
    }
  }
  if (!finished) {
    warnings.push(
      step === undefined
        ? 'nothing tells whether its training was finished'
        : `its training was not finished, or not by train.py: the state is that of step ${step}`,
    );
  }
  return warnings;
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
    /** What our own trainings don't have. */
    imported: {
      trainer: handOver === undefined ? null : `trl ${handOver.trainer}`,
      rows: handOver?.rows ?? null,
      exportedBy: handOver?.policyloop ?? null,
      seed: seed ?? null,
      lastLoss: lastLoss ?? null,
      versions,
      /** SHA-256 of the files as they came. */
      files,
      warnings,
    },
  };
}
