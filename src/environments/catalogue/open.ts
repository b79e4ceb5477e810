import { nearest, UserError } from '../../base/errors.js';
import { isModulePath } from '../../base/modules/user-module.js';
import type { Environment } from '../environment.js';
import type { CatalogueEntry, EnvironmentInfo } from '../options.js';
import type { RemoteEnvironment } from '../remote/remote-environment.js';
import { catalogue, findEntry, textCatalogue, textWorldPrefix } from './catalogue.js';
import { environmentName } from './facts.js';

/** Ids of the built-in numeric environments, without aliases. */
export function environmentIds(): readonly string[] {
  return catalogue.map(({ id }) => id);
}

/** Ids of the built-in text environments. */
export function textEnvironmentIds(): readonly string[] {
  return textCatalogue.map(({ id }) => id);
}

/** Options, defaults and step limit of an environment. @throws UserError for an unknown id */
export function environmentInfo(id: string): EnvironmentInfo {
  const { make: _make, ...info } = find(id);
  return info;
}

/**
 * Creates the environment for an id, or for the path of a user's module. Gymnasium's environments behave as in version
 * 1.3.0.
 * @param options constructor options and `max_episode_steps`, in snake_case or camelCase
 * @throws UserError for an unknown id, an unknown option or an invalid value
 */
export async function makeEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Environment> {
  if (isModulePath(id)) return (await import('./module-environment.js')).moduleEnvironment(id, options);
  return find(id).make(options);
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
export const isSelfContained = (id: string): boolean => isBuiltInId(id) && !id.startsWith(textWorldPrefix);

export const isRemoteId = (id: string): boolean => remotePrefix.test(id);

const remotePrefix = /^(gymnasium|openenv|textworld-express):/;

/**
 * Creates an environment like `makeEnvironment`, or opens one in another program: `gymnasium:<id>` opens an
 * environment of Python's Gymnasium, `openenv:ws://<host>:<port>` connects to an OpenEnv server, and
 * `textworld-express:<game>?<parameters>` opens a TextWorldExpress game.
 * @param env environment variables
 * @param processes number of parallel processes, if another program runs the environment
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
  const settings = { python, modules, timeoutMs, parallel: parallel ?? 32, processes };
  if (id.startsWith('textworld-express:')) {
    const { openTextWorldExpress } = await import('../remote/textworld-express.js');
    return openTextWorldExpress(id, options, settings);
  }
  const { openPythonEnvironment } = await import('../remote/python.js');
  return openPythonEnvironment(id, options, settings);
}

function find(id: string): CatalogueEntry {
  const found = typeof id === 'string' ? findEntry(id) : undefined;
  if (found === undefined) throw unknownEnvironment(id);
  return found;
}

function unknownEnvironment(id: string): UserError {
  const ids = [...environmentIds(), ...textEnvironmentIds()];
  const refuse = (message: string, hint?: string, alternatives?: readonly string[]) =>
    new UserError({
      field: 'environment',
      value: id,
      message,
      ...(alternatives && { alternatives }),
      ...(hint !== undefined && { hint }),
    });
  if (typeof id !== 'string') return refuse('the id must be a string', undefined, ids);
  if (isRemoteId(id)) {
    return refuse(
      'runs in another program, so its steps are asynchronous',
      'use openEnvironment and evaluate',
    );
  }
  if (id.startsWith(customPrefix)) {
    return refuse(
      'was an object in the program that started the run and is not available here',
      'call run(config, {environment, directory}) in that program, or move the environment to a module (environment: ./my-env.js)',
    );
  }
  if (isModulePath(`./${id}`)) {
    return refuse('unknown environment', `for a module, write a path with a slash: ./${id}`);
  }
  const prefix = /^[^:/]*[:/]/.exec(id)?.[0];
  if (prefix !== undefined && !textEnvironmentIds().some((known) => known.startsWith(prefix))) {
    const builtIn = ids.find((known) => equalButForCase(known, id.slice(prefix.length)));
    const hint =
      builtIn === undefined
        ? `use gymnasium:${id} if Python's Gymnasium has this environment`
        : `omit the prefix: ${builtIn} is built in`;
    return refuse(`${prefix} environments are not supported`, hint, ids);
  }
  const name = environmentName(id);
  const versions = ids.filter((known) => equalButForCase(environmentName(known), name));
  const exact = versions.find((known) => equalButForCase(known, id));
  if (exact !== undefined) {
    return refuse('environment ids are case-sensitive', `did you mean ${exact}?`, [exact]);
  }
  if (versions.length > 0) {
    const version = id.slice(name.length + 1);
    const message =
      version === ''
        ? 'the version is missing'
        : `${environmentName(versions[0]!)} has no version ${version}`;
    return refuse(message, `use ${versions.at(-1)}`, versions);
  }
  const suggestion = nearest(id, ids);
  return refuse('unknown environment', suggestion && `did you mean ${suggestion}?`, ids);
}

const equalButForCase = (one: string, other: string) => one.toLowerCase() === other.toLowerCase();
