/** Costs and results of a reproduction, stored next to its model across restarts. */
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { replaceFile } from '../../src/storage/files.js';

const validity = z.object({
  asked: z.number(),
  valid: z.number(),
  failures: z.record(z.string(), z.number()),
});

const choice = z.object({
  model: z.string(),
  against: z.string(),
  tasks: z.number(),
  winRate: z.number(),
  winInterval: z.tuple([z.number(), z.number()]).readonly(),
});

const record = z.object({
  /** Seconds that each step has taken, including earlier starts. */
  seconds: z.record(z.string(), z.number()),
  /** Results on held-out tasks of a model and its predecessor, identified by hashes of their directories. */
  chosen: z.array(choice).readonly().optional(),
  /** Validity of the answers of the model whose weights have this SHA-256. */
  checked: z.object({ sha256: z.string(), raw: validity, constrained: validity }).optional(),
});

export type Choice = z.output<typeof choice>;
export type ReproductionRecord = z.output<typeof record>;

export const recordFile = (model: string): string => `${model}.reproduction.json`;

export function readRecord(file: string): ReproductionRecord {
  if (!existsSync(file)) return { seconds: {} };
  return record.parse(JSON.parse(readFileSync(file, 'utf8')));
}

export function writeRecord(file: string, content: ReproductionRecord): void {
  mkdirSync(dirname(file), { recursive: true });
  replaceFile(file, `${JSON.stringify(content, null, 2)}\n`);
}
