/** Runs a config, and resumes a run. */
import { join, resolve } from 'node:path';
import { withWorkers } from '../base/command.js';
import type { CommandContext } from '../base/context.js';
import { formatProblem, UserError, unlessRefused } from '../base/errors.js';
import { type LoadedConfig, loadConfig } from '../config/load.js';
import { type Assembly, assemble, closeEnvironment } from '../experiment/assemble.js';
import { contextOf } from '../experiment/open-models.js';
import { plural } from '../format/numbers.js';
import { warningText } from '../format/progress.js';
import { errorsIn, warningsIn } from '../preflight/findings.js';
import { preflight } from '../preflight/preflight.js';
import { refuseDifferences, whatCompletes } from '../runs/fingerprint.js';
import { findRun } from '../runs/listing/names.js';
import { alreadyRunning } from '../runs/listing/stop.js';
import { requireConfig } from '../runs/open-run.js';
import { readManifest, runFiles } from '../runs/reader.js';
import { describeReason } from '../runs/summary.js';
import { claimDirectory } from '../storage/files.js';
import { isLocked } from '../storage/lock.js';
import { type DryRunHistory, dryRun } from './dry-run.js';
import { runName } from './library-run.js';
import type { PlayArguments } from './plan.js';
import { limitsAround, sharing } from './play-run.js';
import { beginRun, closeLeft, finishReport, finishRun, isReported, reopenRun } from './single-run.js';

interface ConfigArguments extends Pick<PlayArguments, 'json' | 'quiet'> {
  readonly overrides: readonly string[];
  readonly runsDir: string;
  readonly workers?: number | undefined;
}

/** Runs a config or, with `dryRun`, prints the prompt without calling a model. Returns the exit code. */
export async function playConfig(
  args: ConfigArguments &
    DryRunHistory & {
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
  const own = args.dryRun ? {} : { ask: context.stop.finish };
  const assembly = await placed(loaded, () => assemble(loaded.config, context.env, undefined, own));
  const { config } = assembly;
  await placed(loaded, () => refuseErrors(assembly, !args.dryRun, context));
  if (args.dryRun) {
    try {
      return await dryRun(assembly, args, context);
    } finally {
      await closeEnvironment(assembly);
    }
  }
  const place = () =>
    args.runDir === undefined
      ? claimDirectory(resolve(context.cwd, args.runsDir), runName(config, args.config, context.now()))
      : resolve(context.cwd, args.runDir);
  // Notes from importing the config, to be stored in the run.
  const notes = loaded.imported === undefined ? [] : loaded.notes;
  return placed(loaded, async () =>
    finishRun(await beginRun(assembly, place, context, { notes }), args, context),
  );
}

/** Resumes a run. Returns the exit code. */
export async function resumeRun(
  args: ConfigArguments & { readonly run: string },
  context: CommandContext,
): Promise<number> {
  const path = findRun(args.run, { cwd: context.cwd, runsDir: args.runsDir });
  if (isPlayed(path)) throw alreadyRunning(path);
  const file = join(path, runFiles.config);
  const was = loadConfig({ file: requireConfig(file), asWritten: true }).config;
  const { config } = loadConfig({
    file,
    overrides: withWorkers(args.overrides, args.workers),
    cwd: context.cwd,
    asWritten: true,
  });
  refuseDifferences(was, config);
  const around = limitsAround(path);
  try {
    const limits = around?.shared.limits;
    const opened = await reopenRun(path, config, context, { limits });
    if (opened !== undefined) return await finishRun(sharing(opened, around?.shared), args, context);
    await closeLeft(path, context.now);
    const manifest = readManifest(path);
    if (!isReported(path, manifest)) return await finishReport(path, args, context);
    throw new UserError({
      message: `this run ${manifest.status === 'failed' ? 'has ended' : 'is complete'} after ${plural(manifest.iterations.done, 'iteration')}: ${describeReason(manifest)}`,
      value: path,
      remedy: whatCompletes(manifest, was, config, path, limits)!,
    });
  } finally {
    around?.release();
  }
}

/** True if another process is executing the run at `path`. */
const isPlayed = (path: string) => isLocked(join(path, runFiles.lock)) && isReadable(path);

const isReadable = (run: string) => unlessRefused(() => readManifest(run)) !== undefined;

/**
 * Reports possible problems before anything is spent, without calling the model.
 * @param ask whether to ask the model's server for its context length
 * @throws UserError if the run can't succeed
 */
async function refuseErrors(assembly: Assembly, ask: boolean, context: CommandContext): Promise<void> {
  const findings = preflight(
    assembly,
    await contextOf(assembly.config.model, assembly.model, ask, context.stop.finish),
  );
  const errors = errorsIn(findings);
  if (errors.length > 0) {
    await closeEnvironment(assembly);
    throw new UserError(errors);
  }
  for (const warning of warningsIn(findings)) context.note(warningText(formatProblem(warning)));
}

/** Adds locations in the config file to errors, including errors that occur during the run. */
async function placed<T>(loaded: LoadedConfig, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof UserError ? loaded.locate(error) : error;
  }
}
