/** What is remembered of a hosted job, below its dataset, so that it can be followed later. */
import { existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { UserError } from '../../src/errors.js';
import { replaceFile } from '../../src/runs/writer.js';
import { plainName } from '../elsewhere/shell-text.js';

const fileSchema = z.object({ id: z.string(), rows: z.number(), sha256: z.string() });

const schema = z.object({
  version: z.literal(1),
  kind: z.literal('hosted-job'),
  policyloop: z.string(),
  id: z.string(),
  /** Without what might be secret in it. */
  baseUrl: z.url(),
  /** Name of the environment variable that holds the key. */
  apiKeyEnv: z.string(),
  model: z.string(),
  method: z.enum(['sft', 'dpo']),
  epochs: z.number().nullable(),
  seed: z.number().nullable(),
  dataset: z.string(),
  files: z.object({ training: fileSchema, validation: fileSchema.nullable() }),
  startedAt: z.string(),
  status: z.string(),
  /** Name of the tuned model. */
  result: z.string().nullable(),
  trainedTokens: z.number().nullable(),
  error: z.string().nullable(),
});
export type JobRecord = z.output<typeof schema>;

/** `<dataset>/hosted/<job>.json` */
export function recordPath(dataset: string, job: string): string {
  return path.join(dataset, 'hosted', `${plainName(job)}.json`);
}

export function writeRecord(file: string, record: JobRecord): void {
  mkdirSync(path.dirname(file), { recursive: true });
  replaceFile(file, `${JSON.stringify(record, null, 2)}\n`);
}

/**
 * The record in a file; undefined where there is no such file: then it is taken for a job's id.
 * @throws UserError when the file is something else, or a `.json` that isn't there
 */
export function readRecord(file: string): JobRecord | undefined {
  if (!existsSync(file)) {
    if (!file.endsWith('.json')) return undefined;
    throw new UserError({ message: 'there is no such record of a job', value: file });
  }
  const problem = (message: string) =>
    new UserError({
      file,
      message: `this is no record of a hosted job: ${message}`,
      remedy: 'name a file below hosted/ of a dataset, or the id of a job',
    });
  if (!statSync(file).isFile()) throw problem('it is a directory');
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    throw problem('it is no JSON');
  }
  const parsed = schema.safeParse(content);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0]!;
  throw problem(`${issue.path.join('.') || 'content'}: ${issue.message}`);
}
