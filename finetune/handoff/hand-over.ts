/** `lineage.json` in an exported folder records the config, base and dataset, for the import of the trained model. */
import { existsSync, lstatSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/base/errors.js';
import { version } from '../../src/base/package.js';
import { parseJson } from '../../src/storage/json-depth.js';
import { contentHash, datasetLineage, datasetSchema } from '../dataset/lineage.js';
import type { TrainConfig } from '../train/train-config.js';
import type { RowKind } from './trl-rows.js';
import type { TrlTrainer } from './trl-settings.js';

export const handOverFile = 'lineage.json';

const schema = z.looseObject({
  version: z.literal(1),
  kind: z.literal('trl-export'),
  policyloop: z.string(),
  trainer: z.enum(['sft', 'dpo']),
  rows: z.enum(['messages', 'tokens']),
  /** Config of `finetune train`, with absolute paths. */
  config: z.looseObject({ output: z.string(), method: z.looseObject({ kind: z.string() }) }),
  base: z.looseObject({
    /** Directory of the base at the time of the export. */
    path: z.string(),
    /** Name on the training machine. */
    name: z.string(),
    /** `contentHash` of the base; null if it wasn't available. */
    hash: z.string().nullable(),
  }),
  dataset: datasetSchema,
  /** Differences from training with `finetune train`. */
  warnings: z.array(z.string()),
});
export type HandOver = z.output<typeof schema>;

export function handOver(
  config: TrainConfig,
  trainer: TrlTrainer,
  rows: RowKind,
  baseName: string,
  warnings: readonly string[],
): HandOver {
  return {
    version: 1,
    kind: 'trl-export',
    policyloop: version(),
    trainer,
    rows,
    config: JSON.parse(JSON.stringify(config)) as TrainConfig,
    base: {
      path: config.model,
      name: baseName,
      hash: existsSync(config.model) ? contentHash(config.model) : null,
    },
    dataset: datasetLineage(config.dataset),
    warnings: [...warnings],
  };
}

/** Maximum size in bytes, because the file is untrusted. Real files are far smaller. */
const longest = 16 * 2 ** 20;

/**
 * Searches the directory and the two above it.
 * @throws UserError if the directory's own file is damaged, or if one above it is a link or too large
 */
export function findHandOver(directory: string): HandOver | undefined {
  for (const place of [directory, path.dirname(directory), path.dirname(path.dirname(directory))]) {
    const file = path.join(place, handOverFile);
    if (!existsSync(file)) continue;
    const stat = lstatSync(file);
    if (!stat.isFile() || stat.size > longest) throw damaged(file, 'too large, or not a regular file');
    let content: unknown;
    try {
      content = parseJson(readFileSync(file, 'utf8'));
    } catch {
      // A file of this name in a parent directory may be unrelated, so ignore it.
      if (place !== directory) continue;
      throw damaged(file, 'not JSON');
    }
    const parsed = schema.safeParse(content);
    if (parsed.success) return parsed.data;
    if (place !== directory) continue;
    const issue = parsed.error.issues[0]!;
    throw damaged(file, `${issue.path.join('.') || 'content'}: ${issue.message}`);
  }
  return undefined;
}

function damaged(file: string, message: string): UserError {
  return new UserError({
    file,
    message: `not the lineage file of an export: ${message}`,
    remedy: 'copy lineage.json from the exported folder, or remove it to import without lineage',
  });
}
