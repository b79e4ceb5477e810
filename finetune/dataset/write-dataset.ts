/** Writes a dataset directory: rows, lineage, manifest and page. */
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { isTaken, writeWhole } from '../../src/base/files/draft.js';
import { version } from '../../src/base/package.js';
import { weightsDropped } from './alarms.js';
import type { Dataset, DatasetManifest, WrittenFile } from './dataset.js';
import { renderDatasetPage } from './dataset-page.js';
import type { RowFormat } from './example.js';
import { exportRows, isOwn, requireExportable } from './export-rows.js';

/** Lineage files exist only for formats whose rows can't store the lineage. */
export const datasetFiles = {
  train: 'train.jsonl',
  validation: 'validation.jsonl',
  trainLineage: 'train.lineage.jsonl',
  validationLineage: 'validation.lineage.jsonl',
  manifest: 'manifest.json',
  page: 'index.html',
} as const;

/** @throws UserError if `path` is taken (see `isTaken`) and isn't an empty directory */
export function requireNewDirectory(path: string): void {
  if (!isTaken(path)) return;
  const isFolder = statSync(path).isDirectory();
  if (isFolder && readdirSync(path).length === 0) return;
  throw new UserError({
    field: '--out',
    message: isFolder ? 'this directory is not empty' : 'this is a file, not a directory',
    value: path,
    hint: 'choose a new or empty directory',
  });
}

/** @throws UserError if the directory isn't new or empty, or the format doesn't suit the recipe */
export function writeDataset(dataset: Dataset, format: RowFormat, path: string): DatasetManifest {
  requireExportable(dataset.recipe, format);
  requireNewDirectory(path);
  return writeWhole(path, (draft) => {
    mkdirSync(draft);
    return writeFiles(dataset, format, draft);
  });
}

function writeFiles(dataset: Dataset, format: RowFormat, path: string): DatasetManifest {
  const files: Record<string, WrittenFile> = {};
  for (const split of ['train', 'validation'] as const) {
    const rows = exportRows(dataset[split], format);
    files[datasetFiles[split]] = writeRows(
      join(path, datasetFiles[split]),
      rows.map(({ content }) => content),
    );
    if (!isOwn(format)) {
      const name = datasetFiles[`${split}Lineage`];
      files[name] = writeRows(
        join(path, name),
        rows.map(({ lineage }) => lineage),
      );
    }
  }
  const manifest = manifestOf(dataset, format, files);
  writeFileSync(join(path, datasetFiles.page), renderDatasetPage(dataset, manifest));
  writeFileSync(join(path, datasetFiles.manifest), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** Writes JSON Lines row by row, because a file can exceed the maximum length of a string. */
export function writeRows(path: string, rows: readonly object[]): WrittenFile {
  const hash = createHash('sha256');
  const file = openSync(path, 'w');
  try {
    for (const row of rows) {
      const line = `${JSON.stringify(row)}\n`;
      hash.update(line);
      writeFileSync(file, line);
    }
  } finally {
    closeSync(file);
  }
  return { rows: rows.length, sha256: hash.digest('hex') };
}

function manifestOf(dataset: Dataset, format: RowFormat, files: DatasetManifest['files']): DatasetManifest {
  const { recipe, train, validation: _, lengths: __, alarms, ...summary } = dataset;
  const dropped = isOwn(format) ? undefined : weightsDropped(format, train);
  return {
    version: 1,
    kind: 'dataset',
    policyloop: version(),
    recipe,
    format,
    ...summary,
    alarms: dropped === undefined ? alarms : [...alarms, dropped],
    files,
  };
}
