/** Resumes runs, alone or as part of a sweep. */

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { withWorkers } from '../base/command.js';
import { type CommandContext, exitCodeOf } from '../base/context.js';
import { UserError } from '../base/errors.js';
import { replaceFile } from '../base/files/files.js';
import { isLocked } from '../base/files/lock.js';
import { plural } from '../base/text/numbers.js';
import type { Config } from '../config/config.js';
import { loadConfig, resolvedYaml } from '../config/load.js';
import { withDefaultsOf } from '../config/resolve.js';
import { assemble, type UserParts } from '../experiment/setup/assemble.js';
import { continuationHint, rejectDifferences, requireSameSetup } from '../runs/fingerprint.js';
import { findRun } from '../runs/listing/names.js';
import { alreadyRunningError } from '../runs/listing/stop.js';
import { readShownSetup, requireConfig } from '../runs/open-run.js';
import { readImportedPolicies, readManifest, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { resumeRunDirectory } from '../runs/writer.js';
import { writeReport } from '../web/report/write-report.js';
import {
  type ConfigArguments,
  openModels,
  printResult,
  type ReadyRun,
  runAndPrint,
  type StartContext,
} from './run.js';
import { requireOwnLimits, type SharedLimits } from './shared-limits.js';

/** Resumes a run. Returns the exit code. */
export async function resumeRun(
  args: ConfigArguments & { readonly run: string },
  context: CommandContext,
): Promise<number> {
  const path = findRun(args.run, { cwd: context.cwd, runsDir: args.runsDir });
  if (isLocked(join(path, runFiles.lock))) throw alreadyRunningError(path);
  const { config } = loadConfig({
    file: join(path, runFiles.config),
    overrides: withWorkers(args.overrides, args.workers),
    cwd: context.cwd,
    asWritten: true,
  });
  const reopened = await reopenRun(path, config, context);
  if (typeof reopened !== 'string') return runAndPrint(reopened, args, context);
  if (await finishKilledRun(path, context.now, writeReport)) {
    const { family } = await readShownSetup(path);
    return exitCodeOf(printResult(path, family.parameters, args.json, context).status);
  }
  const manifest = readManifest(path);
  throw new UserError({
    message: `this run ${manifest.status === 'failed' ? 'has ended' : 'is complete'} after ${plural(manifest.iterations.done, 'iteration')}${manifest.reason?.kind === 'iterations' ? '' : `: ${describeReason(manifest)}`}`,
    value: path,
    hint: reopened,
  });
}

/**
 * Opens a run to resume it with `newConfig`.
 * @param own objects passed in by a program, which replace the config's
 * @param shared limits that the run shares with the other runs of its sweep
 * @returns the opened run or, if nothing is left to do, a hint on how to continue it
 */
export async function reopenRun(
  path: string,
  newConfig: Config,
  context: StartContext & Pick<CommandContext, 'env'>,
  { own, shared }: { readonly own?: UserParts; readonly shared?: SharedLimits | undefined } = {},
): Promise<ReadyRun | string> {
  const file = join(path, runFiles.config);
  const originalConfig = loadConfig({ file: requireConfig(file), asWritten: true }).config;
  const config = withDefaultsOf(originalConfig, newConfig);
  rejectDifferences(originalConfig, config);
  if (shared === undefined) requireOwnLimits(path);
  const manifest = readManifest(path);
  const hint = continuationHint(manifest, originalConfig, config, path, shared?.limits);
  if (hint !== undefined) return hint;
  const assembly = await assemble(config, context.env, readImportedPolicies(path), own);
  requireSameSetup(assembly, manifest, file);
  await openModels(assembly, context);
  const directory = resumeRunDirectory(path, context.now);
  replaceFile(file, resolvedYaml(assembly.config));
  return { assembly, directory };
}

/**
 * Cleans up after a process that was killed after completing its run.
 * @param write writes the report
 * @returns true if the report was missing or outdated
 */
export async function finishKilledRun(
  path: string,
  now: () => Date,
  write: (path: string) => unknown,
): Promise<boolean> {
  const wasReported = isReported(path);
  if (!wasReported || existsSync(join(path, runFiles.lock))) await resumeRunDirectory(path, now).close();
  if (!wasReported) await write(path);
  return !wasReported;
}

/** True if the report shows the run's final state; a process may have ended before writing it. */
export function isReported(path: string): boolean {
  const file = join(path, runFiles.report);
  const writtenMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  return writtenMs >= Date.parse(readManifest(path).updated) && !existsSync(`${file}.new`);
}
