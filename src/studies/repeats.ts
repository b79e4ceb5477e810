import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.js';
import { loadConfig, resolvedYaml } from '../config/load.js';
import { type CommandContext, exitCodes } from '../context.js';
import { assemble } from '../experiment/assemble.js';
import { addUsage, spentBy } from '../experiment/ledger.js';
import { createPurse, nothing, type Purse, plus } from '../experiment/limits.js';
import { plural } from '../format/numbers.js';
import { repeatSeeds } from '../random/seeds.js';
import { groupReportPath, writeGroupReport } from '../report/write-report.js';
import { createGroupDirectory } from '../runs/create.js';
import type { LimitName } from '../runs/events.js';
import { describeRepeats, factsOf, resultOf, shownPath, summarizeRepeats } from '../runs/facts.js';
import { requireSame, whatCompletes } from '../runs/fingerprint.js';
import { requireConfig } from '../runs/open-run.js';
import { readImported, readManifest, readRun, runFiles } from '../runs/reader.js';
import { formatFaults, formatUsage } from '../runs/usage-text.js';
import { type Durability, replaceFile, resumeRunDirectory } from '../runs/writer.js';
import {
  displayFor,
  exitCode,
  failedResult,
  type OutputArguments,
  openModel,
  runAndReport,
  startRun,
} from './single-run.js';

/** `group.json`: a directory whose sub-directories are repeats of one experiment. */
export interface RunGroup {
  readonly path: string;
  readonly config: Config;
  /** Root seed of each repeat. */
  readonly seeds: readonly number[];
  /** Sub-directory of each repeat. */
  readonly runs: readonly string[];
  /** What the user was told of the config, for the log of each. */
  readonly notes?: readonly string[] | undefined;
}

/** Makes the directory of a new group. */
export function createGroup(path: string, config: Config, notes: readonly string[] = []): RunGroup {
  const seeds = repeatSeeds(config.seed, config.repeats);
  const runs = seeds.map((_, i) => `repeat-${String(i + 1).padStart(String(seeds.length).length, '0')}`);
  const kept = notes.length > 0 && { notes };
  createGroupDirectory(path, resolvedYaml(config), { version: 1, seeds, runs, ...kept });
  return { path, config, seeds, runs, ...kept };
}

/** Starts or resumes every repeat that is not complete, one after the other, and prints what they say together. */
export async function finishGroup(
  group: RunGroup,
  args: OutputArguments,
  context: CommandContext,
): Promise<number> {
  let reached: LimitName | undefined;
  for (const [i, name] of group.runs.entries()) {
    if (context.stop.finish.aborted) break;
    if (reached !== undefined) {
      context.note(`limits.${reached} is reached: ${plural(group.runs.length - i, 'repeat')} left out`);
      break;
    }
    if (!args.json && !args.quiet) {
      context.note(`repeat ${i + 1} of ${group.runs.length}, seed ${group.seeds[i]}`);
    }
    const path = join(group.path, name);
    const config = { ...group.config, seed: group.seeds[i]!, repeats: 1 };
    const opened = await openRepeat(path, config, context, 'iteration', group.notes);
    if (opened === undefined) continue;
    const purse = purseOf(group, name);
    const assembly = { ...opened.assembly, ...(purse && { purse }) };
    try {
      await runAndReport(assembly, opened.directory, displayFor(args, context), context);
      const { reason } = opened.directory.manifest;
      if (reason?.kind === 'limit' && reason.limit.startsWith('total.')) reached = reason.limit;
    } catch (error) {
      if (args.json) context.print(JSON.stringify(failedResult(opened.directory, context.cwd, error)));
      throw error;
    }
  }
  await writeGroupReport(group.path);
  const result = groupResult(group, context.cwd);
  context.print(
    args.json
      ? JSON.stringify(result)
      : [
          describeRepeats(result.repeats),
          ...(result.reason ? [`stopped at the limit of ${result.reason.limit}`] : []),
          `usage       ${formatUsage(result.usage)}`,
          ...(result.usage.faults ? [`faults      ${formatFaults(result.usage.faults)}`] : []),
          `runs        ${result.run}`,
          `report      ${result.report}`,
        ].join('\n'),
  );
  return result.status === 'interrupted'
    ? exitCodes.interrupted
    : Math.max(0, ...result.repeats.map(exitCode));
}

/** What the repeats have used of limits that they share, those of the one at hand included. */
function purseOf({ config, path, runs }: RunGroup, current: string): Purse | undefined {
  if (config.limits.total === undefined) return undefined;
  const begun = runs.filter((name) => existsSync(join(path, name, runFiles.manifest)));
  let spent = nothing;
  let otherMs = 0;
  for (const name of begun) {
    spent = plus(spent, spentBy(readRun(join(path, name)).calls, config));
    if (name !== current) otherMs += readManifest(join(path, name)).activeMs;
  }
  return createPurse(spent, otherMs);
}

/** A run that has something left to do, new or begun; undefined for one that is complete. */
export async function openRepeat(
  path: string,
  config: Config,
  context: CommandContext,
  durability: Durability = 'iteration',
  notes: readonly string[] = [],
) {
  if (!existsSync(join(path, runFiles.manifest))) {
    const assembly = await assemble(config, context.env);
    await openModel(assembly, context);
    return { assembly, directory: startRun(assembly, path, context, durability, notes) };
  }
  const file = join(path, runFiles.config);
  const was = loadConfig({ file: requireConfig(file), asWritten: true }).config;
  const manifest = readManifest(path);
  if (whatCompletes(manifest, was, config, path) !== undefined) return undefined;
  const assembly = await assemble(config, context.env, readImported(path));
  requireSame(assembly, manifest, file);
  await openModel(assembly, context);
  const directory = resumeRunDirectory(path, context.now, durability);
  replaceFile(file, resolvedYaml(assembly.config));
  return { assembly, directory };
}

/** The last line of `--json` for repeats: totals over them, and the best of them. */
function groupResult(group: RunGroup, cwd: string) {
  const repeats = group.runs
    .map((name) => join(group.path, name))
    .filter((path) => existsSync(join(path, runFiles.manifest)))
    .map((path) => resultOf(factsOf(path), cwd));
  const ended = repeats.length === group.runs.length && repeats.every(({ status }) => status === 'completed');
  const byBest = repeats.toSorted((a, b) => (b.best?.return ?? -Infinity) - (a.best?.return ?? -Infinity));
  const byConfirmed = repeats.toSorted(
    (a, b) => (b.confirmed?.mean ?? -Infinity) - (a.confirmed?.mean ?? -Infinity),
  );
  const last = repeats.at(-1)?.reason;
  const reached = last?.kind === 'limit' && last.limit.startsWith('total.') ? last : undefined;
  return {
    run: shownPath(group.path, cwd),
    ...(reached && { reason: reached }),
    status:
      ended || reached !== undefined
        ? 'completed'
        : repeats.some(({ status }) => status === 'failed')
          ? 'failed'
          : 'interrupted',
    iterations: repeats.reduce((sum, { iterations }) => sum + iterations, 0),
    best: byBest[0]?.best ?? null,
    confirmed: byConfirmed[0]?.confirmed ?? null,
    usage: addUsage(repeats.map(({ usage }) => usage)),
    summary: summarizeRepeats(repeats) ?? null,
    repeats,
    report: shownPath(groupReportPath(group.path), cwd),
  } as const;
}
