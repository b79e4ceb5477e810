/** Starts a run. `policyloop run` begins here; the loop is in `experiment/experiment.ts`. */

import { basename } from 'node:path';
import { withWorkers } from '../base/command.js';
import { type CommandContext, exitCodeOf } from '../base/context.js';
import { formatProblem, messageOf, UserError, WorkError } from '../base/errors.js';
import { warningText } from '../base/text/progress.js';
import { fitText } from '../base/text/width.js';
import { type LoadedConfig, loadConfig, resolvedYaml } from '../config/load.js';
import { runExperiment } from '../experiment/experiment.js';
import { reserveContext } from '../experiment/preflight/ask-model.js';
import { errorsIn, warningsIn } from '../experiment/preflight/findings.js';
import { preflight } from '../experiment/preflight/preflight.js';
import { type Assembly, assemble, closeEnvironment, languageModelsOf } from '../experiment/setup/assemble.js';
import { refreshManifest, updateManifest } from '../experiment/setup/keep-manifest.js';
import { experimentIn, newManifest } from '../experiment/setup/open-experiment.js';
import { contextOf } from '../experiment/setup/open-models.js';
import type { ParameterSpec } from '../policies/policy.js';
import { createRunDirectory, newRunPath } from '../runs/create.js';
import type { RunEvent } from '../runs/events.js';
import { watchStopRequests } from '../runs/stop-request.js';
import { describeResult, type RunResult, resultOf, summaryOf } from '../runs/summary.js';
import type { RunDirectory } from '../runs/writer.js';
import { writeReport } from '../web/report/write-report.js';
import { type DryRunArguments, dryRun } from './dry-run.js';
import type { ScheduleArguments } from './plan.js';
import { createDisplay, type EventDisplay } from './run-progress.js';
import type { SharedLimits } from './shared-limits.js';

export interface ConfigArguments extends Pick<ScheduleArguments, 'json' | 'quiet'> {
  readonly overrides: readonly string[];
  readonly runsDir: string;
  readonly workers?: number | undefined;
}

/** Runs a config or, with `dryRun`, prints the prompt without calling a model. Returns the exit code. */
export async function runFromConfig(
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
  return withLocations(loaded, async () => {
    const parts = args.dryRun ? {} : { ask: context.stop.finish };
    const assembly = await assemble(loaded.config, context.env, undefined, parts);
    await reportFindings(assembly, !args.dryRun, context);
    if (args.dryRun) {
      try {
        return await dryRun(assembly, args, context);
      } finally {
        await closeEnvironment(assembly);
      }
    }
    const choosePath = () => newRunPath(args, args.config, context, assembly.config.name);
    // Notes from importing the config, to be stored in the run.
    const notes = loaded.imported === undefined ? [] : loaded.notes;
    return runAndPrint(await prepareRun(assembly, choosePath, context, notes), args, context);
  });
}

/**
 * Reports possible problems before anything is spent, without calling the model.
 * @param ask true to ask the model's server for its context length
 * @throws UserError if the run can't succeed
 */
async function reportFindings(assembly: Assembly, ask: boolean, context: CommandContext): Promise<void> {
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

/** Adds locations in the config file to a UserError of `work`, unless it is a WorkError. */
export async function withLocations<T>(
  { locate }: Pick<LoadedConfig, 'locate'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw error instanceof UserError && !(error instanceof WorkError) ? locate(error) : error;
  }
}

/** A run's access to its process: the clock, events and stop requests. */
export interface RunSession extends Pick<CommandContext, 'now' | 'stop'> {
  readonly activeMs: () => number;
  readonly emit: (event: RunEvent) => void;
}

export type RunContext = Pick<CommandContext, 'now' | 'milliseconds' | 'stop'>;

/** Does a run's work in its directory, and closes everything at the end. @param keep updates the manifest */
export async function runInDirectory(
  directory: RunDirectory,
  display: EventDisplay,
  { milliseconds, now, stop }: RunContext,
  {
    close,
    keep,
    work,
  }: {
    readonly work: (session: RunSession) => Promise<unknown>;
    readonly close: () => Promise<void>;
    readonly keep?: (event: RunEvent, activeMs: number) => void;
  },
): Promise<void> {
  const startMs = milliseconds();
  const earlierMs = directory.manifest.activeMs;
  const stopRequests = watchStopRequests(directory.path, stop);
  const activeMs = () => earlierMs + milliseconds() - startMs;
  const emit = (event: RunEvent) => {
    directory.record(event);
    keep?.(event, activeMs());
    display.show(event);
  };
  try {
    await work({ activeMs, emit, now, stop: stopRequests.stop });
  } catch (error) {
    directory.update({ status: 'failed', activeMs: activeMs() });
    throw error;
  } finally {
    stopRequests.close();
    display.close();
    // Save first, because a user's environment or model may hang on close.
    await directory.close();
    await close();
  }
}

/**
 * Runs an experiment in its directory until it ends, and writes its report.
 * @param sharedLimits the limits that it shares with the other runs of its sweep
 */
export async function executeRun(
  { assembly, directory }: ReadyRun,
  display: EventDisplay,
  context: RunContext,
  sharedLimits?: SharedLimits,
): Promise<void> {
  await runInDirectory(directory, display, context, {
    keep: (event, activeMs) => updateManifest(directory, event, activeMs),
    async work({ stop, ...session }) {
      const sharedBudget = sharedLimits?.budgetFor(directory);
      const limitedAssembly = sharedBudget === undefined ? assembly : { ...assembly, sharedBudget };
      const experiment = experimentIn(limitedAssembly, directory, session);
      refreshManifest(directory, experiment);
      await runExperiment(experiment, stop);
    },
    async close() {
      await closeEnvironment(assembly);
      for (const model of languageModelsOf(assembly)) await model.close?.();
    },
  });
  await writeReport(directory.path, assembly.family);
}

export function printResult(
  path: string,
  spec: ParameterSpec,
  json: boolean | undefined,
  { columns, cwd, print }: Pick<CommandContext, 'columns' | 'cwd' | 'print'>,
): RunResult {
  const result = resultOf(summaryOf(path), cwd);
  print(json ? JSON.stringify(result) : fitText(describeResult(result, spec), columns));
  return result;
}

export interface ReadyRun {
  readonly assembly: Assembly;
  readonly directory: RunDirectory;
}

export type StartContext = Pick<CommandContext, 'note' | 'now'> & Partial<Pick<CommandContext, 'stop'>>;

/**
 * Starts a run after opening its models.
 * @param choosePath chooses the directory; called after the models have been opened
 */
export async function prepareRun(
  assembly: Assembly,
  choosePath: () => string,
  context: StartContext,
  notes?: readonly string[],
): Promise<ReadyRun> {
  await openModels(assembly, context);
  return { assembly, directory: startRun(assembly, choosePath(), context, notes) };
}

/** @throws UserError if a model can't be opened (WorkError if nothing answers), before anything is written */
export async function openModels(assembly: Assembly, { note, stop }: StartContext): Promise<void> {
  try {
    await reserveContext(assembly, stop?.finish, ({ kind, message }) => {
      const isLocal = /\/\/(127\.|\[::1\]|localhost)/.test(message);
      const advice = isLocal ? 'start the server' : 'check the address and your network';
      if (kind === 'network') throw new WorkError({ message, hint: `${advice}, then repeat the command` });
      note(warningText(`${message}; the run fails if the model still doesn't answer after the warm-up`));
    });
    for (const model of languageModelsOf(assembly)) {
      const description = await model.open?.();
      if (description !== undefined) note(description);
    }
  } catch (error) {
    await closeEnvironment(assembly);
    throw error;
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

/** Executes an opened run and prints the result. Returns the exit code. */
export async function runAndPrint(
  { assembly, directory }: ReadyRun,
  { json, quiet }: Pick<ScheduleArguments, 'json' | 'quiet'>,
  context: CommandContext,
): Promise<number> {
  try {
    await executeRun({ assembly, directory }, createDisplay({ json, quiet }, context), context);
  } catch (error) {
    const { manifest, path } = directory;
    const failedResult = { ...resultOf(summaryOf(path, manifest), context.cwd), status: 'failed' };
    if (json) context.print(JSON.stringify({ ...failedResult, error: messageOf(error) }));
    throw error;
  }
  return exitCodeOf(printResult(directory.path, assembly.family.parameters, json, context).status);
}
