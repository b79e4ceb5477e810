/**
 * Rounds of halving that are over though runs of them failed: tasks that play a later round, and the command that collects
 * it, leave them alone. Where no run fails, the runs themselves tell it.
 */
import { createHash } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readOwnJson, replaceFile } from '../../storage/files.js';
import type { PlanEnd } from '../slurm/part-ends.js';
import type { Sweep } from './sweep-plan.js';

const judgedShape = z.object({
  of: z.string(),
  rounds: z.int(),
  failures: z.array(z.object({ run: z.string(), message: z.string() })),
});

interface Judged {
  readonly rounds: number;
  /** What failed in these rounds. */
  readonly failures: PlanEnd['failures'];
}

const fileOf = (directory: string) => join(directory, 'rounds.json');

/** Another sweep of the same directory has other rounds. */
const idOf = ({ how, seeds, settings }: Sweep): string =>
  createHash('sha256')
    .update(JSON.stringify([how, seeds, settings.map(({ name }) => name)]))
    .digest('hex');

export function readJudged(directory: string, sweep: Sweep): Judged {
  const { data } = judgedShape.safeParse(readOwnJson(fileOf(directory)));
  return data?.of === idOf(sweep) ? data : { rounds: 0, failures: [] };
}

export const writeJudged = (directory: string, sweep: Sweep, judged: Judged): void =>
  replaceFile(fileOf(directory), `${JSON.stringify({ of: idOf(sweep), ...judged })}\n`);

/** What failed is tried again by the next command. */
export function removeJudged(directory: string): void {
  if (existsSync(fileOf(directory))) rmSync(fileOf(directory));
}
