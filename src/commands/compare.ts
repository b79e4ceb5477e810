/** `policyloop compare`: groups of repeats against each other. */
import { dirname, relative, resolve } from 'node:path';
import type { Argv } from 'yargs';
import { type Arguments, common, kinds } from '../command.js';
import { type ComparedRun, readComparedRuns } from '../comparison/compared-runs.js';
import { renderComparisonPage } from '../comparison/page.js';
import { compareGroups, type LeftOut } from '../comparison/run-comparison.js';
import { groupRuns, identityOf } from '../comparison/run-groups.js';
import { comparisonCsv, comparisonTables } from '../comparison/table.js';
import type { CommandContext } from '../context.js';
import { UserError } from '../errors.js';
import { shownPath } from '../runs/facts.js';
import { findRuns } from '../runs/finder.js';
import { replaceFile } from '../storage/replace-file.js';

export const options = (y: Argv) =>
  y
    .positional('runs', {
      type: 'string',
      array: true,
      demandOption: true,
      describe: 'Runs, directories that hold runs (repeats, controls, evaluations), or quoted patterns',
    })
    .option('runs-dir', common.runsDir)
    .option('by', {
      ...kinds.text,
      describe: 'Keys of the config that make the groups, e.g. model,prompts.set (default: all but the seed)',
    })
    .option('target', { ...kinds.number, describe: "Return to time runs by (default: the configs' target)" })
    .option('unfinished', {
      ...kinds.flag,
      describe: 'Count runs that have not come to their end, too',
    })
    .option('csv', { ...kinds.text, describe: 'Write the groups to this file, as CSV' })
    .option('html', {
      ...kinds.text,
      describe: 'Write a page with learning curves and intervals to this file',
    })
    .option('json', common.json)
    .example('$0 compare buffers/cartpole-llm buffers/cartpole-cma-es', 'two directories of repeats')
    .example(
      "$0 compare 'cartpole-*' --by model,prompts.set --html cartpole.html",
      'groups by two keys, and a page',
    )
    .example('$0 compare buffers/controls-1a2b3c4d5e --target 475', 'what policyloop controls left behind');

type Args = Arguments<typeof options>;

export function execute(args: Args, context: CommandContext): Promise<number> {
  if (args.target !== undefined && !Number.isFinite(args.target)) {
    throw new UserError({ field: '--target', message: 'give a number', value: args.target });
  }
  const by = args.by === undefined ? undefined : keysOf(args.by);
  const named = (path: string) => shownPath(path, context.cwd);
  const paths = findRuns(args.runs, { cwd: context.cwd, runsDir: args.runsDir });
  const read = readComparedRuns(paths);
  const { kept, leftOut: unfit } = selected(read.runs, args.unfinished, named);
  const leftOut = [
    ...read.unreadable.map(({ path, message }) => ({ run: named(path), reason: message })),
    ...unfit,
  ];
  if (kept.length === 0) throw nothingLeft(leftOut, args.unfinished);
  const tasks = groupRuns(kept, by);
  const comparison = compareGroups(tasks, { by, target: args.target, leftOut, named });
  if (args.csv !== undefined) replaceFile(resolve(context.cwd, args.csv), comparisonCsv(comparison));
  if (args.html !== undefined) {
    const file = resolve(context.cwd, args.html);
    const link = (path: string) => relative(dirname(file), path);
    replaceFile(file, renderComparisonPage(comparison, tasks, link));
  }
  context.print(args.json ? JSON.stringify(comparison) : comparisonTables(comparison));
  if (!args.json && args.html !== undefined)
    context.print(`\npage        ${named(resolve(context.cwd, args.html))}`);
  return Promise.resolve(0);
}

function keysOf(list: string): readonly string[] {
  const keys = [...new Set(list.split(',').map((key) => key.trim()))].filter((key) => key !== '');
  if (keys.length > 0) return keys;
  throw new UserError({
    field: '--by',
    message: 'name at least one key',
    alternatives: ['model', 'prompts.set'],
  });
}

/** Complete runs, each config and seed once: the same seed again is no other observation. */
function selected(runs: readonly ComparedRun[], unfinished: boolean, named: (path: string) => string) {
  const kept = new Map<string, ComparedRun>();
  const leftOut: LeftOut[] = [];
  for (const run of runs) {
    const { ended, manifest, path, status } = run;
    if (status !== 'completed' && !unfinished) {
      leftOut.push({ run: named(path), reason: `${ended} after ${manifest.iterations.done} iterations` });
      continue;
    }
    const same = kept.get(identityOf(run));
    if (same === undefined) kept.set(identityOf(run), run);
    else leftOut.push({ run: named(path), reason: `same config and seed as ${named(same.path)}` });
  }
  return { kept: [...kept.values()], leftOut };
}

function nothingLeft(leftOut: readonly LeftOut[], unfinished: boolean): UserError {
  const first = leftOut.slice(0, 5).map(({ run, reason }) => `${run}: ${reason}`);
  return new UserError({
    field: 'runs',
    message: unfinished ? 'none of these runs can be read' : 'none of these runs is complete',
    value: first.join('; '),
    remedy: unfinished
      ? 'policyloop show says what is wrong with a run'
      : 'policyloop resume finishes a run; --unfinished compares them as they are',
  });
}
