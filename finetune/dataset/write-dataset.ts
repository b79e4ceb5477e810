/** Writes a dataset directory: rows (in our own format or another trainer's), lineage and manifest. */
import { createHash } from 'node:crypto';
import { closeSync, mkdirSync, openSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { isTaken, writeAtomic } from '../../src/base/files/draft.js';
import { packageVersion } from '../../src/base/package.js';
import type { ChatMessage } from '../../src/models/language-model.js';
import type { Dataset, DatasetManifest } from './dataset.js';
import {
  type Example,
  type Imitation,
  type Preference,
  type Recipe,
  type RowFormat,
  rowFormats,
} from './example.js';

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
  return writeAtomic(path, (draft) => {
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
    if (!isOwnFormat(format)) write(`${split}.lineage.jsonl`, lineages);
  }
  const header = { version: 1, kind: 'dataset', policyloop: packageVersion() } as const;
  const manifest: DatasetManifest = { ...header, recipe, format, ...summary, alarms, files };
  writeFileSync(join(path, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return manifest;
}

/** Writes JSON Lines row by row, because a file can exceed the maximum length of a string. */
export function writeRows(path: string, rows: readonly object[]): DatasetManifest['files'][string] {
  const hash = createHash('sha256');
  const descriptor = openSync(path, 'w');
  try {
    for (const row of rows) {
      const line = `${JSON.stringify(row)}\n`;
      hash.update(line);
      writeFileSync(descriptor, line);
    }
  } finally {
    closeSync(descriptor);
  }
  return { rows: rows.length, sha256: hash.digest('hex') };
}

/** True if rows include their weight and lineage. */
const isOwnFormat = (format: RowFormat): boolean => format === 'jsonl';

/** Only our own format stores weights; the others store pairs (DPO) or single replies (SFT). */
const isSuitable = (recipe: Recipe, format: RowFormat): boolean =>
  isOwnFormat(format) || (recipe !== 'weighted' && format.endsWith('-dpo') === (recipe === 'preference'));

/** @throws UserError if the format can't store the recipe's examples */
export function requireExportable(recipe: Recipe, format: RowFormat): void {
  if (isSuitable(recipe, format)) return;
  throw new UserError({
    field: '--format',
    message: `this format can't store the examples of the recipe ${recipe}`,
    value: format,
    alternatives: rowFormats.filter((other) => isSuitable(recipe, other)),
  });
}

/** @param format must suit the example's recipe (see `requireExportable`) */
export function exportRow(example: Example, format: RowFormat): object {
  const { kind: _, prompt, lineage, weight, ...replies } = example;
  if (isOwnFormat(format)) return { prompt, ...replies, weight, lineage };
  if (example.kind === 'imitation') return format === 'trl-sft' ? trlSftRow(example) : openaiSftRow(example);
  return format === 'trl-dpo' ? trlDpoRow(example) : openaiDpoRow(example);
}

const assistantMessage = (content: string): ChatMessage => ({ role: 'assistant', content });

/** Row for supervised fine-tuning. Earlier replies get weight 0, so that only the last reply is learned. */
function openaiSftRow({ prompt, completion }: Imitation) {
  const earlierMessages = prompt.map((one) => (one.role === 'assistant' ? { ...one, weight: 0 } : one));
  return { messages: [...earlierMessages, assistantMessage(completion)] };
}

function openaiDpoRow({ prompt, chosen, rejected }: Preference) {
  return {
    input: { messages: prompt },
    preferred_output: [assistantMessage(chosen)],
    non_preferred_output: [assistantMessage(rejected)],
  };
}

/** Row for `SFTTrainer`; prompt and completion are separate, so only the completion contributes to the loss. */
export function trlSftRow({ prompt, completion }: Pick<Imitation, 'prompt' | 'completion'>) {
  return { prompt, completion: [assistantMessage(completion)] };
}

export function trlDpoRow({ prompt, chosen, rejected }: Pick<Preference, 'prompt' | 'chosen' | 'rejected'>) {
  return { prompt, chosen: [assistantMessage(chosen)], rejected: [assistantMessage(rejected)] };
}
