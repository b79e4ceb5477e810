import { basename } from 'node:path';
import { resolvedYaml } from '../config/load.js';
import { type CommandContext, exitCodes } from '../context.js';
import { messageOf } from '../errors.js';
import { type Assembly, newManifest } from '../experiment/assemble.js';
import { createDisplay } from '../experiment/progress.js';
import { type Display, runInDirectory } from '../experiment/session.js';
import { writeRunReport } from '../report/write-report.js';
import { createRunDirectory } from '../runs/create.js';
import { describeResult, factsOf, type RunResult, resultOf } from '../runs/facts.js';
import type { Durability, RunDirectory } from '../runs/writer.js';

/** Runs an experiment in its directory, from wherever it stands, to its end, and writes its report. */
export async function runAndReport(
  assembly: Assembly,
  directory: RunDirectory,
  display: Display,
  context: Pick<CommandContext, 'now' | 'milliseconds' | 'stop'>,
): Promise<void> {
  await runInDirectory(assembly, directory, display, context);
  await writeRunReport(directory.path);
}

export interface OutputArguments {
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Gets the model ready, so that what can't be used is found before a run begins. */
export async function openModel({ model }: Assembly, context: Pick<CommandContext, 'note'>): Promise<void> {
  const description = await model.open?.();
  if (description !== undefined) context.note(description);
}

/**
 * Makes the directory of a new run.
 * @param notes what the user was told of its config, for its log
 */
export function startRun(
  assembly: Assembly,
  path: string,
  context: Pick<CommandContext, 'now'>,
  durability: Durability = 'iteration',
  notes: readonly string[] = [],
): RunDirectory {
  const { config } = assembly;
  const directory = createRunDirectory(path, {
    configYaml: resolvedYaml(config),
    manifest: newManifest(assembly, basename(path), context.now()),
    imported: assembly.imported,
    now: context.now,
    durability,
  });
  for (const note of notes) directory.record({ kind: 'warning', message: note.trim() });
  return directory;
}

/** Runs from wherever the directory stands to the end, and prints the result. */
export async function finishRun(
  assembly: Assembly,
  directory: RunDirectory,
  args: OutputArguments,
  context: CommandContext,
): Promise<number> {
  try {
    await runAndReport(assembly, directory, displayFor(args, context), context);
  } catch (error) {
    if (args.json) context.print(JSON.stringify(failedResult(directory, context.cwd, error)));
    throw error;
  }
  const result = resultOf(factsOf(directory.path), context.cwd);
  context.print(args.json ? JSON.stringify(result) : describeResult(result, assembly.family.parameters));
  return exitCode(result);
}

/** What machines get when a run ends in an error of ours or of the system. */
export function failedResult({ manifest, path }: RunDirectory, cwd: string, error: unknown) {
  return { ...resultOf(factsOf(path, manifest), cwd), status: 'failed', error: messageOf(error) } as const;
}

export const displayFor = (args: OutputArguments, context: CommandContext) => createDisplay(args, context);

/** 0 for a run that came to its end. */
export function exitCode(result: RunResult): number {
  switch (result.status) {
    case 'completed':
      return 0;
    case 'interrupted':
      return exitCodes.interrupted;
    default:
      return exitCodes.failure;
  }
}
