import { basename } from 'node:path';
import { type Assembly, newManifest } from '../assemble.js';
import { resolvedYaml } from '../load-config.js';
import { progressSink } from '../progress.js';
import { createRunDirectory, type RunDirectory } from '../run-directory.js';
import { describeResult, type RunResult, resultOf } from '../run-result.js';
import { runInDirectory } from '../run-session.js';
import { type CommandContext, exitCodes } from '../terminal.js';

export interface OutputArguments {
  readonly json: boolean;
  readonly quiet: boolean;
}

/** Makes the directory of a new run. */
export function startRun(
  assembly: Assembly,
  path: string,
  context: Pick<CommandContext, 'now'>,
): RunDirectory {
  const { config } = assembly;
  return createRunDirectory(path, {
    configYaml: resolvedYaml(config),
    manifest: newManifest(assembly, basename(path), context.now()),
    now: context.now,
  });
}

/** Runs from wherever the directory stands to the end, and prints the result. */
export async function finishRun(
  assembly: Assembly,
  directory: RunDirectory,
  args: OutputArguments,
  context: CommandContext,
): Promise<number> {
  await runInDirectory(assembly, directory, sinkFor(args, context), context);
  const result = resultOf(directory.path, context.cwd);
  context.print(args.json ? JSON.stringify(result) : describeResult(result, assembly.family.parameters));
  return exitCode(result);
}

export const sinkFor = (args: OutputArguments, context: CommandContext) =>
  progressSink(args.json ? 'json' : args.quiet ? 'quiet' : 'auto', context);

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
