/** Starts and resumes a run. `policyloop run` comes here first; the loop is `experiment/experiment.ts`. */

import { existsSync, statSync } from 'node:fs';
import { basename, extname, join, resolve } from 'node:path';
import { withWorkers } from '../base/command.js';
import { type CommandContext, exitCodeOf } from '../base/context.js';
import { formatProblem, messageOf, UserError } from '../base/errors.js';
import { claimDirectory, plainName, replaceFile } from '../base/files/files.js';
import { isLocked } from '../base/files/lock.js';
import { plural } from '../base/text/numbers.js';
import { warningText } from '../base/text/progress.js';
import { fitted } from '../base/text/width.js';
import type { Config } from '../config/config.js';
import { type LoadedConfig, loadConfig, resolvedYaml } from '../config/load.js';
import { withDefaultsOf } from '../config/resolve.js';
import { makeRoom } from '../experiment/preflight/ask-model.js';
import { errorsIn, warningsIn } from '../experiment/preflight/findings.js';
import { preflight } from '../experiment/preflight/preflight.js';
import {
  type Assembly,
  assemble,
  closeEnvironment,
  languageModelsOf,
  type OwnParts,
} from '../experiment/setup/assemble.js';
import { newManifest } from '../experiment/setup/open-experiment.js';
import { contextOf } from '../experiment/setup/open-models.js';
import { type Display, runInDirectory } from '../experiment/setup/session.js';
import type { ParameterSpec } from '../policies/policy.js';
import { createRunDirectory } from '../runs/create.js';
import { refuseDifferences, requireSame, whatCompletes } from '../runs/fingerprint.js';
import { findRun } from '../runs/listing/names.js';
import { alreadyRunning } from '../runs/listing/stop.js';
import type { Manifest } from '../runs/manifest.js';
import { readShownFrame, requireConfig } from '../runs/open-run.js';
import { logBytes, readImported, readManifest, runFiles } from '../runs/reader.js';
import { describeReason, describeResult, type RunResult, resultOf, summaryOf } from '../runs/summary.js';
import { type RunDirectory, resumeRunDirectory } from '../runs/writer.js';
import { writeReport } from '../web/report/write-report.js';
import { type DryRunArguments, dryRun } from './dry-run.js';
import type { ScheduleArguments } from './plan.js';
import { createDisplay } from './run-progress.js';
import { requireOwnLimits, type SharedLimits } from './shared-limits.js';

interface ConfigArguments extends Pick<ScheduleArguments, 'json' | 'quiet'> {
  readonly overrides: readonly string[];
  readonly runsDir: string;
  readonly workers?: number | undefined;
}

/** Runs a config or, with `dryRun`, prints the prompt without calling a model. Returns the exit code. */
export async function runConfig(
  args: ConfigArguments &
    DryRunArguments & {
      readonly config: string;
      readonly runDir?: string | undefined;
      readonly dryRun: boolean;
    },
  context: CommandContext,
): Promise<number> {
  const loaded = loadConfig({
    file: args.config,
    overrides: withWorkers(args.overrides, args.workers),
    cwd: context.cwd,
  });
  for (const note of loaded.notes) context.note(note);
  return located(loaded, async () => {
    const own = args.dryRun ? {} : { ask: context.stop.finish };
    const assembly = await assemble(loaded.config, context.env, undefined, own);
    await refuseErrors(assembly, !args.dryRun, context);
    if (args.dryRun) {
      try {
        return await dryRun(assembly, args, context);
      } finally {
        await closeEnvironment(assembly);
      }
    }
    const place = () =>
      args.runDir === undefined
        ? claimDirectory(
            resolve(context.cwd, args.runsDir),
            runName(assembly.config, args.config, context.now()),
          )
        : resolve(context.cwd, args.runDir);
    // Notes from importing the config, to be stored in the run.
    const notes = loaded.imported === undefined ? [] : loaded.notes;
    return finishRun(await beginRun(assembly, place, context, { notes }), args, context);
  });
}

/** Resumes a run. Returns the exit code. */
export async function resumeRun(
  args: ConfigArguments & { readonly run: string },
  context: CommandContext,
): Promise<number> {
  const path = findRun(args.run, { cwd: context.cwd, runsDir: args.runsDir });
  if (isLocked(join(path, runFiles.lock))) throw alreadyRunning(path);
  const was = configIn(path);
  const { config } = loadConfig({
    file: join(path, runFiles.config),
    overrides: withWorkers(args.overrides, args.workers),
    cwd: context.cwd,
    asWritten: true,
  });
  refuseDifferences(was, config);
  requireOwnLimits(path);
  const opened = await reopenRun(path, config, context);
  if (opened !== undefined) return finishRun(opened, args, context);
  if (await finishLeft(path, context.now, writeReport)) {
    const { family } = await readShownFrame(path);
    return exitCodeOf(printResult(path, family.parameters, args.json, context).status);
  }
  const manifest = readManifest(path);
  throw new UserError({
    message: `this run ${manifest.status === 'failed' ? 'has ended' : 'is complete'} after ${plural(manifest.iterations.done, 'iteration')}: ${describeReason(manifest)}`,
    value: path,
    hint: whatCompletes(manifest, was, config, path)!,
  });
}

/** The resolved config of the run at `path`. */
export const configIn = (path: string): Config =>
  loadConfig({ file: requireConfig(join(path, runFiles.config)), asWritten: true }).config;

/**
 * Reports possible problems before anything is spent, without calling the model.
 * @param ask whether to ask the model's server for its context length
 * @throws UserError if the run can't succeed
 */
async function refuseErrors(assembly: Assembly, ask: boolean, context: CommandContext): Promise<void> {
  const findings = preflight(
    assembly,
    await contextOf(assembly.config.model, assembly.proposer.model, ask, context.stop.finish),
  );
  const errors = errorsIn(findings);
  if (errors.length > 0) {
    await closeEnvironment(assembly);
    throw new UserError(errors);
  }
  for (const warning of warningsIn(findings)) context.note(warningText(formatProblem(warning)));
}

/** Adds locations in the config file to errors, including errors that occur during the run. */
export async function located<T>(
  { locate }: Pick<LoadedConfig, 'locate'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof UserError ? locate(error) : error;
  }
}

/** Starts or resumes a run in its directory, and writes its report. */
export async function runAndReport(
  assembly: Assembly,
  directory: RunDirectory,
  display: Display,
  context: Parameters<typeof runInDirectory>[3],
): Promise<void> {
  await runInDirectory(assembly, directory, display, context);
  // With a large log, writing the report takes longer than is acceptable after a second stop request. In that case,
  // `policyloop report` or the next resume writes it.
  const { path } = directory;
  if (!context.stop.abort.aborted || logBytes(path) < quickBytes) await writeReport(path, assembly.family);
}

const quickBytes = 8 * 2 ** 20;

/** True if the report shows the run's final state; a process may have ended before writing it. */
export function isReported(path: string, { updated }: Pick<Manifest, 'updated'>): boolean {
  const file = join(path, runFiles.report);
  const written = statSync(file, { throwIfNoEntry: false });
  return written !== undefined && written.mtimeMs >= Date.parse(updated) && !existsSync(`${file}.new`);
}

/**
 * Cleans up after a process that was killed after completing its run.
 * @param write writes the report
 * @returns true if the report was missing
 */
export async function finishLeft(
  path: string,
  now: () => Date,
  write: (path: string) => unknown,
): Promise<boolean> {
  const wasReported = isReported(path, readManifest(path));
  if (!wasReported || existsSync(join(path, runFiles.lock))) await resumeRunDirectory(path, now).close();
  if (!wasReported) await write(path);
  return !wasReported;
}

function printResult(
  path: string,
  spec: ParameterSpec,
  json: boolean | undefined,
  { columns, cwd, print }: Pick<CommandContext, 'columns' | 'cwd' | 'print'>,
): RunResult {
  const result = resultOf(summaryOf(path), cwd);
  print(json ? JSON.stringify(result) : fitted(describeResult(result, spec), columns));
  return result;
}

interface ReadyRun {
  readonly assembly: Assembly;
  readonly directory: RunDirectory;
}

interface Opening {
  /** Objects passed in by a program, which replace the config's. */
  readonly own?: OwnParts;
  readonly notes?: readonly string[] | undefined;
  /** Limits that the run shares with the other runs of its sweep. */
  readonly shared?: SharedLimits | undefined;
}

type Outside = Pick<CommandContext, 'note' | 'now'> & Partial<Pick<CommandContext, 'stop'>>;

/**
 * Starts a run after opening its models.
 * @param place chooses the directory; called after the models have been opened
 */
export async function beginRun(
  assembly: Assembly,
  place: () => string,
  context: Outside,
  opening?: Opening,
): Promise<ReadyRun> {
  await openModel(assembly, context);
  return ready(assembly, startRun(assembly, place(), context, opening?.notes), opening?.shared);
}

async function openModel(assembly: Assembly, { note, stop }: Outside): Promise<void> {
  await makeRoom(assembly, stop?.finish);
  for (const model of languageModelsOf(assembly)) {
    const description = await model.open?.();
    if (description !== undefined) note(description);
  }
}

export function startRun(
  assembly: Assembly,
  path: string,
  { now }: Pick<CommandContext, 'now'>,
  notes: readonly string[] = [],
): RunDirectory {
  const directory = createRunDirectory(path, {
    configYaml: resolvedYaml(assembly.config),
    manifest: newManifest(assembly, basename(path), now()),
    imported: assembly.imported,
    now,
  });
  for (const note of notes) directory.record({ kind: 'warning', message: note.trim() });
  return directory;
}

/** Opens a run to resume it with the config `wanted`; undefined if nothing is left to do. */
export async function reopenRun(
  path: string,
  wanted: Config,
  context: Outside & Pick<CommandContext, 'env'>,
  { own, shared }: Opening = {},
): Promise<ReadyRun | undefined> {
  const file = join(path, runFiles.config);
  const was = configIn(path);
  const config = withDefaultsOf(was, wanted);
  const manifest = readManifest(path);
  if (whatCompletes(manifest, was, config, path, shared?.limits) !== undefined) return undefined;
  const assembly = await assemble(config, context.env, readImported(path), own);
  requireSame(assembly, manifest, file);
  await openModel(assembly, context);
  const directory = resumeRunDirectory(path, context.now);
  replaceFile(file, resolvedYaml(assembly.config));
  return ready(assembly, directory, shared);
}

const ready = (assembly: Assembly, directory: RunDirectory, shared: SharedLimits | undefined): ReadyRun => ({
  assembly: shared === undefined ? assembly : { ...assembly, sharedBudget: shared.of(directory) },
  directory,
});

/** Executes an opened run and prints the result. Returns the exit code. */
async function finishRun(
  { assembly, directory }: ReadyRun,
  { json, quiet }: Pick<ScheduleArguments, 'json' | 'quiet'>,
  context: CommandContext,
): Promise<number> {
  try {
    await runAndReport(assembly, directory, createDisplay({ json, quiet }, context), context);
  } catch (error) {
    if (json) context.print(JSON.stringify(failedResult(directory, context.cwd, error)));
    throw error;
  }
  const result = printResult(directory.path, assembly.family.parameters, json, context);
  if (!existsSync(join(directory.path, runFiles.report))) {
    context.note(
      `stopped without a report, because the logs are large; write it with policyloop report ${result.run}`,
    );
  }
  return exitCodeOf(result.status);
}

/** The last line of `--json` if an error aborts a run. */
interface FailedRun extends Omit<RunResult, 'status'> {
  readonly status: 'failed';
  readonly error: string;
}

function failedResult({ manifest, path }: RunDirectory, cwd: string, error: unknown): FailedRun {
  return { ...resultOf(summaryOf(path, manifest), cwd), status: 'failed', error: messageOf(error) };
}

/** Name of a new run's directory: `<name>-<date>-<time>` in UTC; `<name>` is the config's `name`, or its file's. */
export function runName(config: Pick<Config, 'name'>, file: string, now: Date): string {
  const stem = config.name ?? plainName(basename(file, extname(file)), 'run');
  const [date, time] = now.toISOString().split('T') as [string, string];
  return `${stem}-${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}
