/** What lies beside the runs of a collection, so that it goes on as what it began as. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../errors.js';
import { collectionFile, readManifest, runFiles } from '../runs/reader.js';
import { replaceFile } from '../runs/writer.js';
import { isMapping } from '../settings/schema.js';
import { readJson } from '../storage/checked-json.js';
import { lockRun } from '../storage/lock.js';
import { makeDirectory } from '../storage/new-directory.js';
import type { Collection } from './collection-config.js';

const lockFile = 'collection.lock';

const recordShape = z.looseObject({
  version: z.literal(1),
  kind: z.literal('collection'),
  runs: z.number(),
  settings: z.record(z.string(), z.unknown()),
});

/**
 * Makes the directory of a collection, or goes on with the one that is there. This process is then its only writer;
 * returns what ends that.
 * @throws UserError when there is something else, another process writes there, or the runs there are would be others
 */
export function openCollection(collection: Collection): () => void {
  const { output, runs } = collection;
  const file = join(output, collectionFile);
  if (!existsSync(file)) requireFree(output);
  makeDirectory(output);
  const release = lockRun(join(output, lockFile));
  try {
    const settings = settingsOf(collection);
    const before = readRecord(file);
    if (before !== undefined) requireSame(before.settings, settings, output);
    const record = { version: 1, kind: 'collection', runs: Math.max(runs, before?.runs ?? 0), settings };
    replaceFile(file, `${JSON.stringify(record, null, 2)}\n`);
    return release;
  } catch (error) {
    release();
    throw error;
  }
}

/** Whether the run at `path` has come to its end. */
export function isComplete(path: string): boolean {
  return existsSync(join(path, runFiles.manifest)) && readManifest(path).status === 'completed';
}

function readRecord(file: string) {
  const content = readJson(file);
  if (content === undefined) return undefined;
  const { success, data } = recordShape.safeParse(content);
  if (success) return data;
  throw new UserError({
    file,
    message: 'this is no record of a collection',
    remedy: 'restore it from a copy, or name another output',
  });
}

function requireFree(output: string): void {
  if (!existsSync(output) || readdirSync(output).every((name) => name === lockFile)) return;
  throw new UserError({
    field: 'output',
    message: 'holds something else than a collection',
    value: output,
    remedy: 'name a new or an empty directory',
  });
}

/** All that runs are drawn from, as JSON has it. */
function settingsOf({ seed, experiment, tasks, proposers }: Collection): Record<string, unknown> {
  const content = { seed, experiment, tasks, proposers };
  return JSON.parse(JSON.stringify(content)) as Record<string, unknown>;
}

function requireSame(before: unknown, now: unknown, output: string): void {
  const [was, is] = [leaves(before), leaves(now)];
  const changed = [...new Set([...was.keys(), ...is.keys()])].filter((key) => was.get(key) !== is.get(key));
  if (changed.length === 0) return;
  const shown = changed
    .slice(0, 4)
    .map((key) => `${key}: ${was.get(key) ?? 'nothing'} → ${is.get(key) ?? 'nothing'}`);
  throw new UserError({
    file: join(output, collectionFile),
    message: `the runs there began with other settings: ${shown.join('; ')}${changed.length > 4 ? `; and ${changed.length - 4} more` : ''}`,
    remedy: 'restore them, or name another output; only runs may change',
  });
}

/** Dotted path and JSON of every value. */
function leaves(value: unknown, path = ''): ReadonlyMap<string, string> {
  if ((!isMapping(value) && !Array.isArray(value)) || Object.keys(value).length === 0) {
    return new Map([[path, JSON.stringify(value)]]);
  }
  return new Map(
    Object.entries(value).flatMap(([key, item]) => [...leaves(item, path === '' ? key : `${path}.${key}`)]),
  );
}
