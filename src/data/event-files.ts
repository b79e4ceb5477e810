/** Curves of runs as TensorBoard reads them: a folder for each run. */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { ListedRun } from '../archive/listing.js';
import { logsIn } from '../runs/reader.js';
import { largest } from '../statistics/descriptive.js';
import { openDraft } from '../storage/draft.js';
import { eachLine } from '../storage/json-lines.js';
import { EventFile, type Scalars } from '../storage/tensorboard.js';
import { rowsOf, runRow } from './rows.js';

interface Point {
  readonly kind: 'start' | 'evaluation' | 'iteration' | 'result';
  /** The iteration. */
  readonly step: number;
  /** ISO 8601. */
  readonly time: string;
  readonly values: Scalars;
}

/** The folder of a run, and how many values it holds. */
export interface ExportedCurves {
  readonly run: string;
  readonly file: string;
  readonly values: number;
}

/**
 * Writes the curves of runs, each into a folder of its own name below `directory`; what such a folder held is replaced.
 * @returns the folders, and the values in each
 */
export function exportEventFiles(runs: readonly ListedRun[], directory: string): readonly ExportedCurves[] {
  return runs.map((run) => {
    const row = runRow(run);
    const name = String(row.run);
    const file = join(directory, name);
    const draft = openDraft(join(file, 'events'));
    try {
      const events = new EventFile<Point>(draft.path, (point) => point.values);
      let values = 0;
      for (const point of pointsOf(run)) {
        events.add(point);
        values += Object.values(point.values).filter((value) => value !== undefined).length;
      }
      events.close();
      const [made] = readdirSync(draft.path);
      // Files of an earlier export would be read as its beginning.
      const earlier = readdirSync(file).filter(
        (old) => old.startsWith('events.out.tfevents.') && old !== made,
      );
      renameSync(join(draft.path, made!), join(file, made!));
      for (const old of earlier) rmSync(join(file, old));
      return { run: name, file, values };
    } finally {
      draft.discard();
    }
  });
}

const number = (value: unknown) => (typeof value === 'number' ? value : undefined);

/** Evaluations by iteration, with the time of the iteration's end; the confirmed return stands at the last one. */
function* pointsOf(run: ListedRun): Generator<Point> {
  const row = runRow(run);
  const times = timesOf(run.path);
  const began = String(row.started);
  yield { kind: 'start', step: 0, time: began, values: {} };
  let best: number | undefined;
  let last = 0;
  for (const [iteration, rows] of byIteration(run)) {
    const scores = rows.flatMap(({ score }) => number(score) ?? []);
    if (scores.length === 0) continue;
    const highest = largest(scores);
    best = best === undefined ? highest : Math.max(best, highest);
    last = iteration;
    const mean = scores.reduce((sum, score) => sum + score, 0) / scores.length;
    const values = {
      'return/best so far': best,
      'return/best of iteration': highest,
      'return/mean of iteration': mean,
    };
    yield { kind: 'iteration', step: iteration, time: times.get(iteration) ?? began, values };
  }
  const confirmed = number(row.confirmed);
  if (confirmed === undefined) return;
  const ends = { 'confirmed/low': number(row.confirmed_low), 'confirmed/high': number(row.confirmed_high) };
  const time = times.get(last) ?? began;
  yield { kind: 'result', step: last, time, values: { 'confirmed/mean': confirmed, ...ends } };
}

function byIteration(run: ListedRun) {
  const all = new Map<number, { readonly score?: unknown }[]>();
  for (const row of rowsOf('evaluations', run)) {
    const iteration = number(row.iteration) ?? 0;
    all.set(iteration, [...(all.get(iteration) ?? []), row]);
  }
  return all;
}

/** When each iteration ended. */
function timesOf(path: string): ReadonlyMap<number, string> {
  const times = new Map<number, string>();
  for (const { bytes } of eachLine(logsIn(path).events)) {
    const line = bytes.toString('utf8');
    if (!line.includes('"iteration-finished"')) continue;
    const { iteration, time } = JSON.parse(line) as { readonly iteration: number; readonly time?: string };
    if (time !== undefined) times.set(iteration, time);
  }
  return times;
}
