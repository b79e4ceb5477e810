/**
 * Records halving rounds that are over although some of their runs failed. Tasks that play a later round, and
 * the command that collects it, then leave the failed runs alone. Without failures, the runs themselves show
 * that a round is over.
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
  /** The failures in these rounds. */
  readonly failures: PlanEnd['failures'];
}

const fileOf = (directory: string) => join(directory, 'rounds.json');

/** Identifies the sweep, because another sweep in the same directory has other rounds. */
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

/** Forgets the failures, so that the next command retries them. */
export function removeJudged(directory: string): void {
  if (existsSync(fileOf(directory))) rmSync(fileOf(directory));
}
