/** What a person says of a run: tags and a note, in a file of their own, so that a live run can have them, too. */
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../base/errors.js';
import { checkedValue, readOwnJson, replaceFile } from '../storage/files.js';
import { underLease } from '../storage/lease.js';

export interface Labels {
  /** In the order of the alphabet, each once. */
  readonly tags: readonly string[];
  /** Absent where nothing is noted. */
  readonly note?: string | undefined;
}

export const labelsFile = 'labels.json';

const tag = z.string().regex(/^[^\s,=]+$/u, 'a tag has no space, comma or equals sign');

const labelsShape = z.strictObject({
  tags: z.array(tag).default([]),
  note: z.string().min(1).optional(),
});

const none: Labels = { tags: [] };

/** The labels of the run or training at `path`; none where the file is damaged. */
export function readLabels(path: string): Labels {
  try {
    return soundLabels(path);
  } catch (error) {
    if (error instanceof UserError) return none;
    throw error;
  }
}

/** @throws UserError where the file is damaged */
function soundLabels(path: string): Labels {
  const file = join(path, labelsFile);
  return existsSync(file) ? checkedValue(labelsShape, readOwnJson(file), file) : none;
}

/**
 * Changes the labels of the run or training at `path`, while no other process does.
 * @returns what they are now
 * @throws UserError for a tag that can't be one, and where the file is damaged
 */
export function changeLabels(path: string, change: (labels: Labels) => Labels): Promise<Labels> {
  const file = join(path, labelsFile);
  return underLease(`${file}.lease`, () => {
    const { note, tags } = change(soundLabels(path));
    const labels = {
      tags: [...new Set(tags.map(checkedTag))].toSorted(),
      ...(note !== undefined && note !== '' && { note }),
    };
    if (labels.tags.length === 0 && labels.note === undefined) rmSync(file, { force: true });
    else replaceFile(file, `${JSON.stringify(labels, null, 2)}\n`);
    return labels;
  });
}

function checkedTag(text: string): string {
  const { error } = tag.safeParse(text);
  if (error === undefined) return text;
  throw new UserError({ field: 'tags', value: text, message: error.issues[0]!.message });
}
