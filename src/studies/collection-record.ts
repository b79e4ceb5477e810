/** What lies beside the runs of a collection, so that it goes on as what it began as. */
import { join } from 'node:path';
import { z } from 'zod';
import { UserError } from '../errors.js';
import { collectionFile } from '../runs/reader.js';
import { isMapping } from '../settings/schema.js';
import type { Collection } from './collection-config.js';
import type { PlanPlace } from './open.js';

const recordShape = z.looseObject({
  version: z.literal(1),
  kind: z.literal('collection'),
  runs: z.number(),
  settings: z.record(z.string(), z.unknown()),
});

/** Where a collection is played; its record throws a UserError where the runs that are there would be others now. */
export function collectionPlace(collection: Collection): PlanPlace {
  const { output, runs, seed, experiment, tasks, proposers } = collection;
  // All that runs are drawn from, as JSON has it.
  const settings: unknown = JSON.parse(JSON.stringify({ seed, experiment, tasks, proposers }));
  const record = (written: unknown) => {
    const before = written === undefined ? undefined : recordOf(written, output);
    if (before !== undefined) requireSame(before.settings, settings, output);
    return { version: 1, kind: 'collection', runs: Math.max(runs, before?.runs ?? 0), settings };
  };
  return { directory: output, record, field: 'output' };
}

function recordOf(written: unknown, output: string) {
  const { success, data } = recordShape.safeParse(written);
  if (success) return data;
  throw new UserError({
    file: join(output, collectionFile),
    message: 'this is no record of a collection',
    remedy: 'restore it from a copy, or name another output',
  });
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
