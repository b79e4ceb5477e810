/** Reads the outcome of training from the files of a Hugging Face trainer. */

import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { jsonIn } from '../../src/storage/json-depth.js';
import type { StepLoss } from '../engine/checkpoint.js';

export interface TrlOutcome {
  /** True if `train.py` recorded that it finished. */
  readonly finished: boolean;
  readonly step: number | undefined;
  readonly seed: number | undefined;
  /** Training loss of the last logged step. */
  readonly lastLoss: number | undefined;
  /** The lowest validation loss. */
  readonly best: StepLoss | undefined;
  /** Versions of Python packages. */
  readonly versions: Readonly<Record<string, string>>;
}

const finishedSchema = z.looseObject({
  seed: z.number().optional(),
  steps: z.number(),
  versions: z.record(z.string(), z.string()).default({}),
});

const stateSchema = z.looseObject({
  global_step: z.number(),
  log_history: z
    .array(z.looseObject({ step: z.number(), loss: z.number().optional(), eval_loss: z.number().optional() }))
    .default([]),
});

/** Reads `finished.json` and `trainer_state.json`; the latter from the newest checkpoint if there is no other. */
export function readOutcome(directory: string): TrlOutcome {
  const finished = parsed(finishedSchema, path.join(directory, 'finished.json'));
  const state = parsed(stateSchema, path.join(directory, stateFile(directory)));
  const log = state?.log_history ?? [];
  const best = log
    .flatMap(({ step, eval_loss: loss }) => (loss === undefined ? [] : [{ step, loss }]))
    .reduce<StepLoss | undefined>((least, one) => (least && least.loss <= one.loss ? least : one), undefined);
  return {
    finished: finished !== undefined,
    step: finished?.steps ?? state?.global_step,
    seed: finished?.seed,
    lastLoss: log.findLast(({ loss }) => loss !== undefined)?.loss,
    best,
    versions: finished?.versions ?? {},
  };
}

function stateFile(directory: string): string {
  const own = 'trainer_state.json';
  if (existsSync(path.join(directory, own))) return own;
  const newest = readdirSync(directory)
    .filter((name) => /^checkpoint-\d+$/.test(name))
    .toSorted((a, b) => Number(b.slice(11)) - Number(a.slice(11)))[0];
  return newest === undefined ? own : path.join(newest, own);
}

/** In bytes. Far larger than any real file; a limit because the file is untrusted. */
const longest = 64 * 2 ** 20;

/** These files are only informative, so unreadable ones are ignored. */
function parsed<T extends z.ZodType>(schema: T, file: string): z.output<T> | undefined {
  if (!existsSync(file)) return undefined;
  const stat = lstatSync(file);
  if (!stat.isFile() || stat.size > longest) return undefined;
  return schema.safeParse(jsonIn(readFileSync(file, 'utf8'))).data;
}
