import { closestMatch, type Problem, UserError } from '../../base/errors.js';
import { isModulePath } from '../../base/modules/user-module.js';
import type { Environment } from '../environment.js';
import type { CatalogueEntry, EnvironmentInfo } from '../options.js';
import type { RemoteEnvironment } from '../remote/remote-environment.js';
import { catalogue, findEntry, textCatalogue, textWorldPrefix } from './catalogue.js';
import { environmentName } from './facts.js';

/** Lists the ids of the built-in numeric environments, without aliases. */
export const environmentIds = (): readonly string[] => catalogue.map(({ id }) => id);

/** Lists the ids of the built-in text environments. */
export const textEnvironmentIds = (): readonly string[] => textCatalogue.map(({ id }) => id);

/** Returns an environment's options, defaults and step limit. @throws UserError for an unknown id */
export function environmentInfo(id: string): EnvironmentInfo {
  const { make: _make, ...info } = requireEntry(id);
  return info;
}

/**
 * Creates the environment for an id, or for the path of a user's module. Gymnasium's environments behave as in version
 * 1.3.0, ProPS' environments as in its code.
 * @param options constructor options and `max_episode_steps`, in snake_case or camelCase
 * @throws UserError for an unknown id, an unknown or invalid option, or a missing or faulty module or game file
 */
export async function makeEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Environment> {
  if (isModulePath(id)) return (await import('./module-environment.js')).loadModuleEnvironment(id, options);
  return requireEntry(id).make(options);
}

/** The environment to open, and how to reach it if another program runs it. */
export interface EnvironmentSource {
  readonly id: string;
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Python interpreter for `gymnasium:` and `textworld-express:` environments. Default: POLICYLOOP_PYTHON,
   * then python3.
   */
  readonly python?: string | undefined;
  /** Folder of Python modules for ids such as `gymnasium:module:Env-v0`, in addition to the working directory. */
  readonly modules?: string | undefined;
  /** Time limit for a reset or step of another program. Default: 60. */
  readonly timeoutSeconds?: number | undefined;
  /**
   * Number of episodes that another program plays concurrently. Default: 32 in a Python process, 1 on an
   * OpenEnv server.
   */
  readonly parallel?: number | undefined;
}

/** Id prefix of an environment that was passed to a run as an object: `custom:<its name or id>`. */
export const customPrefix = 'custom:';

/** True if the environment runs in this process and isn't a user's module or object. */
export const isBuiltInId = (id: string): boolean =>
  !isRemoteId(id) && !isModulePath(id) && !id.startsWith(customPrefix);

/** True if the environment needs no user files and no other program. */
export const isSelfContainedId = (id: string): boolean => isBuiltInId(id) && !id.startsWith(textWorldPrefix);

export const isRemoteId = (id: string): boolean => remoteIdPattern.test(id);

const remoteIdPattern = /^(gymnasium|openenv|textworld-express):/;

/**
 * Creates an environment like `makeEnvironment`, or opens one in another program: `gymnasium:<id>` opens an
 * environment of Python's Gymnasium, `openenv:ws://<host>:<port>` connects to an OpenEnv server, and
 * `textworld-express:<game>?<parameters>` opens a TextWorldExpress game.
 * @param env environment variables
 * @param processes number of parallel processes, if Python runs the environment
 * @throws UserError like `makeEnvironment`, and if the program can't be started or reached
 */
export async function openEnvironment(
  source: EnvironmentSource,
  env: Readonly<Record<string, string | undefined>>,
  processes = 1,
): Promise<Environment | RemoteEnvironment> {
  const { id, options = {}, modules, timeoutSeconds = 60, parallel } = source;
  const timeoutMs = 1000 * timeoutSeconds;
  if (!isRemoteId(id)) return makeEnvironment(id, options);
  if (id.startsWith('openenv:')) {
    const { openOpenEnv } = await import('../remote/openenv.js');
    return openOpenEnv(id, options, { timeoutMs, parallel: parallel ?? 1 });
  }
  const python = source.python ?? env.POLICYLOOP_PYTHON ?? 'python3';
  const settings = { python, modules, timeoutMs, episodesPerProcess: parallel ?? 32, processes };
  if (id.startsWith('textworld-express:')) {
    const { openTextWorldExpress } = await import('../remote/textworld-express.js');
    return openTextWorldExpress(id, options, settings);
  }
  const { openPythonEnvironment } = await import('../remote/python.js');
  return openPythonEnvironment(id, options, settings);
}

function requireEntry(id: string): CatalogueEntry {
  const found = findEntry(id);
  if (found !== undefined) return found;
  const ids = [...environmentIds(), ...textEnvironmentIds()];
  throw new UserError({
    field: 'environment',
    value: id,
    message: 'unknown environment',
    alternatives: ids,
    ...hintFor(id, ids),
  });
}

function hintFor(id: string, ids: readonly string[]): Partial<Problem> {
  if (isRemoteId(id)) return { hint: 'use openEnvironment and evaluate for environments in another program' };
  if (id.startsWith(customPrefix))
    return {
      hint: 'call run(config, {environment, directory}) in the program that started the run with this object, or move the environment to a module (environment: ./my-env.js)',
    };
  if (isModulePath(`./${id}`)) return { hint: `for a module, write a path with a slash: ./${id}` };
  const bareId = id.replace(/^[^:/]*[:/](?=[A-Z])/, '');
  const name = environmentName(bareId).toLowerCase();
  const versions = ids.filter((known) => environmentName(known).toLowerCase() === name);
  const near =
    versions.find((known) => known.toLowerCase() === bareId.toLowerCase()) ??
    versions.at(-1) ??
    closestMatch(bareId, ids);
  const gymnasiumHint = `use gymnasium:${id} if Python's Gymnasium has this environment`;
  const mayBeGymnasium = id.includes('/') || (/-v\d+$/.test(id) && versions.length === 0);
  return { near, ...((near === undefined || mayBeGymnasium) && { hint: gymnasiumHint }) };
}
