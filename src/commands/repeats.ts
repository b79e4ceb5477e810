import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assemble } from '../assemble.js';
import type { Config } from '../config.js';
import { requireSame, whatCompletes } from '../fingerprint.js';
import { addUsage } from '../ledger.js';
import { loadConfig, resolvedYaml } from '../load-config.js';
import { requireConfig } from '../open-run.js';
import { readImported, readManifest, runFiles } from '../recorded-run.js';
import { createGroupDirectory, type Durability, replaceFile, resumeRunDirectory } from '../run-directory.js';
import { describeRepeats, resultOf, shownPath, summarizeRepeats } from '../run-result.js';
import { runInDirectory } from '../run-session.js';
import { repeatSeeds } from '../seeds.js';
import { type CommandContext, exitCodes } from '../terminal.js';
import { groupReportPath, writeGroupReport } from '../write-report.js';
import {
  displayFor,
  exitCode,
  failedResult,
  type OutputArguments,
  openModel,
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
  for (const [i, name] of group.runs.entries()) {
    if (context.stop.finish.aborted) break;
    if (!args.json && !args.quiet) {
      context.note(`repeat ${i + 1} of ${group.runs.length}, seed ${group.seeds[i]}`);
    }
    const path = join(group.path, name);
    const config = { ...group.config, seed: group.seeds[i]!, repeats: 1 };
    const opened = await openRepeat(path, config, context, 'iteration', group.notes);
    if (opened === undefined) continue;
    try {
      await runInDirectory(opened.assembly, opened.directory, displayFor(args, context), context);
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
      : `${describeRepeats(result.repeats)}\nruns        ${result.run}\nreport      ${result.report}`,
  );
  return result.status === 'interrupted'
    ? exitCodes.interrupted
    : Math.max(0, ...result.repeats.map(exitCode));
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
  const was = loadConfig({ file: requireConfig(file) }).config;
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
    .map((path) => resultOf(path, cwd));
  const ended = repeats.length === group.runs.length && repeats.every(({ status }) => status === 'completed');
  const byBest = repeats.toSorted((a, b) => (b.best?.return ?? -Infinity) - (a.best?.return ?? -Infinity));
  const byConfirmed = repeats.toSorted(
    (a, b) => (b.confirmed?.mean ?? -Infinity) - (a.confirmed?.mean ?? -Infinity),
  );
  return {
    run: shownPath(group.path, cwd),
    status: ended
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
