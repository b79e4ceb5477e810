/** Lists the runs and training runs below a directory, with their labels. */

import { existsSync, rmSync, statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { common } from '../../base/command.js';
import { UserError, unlessRefused } from '../../base/errors.js';
import { checkedValue, readOwnJson, replaceFile } from '../../base/files/files.js';
import { lockRun } from '../../base/files/lock.js';
import { formatReturn } from '../../base/text/numbers.js';
import { type Column, number, terminalTable, text } from '../../base/text/table.js';
import { holderOf, runsBelow, trainingsBelow } from '../finder.js';
import { type RunSummary, summaryOf } from '../summary.js';
import { listTrainings } from '../training/trainings.js';
import { trainingsFolder } from '../training-files.js';
import { type Item, isHolder } from './item.js';
import { runItem, totalsOf, unknown } from './items.js';

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

/** Paths of the training runs in `trainingFolders`. */
export const trainingPaths = (places: RunPlaces): readonly string[] => [
  ...new Set(trainingFolders(places).flatMap((folder) => trainingsBelow(folder))),
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

/** A run as an item of the list. */
export const resultOfLine = ({ confirmed, manifest: { play } }: RunSummary): number | undefined =>
  confirmed?.mean ?? play?.meanReturn;

export const listedItem = (run: ListedRun): Item => ({
  name: run.name,
  within: null,
  tags: run.labels.tags,
  ...runItem(run),
});

/** @param numberOf returns the number that commands accept instead of the name */
export function listTable(
  lines: readonly Line[],
  numberOf: (line: Line) => number | undefined,
  width?: number,
): string {
  const rows = lines.map((line): Item & { readonly number: number | undefined } => {
    const items = line[1].map(listedItem);
    const inside = {
      ...unknown,
      ...totalsOf(items),
      name: `${line[0]}/`,
      within: null,
      kind: 'sweep',
    } as const;
    return { ...(isRun(line) ? items[0]! : { ...inside, status: 'completed' }), number: numberOf(line) };
  });
  const columns: readonly Column<(typeof rows)[number]>[] = [
    number('#', (row) => row.number),
    text('run', ({ name }) => name),
    text('status', (row) => (isHolder(row) ? `${row.done} of ${row.of} completed` : statusText(row))),
    text('environment', ({ environment }) => environment),
    text('model', ({ model }) => model),
    number('iterations', (row) => (isHolder(row) ? null : `${row.done}/${row.of}`)),
    number('observed', ({ observed }) => observed, { format: formatReturn }),
    number('confirmed', ({ confirmed }) => confirmed, { format: formatReturn }),
    text('started (UTC)', ({ started }) => started?.slice(0, 16).replace('T', ' ')),
    ...(rows.some(({ tags }) => tags.length > 0)
      ? [text<(typeof rows)[number]>('tags', ({ tags }) => tags.join(' '))]
      : []),
  ];
  return terminalTable(rows, columns, width);
}

const statusText = ({ fault, status }: Item): string =>
  fault === undefined ? status : `${status}: 0 proposals accepted`;

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
