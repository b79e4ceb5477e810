/** Starts or resumes a run for a program that uses the library and can pass in its own model and environment. */

import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { CommandContext } from '../base/context.js';
import { UserError } from '../base/errors.js';
import type { Config, ConfigInput } from '../config/config.js';
import { loadConfig, parseConfig } from '../config/load.js';
import { type UserEnvironment, wrapUserEnvironment } from '../environments/catalogue/module-environment.js';
import { customPrefix } from '../environments/catalogue/open.js';
import { assemble, type UserParts } from '../experiment/setup/assemble.js';
import { type UserModel, wrapUserModel } from '../models/user-model.js';
import { newRunPath } from '../runs/create.js';
import type { RunEvent } from '../runs/events.js';
import { runFiles } from '../runs/reader.js';
import { type RunResult, resultOf, summaryOf } from '../runs/summary.js';
import { reopenRun } from './resume.js';
import { executeRun, prepareRun } from './run.js';

export interface RunOptions {
  /** Replaces the config's model. The run doesn't close it. */
  readonly model?: UserModel;
  /** Replaces the config's environment; runs in the main thread. The run doesn't close it. */
  readonly environment?: UserEnvironment;
  /** Receives every event of the run, in order. The console and the logs use the same events. */
  readonly onEvent?: (event: RunEvent) => void;
  /** Directory of the run; an existing run is resumed. Default: a new one in `runsDir`. */
  readonly directory?: string;
  /** Parent directory of new runs (default: `buffers`). */
  readonly runsDir?: string;
  /** Stops the run immediately when aborted. Its status is then `interrupted`, and it can be resumed. */
  readonly signal?: AbortSignal;
}

/** A config in which model and environment are optional, because objects can replace them. */
export type RunConfig = Omit<ConfigInput, 'model' | 'environment'> &
  Partial<Pick<ConfigInput, 'model' | 'environment'>>;

/** The result of a run, with its directory. */
export interface RunOutcome extends RunResult {
  readonly directory: string;
}

type CallerContext = Pick<CommandContext, 'cwd' | 'env' | 'note' | 'now' | 'milliseconds'>;

export async function runFromCode(
  configOrFile: RunConfig | string,
  options: RunOptions,
  context: CallerContext,
): Promise<RunOutcome> {
  const parts = userParts(options);
  const config = configOf(configOrFile, parts, context.cwd);
  const { directory: runDir, runsDir = 'buffers' } = options;
  const file = typeof configOrFile === 'string' ? configOrFile : 'run';
  const chosenDir = runDir === undefined ? undefined : resolve(context.cwd, runDir);
  const runExists = chosenDir !== undefined && existsSync(join(chosenDir, runFiles.manifest));
  const signal = options.signal ?? new AbortController().signal;
  const run = runExists
    ? await reopenRun(chosenDir, config, context, { own: parts })
    : await prepareRun(
        await assemble(config, context.env, undefined, { ...parts, ask: signal }),
        () => newRunPath({ runDir, runsDir }, file, context, config.name),
        context,
      );
  // A string means that nothing is left to do.
  const directory = typeof run === 'string' ? chosenDir! : run.directory.path;
  if (typeof run !== 'string') {
    const display = { show: options.onEvent ?? (() => undefined), close: () => undefined };
    await executeRun(run, display, { ...context, stop: { finish: signal, abort: signal } });
  }
  return { directory, ...resultOf(summaryOf(directory), context.cwd) };
}

function userParts({ environment, model }: RunOptions): UserParts {
  const name = environment?.name ?? environment?.id;
  if (environment !== undefined && (typeof name !== 'string' || name === ''))
    throw new UserError({
      field: 'environment.name',
      message: 'an environment must have a name',
      value: name,
    });
  return {
    ...(model && { model: wrapUserModel(model, 'model') }),
    ...(environment && { environment: wrapUserEnvironment(environment, `${customPrefix}${name}`) }),
  };
}

/** Loads the config, adds the names of the objects passed in, and makes paths absolute. */
function configOf(configOrFile: RunConfig | string, { environment, model }: UserParts, cwd: string): Config {
  const names = {
    ...(environment && { environment: environment.id }),
    ...(model && { model: { provider: 'custom', id: model.id } }),
  };
  if (typeof configOrFile !== 'string') {
    return parseConfig({ ...configOrFile, ...names }, cwd);
  }
  const overrides = Object.entries(names).map(([key, value]) => `${key}=${JSON.stringify(value)}`);
  return loadConfig({ file: configOrFile, overrides, cwd }).config;
}
