/** Writes a dataset directory: rows, lineage and manifest. */
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { isTaken, writeWhole } from '../../src/base/files/draft.js';
import { version } from '../../src/base/package.js';
import type { Dataset, DatasetManifest } from './dataset.js';
import type { RowFormat } from './example.js';
import { exportRow, isOwn, requireExportable } from './export-rows.js';

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
  const { recipe, train, validation, alarms, ...summary } = dataset;
  const files: Record<string, DatasetManifest['files'][string]> = {};
  for (const [split, examples] of Object.entries({ train, validation })) {
    const write = (name: string, rows: readonly object[]) => {
      files[name] = writeRows(join(path, name), rows);
    };
    const rows = examples.map((example) => exportRow(example, format));
    const lineages = examples.map(({ lineage }) => lineage);
    write(`${split}.jsonl`, rows);
    // The other formats' rows can't store the lineage.
    if (!isOwn(format)) write(`${split}.lineage.jsonl`, lineages);
  }
  const manifest: DatasetManifest = {
    version: 1,
    kind: 'dataset',
    policyloop: version(),
    recipe,
    format,
    ...summary,
    alarms,
    files,
  };
  writeFileSync(join(path, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** Writes JSON Lines row by row, because a file can exceed the maximum length of a string. */
export function writeRows(path: string, rows: readonly object[]): DatasetManifest['files'][string] {
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
