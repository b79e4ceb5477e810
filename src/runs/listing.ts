/** The runs below a directory, and their table. */
import { statSync } from 'node:fs';
import { basename, relative } from 'node:path';
import { UserError } from '../base/errors.js';
import { formatReturn } from '../format/numbers.js';
import { type Cell, number, terminalTable, text } from '../format/table.js';
import { factsOf, type RunFacts } from './facts.js';
import { holderOf, runsBelow } from './finder.js';

interface ListedRun extends RunFacts {
  /** Path below the runs directory. */
  readonly name: string;
}

/** A run, or the runs of one study or collection, by its path below the runs directory. */
type Line = readonly [name: string, runs: readonly ListedRun[]];

/**
 * The runs below `root`, oldest first, and the names of those whose manifest is damaged. Reads manifests only: the time
 * does not depend on how long the runs are.
 * @throws UserError where `root` is a file
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
    facts: readableFacts(path),
  }));
  return {
    runs: read
      .flatMap(({ name, facts }) => (facts === undefined ? [] : [{ name, ...facts }]))
      .toSorted((a, b) => (a.manifest.created < b.manifest.created ? -1 : 1)),
    damaged: read.flatMap(({ name, facts }) => (facts === undefined ? [name] : [])),
  };
}

/** A line a run; the runs of a study or a collection may be thousands, and share the line of the first. */
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

/** Whether a line is one run, rather than a directory of them. */
export const isRun = ([name, runs]: Line): boolean => runs[0]!.name === name;

/** @param width see `CommandContext` */
export function listTable(lines: readonly Line[], width?: number): string {
  const either = (
    runs: readonly ListedRun[],
    of: (manifest: RunFacts['manifest']) => string,
    plural: string,
  ) => {
    const different = new Set(runs.map(({ manifest }) => of(manifest)));
    return different.size === 1 ? [...different][0] : `${different.size} ${plural}`;
  };
  const completed = (runs: readonly ListedRun[]) =>
    runs.filter(({ status }) => status === 'completed').length;
  const own = (line: Line, of: (run: ListedRun) => Cell) => (isRun(line) ? of(line[1][0]!) : null);
  const columns = [
    text('run', (line: Line) => (isRun(line) ? line[0] : `${line[0]}/`)),
    text('status', (line: Line) =>
      isRun(line) ? line[1][0]!.status : `${completed(line[1])} of ${line[1].length} completed`,
    ),
    text('environment', ([, runs]: Line) => either(runs, ({ environment }) => environment, 'environments')),
    text('model', ([, runs]: Line) => either(runs, ({ model }) => model, 'models')),
    number('iterations', (line: Line) => own(line, ({ manifest: { iterations: i } }) => `${i.done}/${i.of}`)),
    number('observed', (line: Line) => own(line, ({ observed }) => observed), { format: formatReturn }),
    number(
      'confirmed',
      (line: Line) => own(line, ({ confirmed, manifest: { play } }) => confirmed?.mean ?? play?.meanReturn),
      {
        format: formatReturn,
      },
    ),
    text('started (UTC)', ([, [first]]: Line) => started(first!.manifest)),
  ];
  return terminalTable(lines, columns, width);
}

const started = ({ created }: RunFacts['manifest']) => created.slice(0, 16).replace('T', ' ');

/** undefined where the manifest is damaged. */
function readableFacts(path: string): RunFacts | undefined {
  try {
    return factsOf(path);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}
