/** The tags of runs and training runs. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { UserError, unlessRejected } from '../../base/errors.js';
import { checkedValue, readOwnJson, replaceFile } from '../../base/files/files.js';
import { takeLock } from '../../base/files/lock.js';

export interface Labels {
  /** Sorted, without duplicates. */
  readonly tags: readonly string[];
}

export const labelsFile = 'labels.json';

const tagShape = z
  .string()
  .max(64, 'a tag has at most 64 characters')
  .regex(/^[^\s,=]+$/u, 'a tag must not be empty or contain spaces, commas or equals signs');

const labelsShape = z.strictObject({ tags: z.array(tagShape).default([]) });

const noLabels: Labels = { tags: [] };

/** The labels of a run or training run; empty if the file is damaged. */
export const readLabels = (path: string): Labels => unlessRejected(() => validLabels(path)) ?? noLabels;

/** @throws UserError if the file is damaged */
function validLabels(path: string): Labels {
  const file = join(path, labelsFile);
  return existsSync(file) ? checkedValue(labelsShape, readOwnJson(file), file) : noLabels;
}

/**
 * Changes the labels of a run or training run, one process at a time.
 * @returns the new labels
 * @throws UserError for an invalid tag or a damaged file, or if another process holds the lock for too long
 */
export async function changeLabels(path: string, change: (labels: Labels) => Labels): Promise<Labels> {
  const file = join(path, labelsFile);
  const release = await waitForLock(`${file}.lock`);
  try {
    const labels = { tags: [...new Set(change(validLabels(path)).tags.map(checkTag))].toSorted() };
    if (labels.tags.length === 0) rmSync(file, { force: true });
    else replaceFile(file, `${JSON.stringify(labels, null, 2)}\n`);
    return labels;
  } finally {
    release();
  }
}

/** Waits for up to ten seconds while another process holds the lock. */
async function waitForLock(file: string): Promise<() => void> {
  for (let tries = 1; ; tries++) {
    try {
      return takeLock(file);
    } catch (error) {
      if (tries === 500 || !(error instanceof UserError)) throw error;
      await delay(10 + ((process.pid + tries) % 20));
    }
  }
}

function checkTag(text: string): string {
  const { error } = tagShape.safeParse(text);
  if (error === undefined) return text;
  throw new UserError({ field: 'tags', value: text, message: error.issues[0]!.message });
}
