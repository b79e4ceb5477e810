/** Lists the runs and training runs below a directory, with their labels. */

import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { common } from '../../base/command.js';
import { UserError, unlessRefused } from '../../base/errors.js';
import { formatReturn } from '../../format/numbers.js';
import { type Cell, number, terminalTable, text } from '../../format/table.js';
import { checkedValue, readOwnJson, replaceFile } from '../../storage/files.js';
import { lockRun } from '../../storage/lock.js';
import { holderOf, runsBelow } from '../finder.js';
import { type RunSummary, summaryOf } from '../summary.js';
import { listTrainings, trainingsBelow } from '../training/trainings.js';
import { registeredTrainings, trainingsFolder } from '../training-files.js';

export interface ListedRun extends RunSummary {
  /** Path relative to the listed directory; if that directory is the run, its base name. */
  readonly name: string;
  readonly labels: Labels;
}

/** A line of the list: the path of a run or study, relative to the runs directory, and its runs. */
export type Line = readonly [name: string, runs: readonly ListedRun[]];

/** The directories in which to look for runs. */
export interface RunPlaces {
  readonly cwd: string;
  readonly runsDir: string;
}

/**
 * The runs below `root`, oldest first, and the names of runs with a damaged manifest. Fast, because it reads only
 * manifests and labels, not the logs.
 * @throws UserError if `root` is a file
 */
export function listRuns(root: string): {
  readonly runs: readonly ListedRun[];
  readonly damaged: readonly string[];
} {
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new UserError({ field: '--runs-dir', message: 'this is a file, not a directory', value: root });
  }
  const read = runsBelow(root).map((path) => ({
    name: relative(root, path) || basename(path),
    summary: unlessRefused(() => summaryOf(path)),
  }));
  return {
    runs: read
      .flatMap(({ name, summary }) =>
        summary === undefined ? [] : [{ name, ...summary, labels: readLabels(summary.path) }],
      )
      .toSorted((a, b) => (a.manifest.created < b.manifest.created ? -1 : 1)),
    damaged: read.flatMap(({ name, summary }) => (summary === undefined ? [name] : [])),
  };
}

/** Folders to search for training runs: the runs directory and, if that is the default, also `tuned`. */
export function trainingFolders({ cwd, runsDir }: RunPlaces): readonly string[] {
  const root = resolve(cwd, runsDir);
  return runsDir === common.runsDir.default ? [root, join(cwd, trainingsFolder)] : [root];
}

/** Paths of the training runs in `trainingFolders`, and of others registered in the runs directory. */
export const trainingPaths = (places: RunPlaces): readonly string[] => [
  ...new Set([
    ...trainingFolders(places).flatMap((folder) => trainingsBelow(folder)),
    ...registeredTrainings(resolve(places.cwd, places.runsDir)),
  ]),
];

export const trainingLines = (places: RunPlaces) => listTrainings(trainingPaths(places), places.cwd);

/** One line per run, except that the runs of a study share one. */
export function linesOf(runs: readonly ListedRun[], root: string): readonly Line[] {
  const lines = new Map<string, ListedRun[]>();
  for (const run of runs) {
    const line = holderOf(run.name, root) ?? run.name;
    const own = lines.get(line);
    if (own === undefined) lines.set(line, [run]);
    else own.push(run);
  }
  return [...lines];
}

/** True if the line is a single run. */
export const isRun = ([name, runs]: Line): boolean => runs[0]!.name === name;

/** The result of a run: the confirmed return of an experiment, or the mean return of a play run. */
export const resultOfLine = ({ confirmed, manifest: { play } }: RunSummary): number | undefined =>
  confirmed?.mean ?? play?.meanReturn;

/** @param numberOf returns the number that commands accept instead of the name */
export function listTable(
  lines: readonly Line[],
  numberOf: (line: Line) => number | undefined,
  width?: number,
): string {
  const either = (
    runs: readonly ListedRun[],
    of: (manifest: RunSummary['manifest']) => string,
    plural: string,
  ) => {
    const different = new Set(runs.map(({ manifest }) => of(manifest)));
    return different.size === 1 ? [...different][0] : `${different.size} ${plural}`;
  };
  const completed = (runs: readonly ListedRun[]) =>
    runs.filter(({ status }) => status === 'completed').length;
  const own = (line: Line, of: (run: ListedRun) => Cell) => (isRun(line) ? of(line[1][0]!) : null);
  const hasTags = lines.some(([, runs]) => runs.some(({ labels }) => labels.tags.length > 0));
  const columns = [
    number('#', numberOf),
    text('run', (line: Line) => (isRun(line) ? line[0] : `${line[0]}/`)),
    text('status', (line: Line) =>
      isRun(line) ? statusText(line[1][0]!) : `${completed(line[1])} of ${line[1].length} completed`,
    ),
    text('environment', ([, runs]: Line) => either(runs, ({ environment }) => environment, 'environments')),
    text('model', ([, runs]: Line) => either(runs, ({ model }) => model, 'models')),
    number('iterations', (line: Line) => own(line, ({ manifest: { iterations: i } }) => `${i.done}/${i.of}`)),
    number('observed', (line: Line) => own(line, ({ observed }) => observed), { format: formatReturn }),
    number('confirmed', (line: Line) => own(line, resultOfLine), { format: formatReturn }),
    text('started (UTC)', ([, [first]]: Line) => started(first!.manifest)),
    ...(hasTags ? [text('tags', (line: Line) => own(line, ({ labels }) => labels.tags.join(' ')))] : []),
  ];
  return terminalTable(lines, columns, width);
}

function statusText({ manifest: { reason }, status }: RunSummary): string {
  return status === 'failed' && reason?.kind === 'no-proposals' ? `${status}: 0 proposals accepted` : status;
}

const started = ({ created }: RunSummary['manifest']) => created.slice(0, 16).replace('T', ' ');

export interface Labels {
  /** Sorted, without duplicates. */
  readonly tags: readonly string[];
}

export const labelsFile = 'labels.json';

const tag = z
  .string()
  .regex(/^[^\s,=]+$/u, 'a tag must not be empty or contain spaces, commas or equals signs');

const labelsShape = z.strictObject({ tags: z.array(tag).default([]) });

const none: Labels = { tags: [] };

/** The labels of a run or training run; empty if the file is damaged. */
export const readLabels = (path: string): Labels => unlessRefused(() => soundLabels(path)) ?? none;

/** @throws UserError if the file is damaged */
function soundLabels(path: string): Labels {
  const file = join(path, labelsFile);
  return existsSync(file) ? checkedValue(labelsShape, readOwnJson(file), file) : none;
}

/**
 * Changes the labels of a run or training run, one process at a time.
 * @returns the new labels
 * @throws UserError for an invalid tag or a damaged file
 */
export async function changeLabels(path: string, change: (labels: Labels) => Labels): Promise<Labels> {
  const file = join(path, labelsFile);
  const release = await lockSoon(`${file}.lock`);
  try {
    const labels = { tags: [...new Set(change(soundLabels(path)).tags.map(checkedTag))].toSorted() };
    if (labels.tags.length === 0) rmSync(file, { force: true });
    else replaceFile(file, `${JSON.stringify(labels, null, 2)}\n`);
    return labels;
  } finally {
    release();
  }
}

/** Waits for up to ten seconds while another process holds the lock. */
async function lockSoon(file: string): Promise<() => void> {
  for (let tries = 1; ; tries++) {
    try {
      return lockRun(file);
    } catch (error) {
      if (tries === 500 || !(error instanceof UserError)) throw error;
      await delay(10 + ((process.pid + tries) % 20));
    }
  }
}

function checkedTag(text: string): string {
  const { error } = tag.safeParse(text);
  if (error === undefined) return text;
  throw new UserError({ field: 'tags', value: text, message: error.issues[0]!.message });
}
