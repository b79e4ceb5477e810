import { existsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type CommandContext, exitCodeOf } from '../base/context.js';
import { messageOf } from '../base/errors.js';
import type { Config } from '../config/config.js';
import type { LimitsConfig } from '../config/limits.js';
import { loadConfig, resolvedYaml } from '../config/load.js';
import { type Assembly, assemble, type OwnParts } from '../experiment/assemble.js';
import { newManifest } from '../experiment/parts.js';
import { languageModelIn, withDefaultsOf } from '../experiment/proposer.js';
import { type Display, runInDirectory } from '../experiment/session.js';
import { fitted } from '../format/width.js';
import type { ParameterSpec } from '../policies/policy.js';
import { makeRoom } from '../preflight/ask-model.js';
import { writeReport } from '../report/write-report.js';
import { createRunDirectory } from '../runs/create.js';
import { requireSame, whatCompletes } from '../runs/fingerprint.js';
import type { Manifest } from '../runs/manifest.js';
import { readShownFrame, requireConfig } from '../runs/open-run.js';
import { logBytes, readImported, readManifest, runFiles } from '../runs/reader.js';
import { describeResult, type RunResult, resultOf, summaryOf } from '../runs/summary.js';
import { type RunDirectory, removeDrafts, resumeRunDirectory } from '../runs/writer.js';
import { replaceFile } from '../storage/files.js';
import { isLocked, lockRun } from '../storage/lock.js';
import type { PlayArguments } from './plan.js';
import { createDisplay } from './run-progress.js';

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

/** Cleans up after a process that was killed after completing its run but before closing it. */
export async function closeLeft(path: string, now: () => Date): Promise<void> {
  const lock = join(path, runFiles.lock);
  if (existsSync(lock) && !isLocked(lock)) await resumeRunDirectory(path, now).close();
}

/** Writes the missing report of a complete run and prints the result. Returns the exit code. */
export async function finishReport(
  path: string,
  { json }: Pick<PlayArguments, 'json'>,
  context: Pick<CommandContext, 'columns' | 'cwd' | 'print'>,
): Promise<number> {
  const release = lockRun(join(path, runFiles.lock));
  try {
    removeDrafts(path);
    await writeReport(path);
  } finally {
    release();
  }
  const { family } = await readShownFrame(path);
  return exitCodeOf(printResult(path, family.parameters, json, context).status);
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

export interface ReadyRun {
  readonly assembly: Assembly;
  readonly directory: RunDirectory;
}

interface Opening {
  /** Objects passed in by a program, which replace the config's. */
  readonly own?: OwnParts;
  readonly notes?: readonly string[] | undefined;
  /** Limits that a resumed run shares with the other runs of its sweep. */
  readonly limits?: LimitsConfig | undefined;
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
  return { assembly, directory: startRun(assembly, place(), context, opening) };
}

async function openModel(assembly: Assembly, { note, stop }: Outside): Promise<void> {
  await makeRoom(assembly, stop?.finish);
  for (const model of [languageModelIn(assembly.model), assembly.critic?.model]) {
    const description = await model?.open?.();
    if (description !== undefined) note(description);
  }
}

export function startRun(
  assembly: Assembly,
  path: string,
  { now }: Pick<CommandContext, 'now'>,
  { notes = [] }: Opening = {},
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
  { limits, own }: Opening = {},
): Promise<ReadyRun | undefined> {
  const file = join(path, runFiles.config);
  const was = loadConfig({ file: requireConfig(file), asWritten: true }).config;
  const config = withDefaultsOf(was, wanted);
  const manifest = readManifest(path);
  if (whatCompletes(manifest, was, config, path, limits) !== undefined) return undefined;
  const assembly = await assemble(config, context.env, readImported(path), own);
  requireSame(assembly, manifest, file);
  await openModel(assembly, context);
  const directory = resumeRunDirectory(path, context.now);
  replaceFile(file, resolvedYaml(assembly.config));
  return { assembly, directory };
}

/** Executes an opened run and prints the result. Returns the exit code. */
export async function finishRun(
  { assembly, directory }: ReadyRun,
  { json, quiet }: Pick<PlayArguments, 'json' | 'quiet'>,
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
