import { statSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common } from '../command.js';
import type { CommandContext } from '../context.js';
import { UserError } from '../errors.js';
import { formatReturn } from '../format/numbers.js';
import { type Cell, number, terminalTable, text } from '../format/table.js';
import { factsOf, type RunFacts } from '../runs/facts.js';
import { holderOf, runsBelow } from '../runs/finder.js';

export const options = (y: Argv) =>
  y
    .option('runs-dir', common.runsDir)
    .option('json', common.json)
    .example('$0 list', 'the runs below buffers/; many runs of one plan stand in one line')
    .example('$0 list --runs-dir buffers/controls-1a2b3c4d5e', 'the runs of such a line');

type Args = Arguments<typeof options>;

interface ListedRun extends RunFacts {
  /** Path below the runs directory. */
  readonly name: string;
}

/** `policyloop list`. Reads manifests only: what it takes doesn't depend on how long the runs are. */
export function execute(args: Args, context: CommandContext): Promise<number> {
  const root = resolve(context.cwd, args.runsDir);
  if (statSync(root, { throwIfNoEntry: false })?.isDirectory() === false) {
    throw new UserError({ field: '--runs-dir', message: 'this is a file, not a directory', value: root });
  }
  const paths = runsBelow(root);
  const runs = paths
    .flatMap((path): ListedRun[] => {
      const name = relative(root, path) || basename(path);
      const facts = readableFacts(path);
      if (facts !== undefined) return [{ name, ...facts }];
      context.note(`${name}: its manifest is damaged; policyloop show ${name} says how`);
      return [];
    })
    .toSorted((a, b) => (a.manifest.created < b.manifest.created ? -1 : 1));
  if (args.json) {
    context.print(JSON.stringify(runs.map(({ name, status, manifest }) => ({ name, ...manifest, status }))));
    return Promise.resolve(0);
  }
  if (paths.length === 0) {
    context.note(`no runs in ${args.runsDir}; policyloop run quickstart makes one`);
    return Promise.resolve(0);
  }
  // A study stands where its first run would.
  const listed = new Map<string, ListedRun[]>();
  for (const run of runs) {
    const line = holderOf(run.name, root) ?? run.name;
    const own = listed.get(line);
    if (own === undefined) listed.set(line, [run]);
    else own.push(run);
  }
  context.print(listTable([...listed]));
  const example = [...listed].find(([line, own]) => own[0]!.name !== line)?.[0];
  if (example !== undefined) {
    const shown = join(args.runsDir, example);
    context.note(`a name that ends in / holds many runs: policyloop list --runs-dir ${shown} lists them`);
  }
  return Promise.resolve(0);
}

/** A run a row; a study or a collection is one row, since its runs may be thousands. */
function listTable(lines: readonly (readonly [name: string, runs: readonly ListedRun[]])[]): string {
  const isOne = ([name, runs]: (typeof lines)[number]) => runs[0]!.name === name;
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
  const own = (line: (typeof lines)[number], of: (run: ListedRun) => Cell) =>
    isOne(line) ? of(line[1][0]!) : null;
  return terminalTable(lines, [
    text('run', (line) => (isOne(line) ? line[0] : `${line[0]}/`)),
    text('status', (line) =>
      isOne(line) ? line[1][0]!.status : `${completed(line[1])} of ${line[1].length} completed`,
    ),
    text('environment', ([, runs]) => either(runs, ({ environment }) => environment, 'environments')),
    text('model', ([, runs]) => either(runs, ({ model }) => model, 'models')),
    number('iterations', (line) => own(line, ({ manifest: { iterations: i } }) => `${i.done}/${i.of}`)),
    number('observed', (line) => own(line, ({ observed }) => observed), { format: formatReturn }),
    number('confirmed', (line) => own(line, ({ confirmed }) => confirmed?.mean), {
      format: formatReturn,
    }),
    text('started (UTC)', ([, [first]]) => started(first!.manifest)),
  ]);
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
