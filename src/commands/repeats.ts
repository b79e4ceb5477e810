import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assemble } from '../assemble.js';
import type { Config } from '../config.js';
import { UserError } from '../errors.js';
import { requireSame } from '../fingerprint.js';
import { loadConfig, resolvedYaml } from '../load-config.js';
import { groupFile, readManifest, resumeRunDirectory, runFiles } from '../run-directory.js';
import { describeRepeats, resultOf, shownPath, summarizeRepeats } from '../run-result.js';
import { runInDirectory } from '../run-session.js';
import { repeatSeeds } from '../seeds.js';
import type { CommandContext } from '../terminal.js';
import { groupReportPath, writeGroupReport } from '../write-report.js';
import { exitCode, type OutputArguments, sinkFor, startRun } from './single-run.js';

/** `group.json`: a directory whose sub-directories are repeats of one experiment. */
export interface RunGroup {
  readonly path: string;
  readonly config: Config;
  /** Root seed of each repeat. */
  readonly seeds: readonly number[];
  /** Sub-directory of each repeat. */
  readonly runs: readonly string[];
}

/** Makes the directory of a new group. */
export function createGroup(path: string, config: Config): RunGroup {
  if (existsSync(path)) {
    throw new UserError({
      field: '--run-dir',
      message: 'this directory exists already; repeats need a new one',
      value: path,
      remedy: `policyloop resume ${path} continues repeats; name another directory for new ones`,
    });
  }
  const seeds = repeatSeeds(config.seed, config.repeats);
  const runs = seeds.map((_, i) => `repeat-${String(i + 1).padStart(String(seeds.length).length, '0')}`);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, runFiles.config), resolvedYaml(config));
  writeFileSync(join(path, groupFile), `${JSON.stringify({ version: 1, seeds, runs }, null, 2)}\n`);
  return { path, config, seeds, runs };
}

/** Opens a group with changed settings (more iterations, say). */
export function openGroup(path: string, overrides: readonly string[]): RunGroup {
  const { config } = loadConfig({ file: join(path, runFiles.config), overrides });
  const { seeds, runs } = JSON.parse(readFileSync(join(path, groupFile), 'utf8')) as Pick<
    RunGroup,
    'seeds' | 'runs'
  >;
  return { path, config, seeds, runs };
}

/** Starts or resumes every repeat that is not complete, one after the other, and prints what they say together. */
export async function finishGroup(
  group: RunGroup,
  args: OutputArguments,
  context: CommandContext,
): Promise<number> {
  const sink = sinkFor(args, context);
  for (const [i, name] of group.runs.entries()) {
    if (context.stop.finish.aborted) break;
    const path = join(group.path, name);
    const begun = existsSync(join(path, runFiles.manifest)) ? readManifest(path) : undefined;
    if (begun?.status === 'completed' && begun.iterations.of >= group.config.iterations) continue;
    if (!args.json && !args.quiet)
      context.note(`repeat ${i + 1} of ${group.runs.length}, seed ${group.seeds[i]}`);
    const assembly = await assemble({ ...group.config, seed: group.seeds[i]!, repeats: 1 }, context.env);
    if (begun !== undefined) requireSame(assembly, begun, join(path, runFiles.config));
    const directory =
      begun === undefined ? startRun(assembly, path, context) : resumeRunDirectory(path, context.now);
    await runInDirectory(assembly, directory, sink, context);
  }
  const results = group.runs
    .map((name) => join(group.path, name))
    .filter((path) => existsSync(join(path, runFiles.manifest)))
    .map((path) => resultOf(path, context.cwd));
  await writeGroupReport(group.path);
  const run = shownPath(group.path, context.cwd);
  const report = shownPath(groupReportPath(group.path), context.cwd);
  if (args.json) {
    const best = results.toSorted((a, b) => (b.best?.return ?? -Infinity) - (a.best?.return ?? -Infinity))[0];
    context.print(
      JSON.stringify({ ...best, run, report, summary: summarizeRepeats(results), repeats: results }),
    );
  } else {
    context.print(`${describeRepeats(results)}\nruns        ${run}\nreport      ${report}`);
  }
  return Math.max(0, ...results.map(exitCode));
}
