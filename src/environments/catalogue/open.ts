import { nearest, UserError } from '../../errors.js';
import { isModulePath } from '../../modules/user-module.js';
import type { Environment } from '../environment.js';
import type { RemoteEnvironment } from '../remote/remote-environment.js';
import { type CatalogueEntry, catalogue, type EnvironmentInfo, findEntry } from './catalogue.js';

/** The ids of all built-in environments, without their aliases. */
export function environmentIds(): readonly string[] {
  return catalogue.map(({ id }) => id);
}

/** @throws UserError for an unknown id */
export function environmentInfo(id: string): EnvironmentInfo {
  const { make: _make, ...info } = find(id);
  return info;
}

/**
 * Makes an environment that behaves as that of the same id in Gymnasium 1.3.0, or in the ProPS paper's code; or that of
 * a user's module, where the id is the path of one.
 * @param options constructor options, and `max_episode_steps`; snake_case or camelCase
 * @throws UserError for an unknown id, an unknown option or an unusable value
 */
export async function makeEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Environment> {
  if (isModulePath(id)) return (await import('./module-environment.js')).moduleEnvironment(id, options);
  return find(id).make(options);
}

/** Which environment, and how it is reached where another program plays it. */
export interface EnvironmentSource {
  readonly id: string;
  readonly options?: Readonly<Record<string, unknown>> | undefined;
  /** Interpreter of `gymnasium:` environments; POLICYLOOP_PYTHON, then python3, where it is left out. */
  readonly python?: string | undefined;
  /** Longest wait for another program, for a reset or a step. Default: 60. */
  readonly timeoutSeconds?: number | undefined;
  /** Episodes that another program plays at once. Default: 32 in a Python process, 1 at an OpenEnv server. */
  readonly parallel?: number | undefined;
}

/** What marks the environment of a run that was handed in as an object: `custom:<its id>`. */
export const customPrefix = 'custom:';

/** Whether the environment of that id can be made from its id and options alone, here and now. */
export const isBuiltInId = (id: string): boolean =>
  !isRemoteId(id) && !isModulePath(id) && !id.startsWith(customPrefix);

/** Whether another program plays the environment of that id. */
export const isRemoteId = (id: string): boolean => remotePrefix.test(id);

const remotePrefix = /^(gymnasium|openenv):/;

/**
 * Makes a built-in environment, or opens one that another program plays: `gymnasium:<id>` is any of Python's Gymnasium,
 * `openenv:ws://<host>:<port>` that of an OpenEnv server.
 * @param env environment variables
 * @param processes that play side by side, where another program plays
 * @throws UserError as `makeEnvironment`, and when that program or a package of it is missing
 */
export async function openEnvironment(
  source: EnvironmentSource,
  env: Readonly<Record<string, string | undefined>>,
  processes = 1,
): Promise<Environment | RemoteEnvironment> {
  const { id, options = {}, timeoutSeconds = 60, parallel } = source;
  const timeoutMs = 1000 * timeoutSeconds;
  if (!isRemoteId(id)) return makeEnvironment(id, options);
  if (id.startsWith('openenv:')) {
    const { openOpenEnv } = await import('../remote/openenv.js');
    return openOpenEnv(id, options, { timeoutMs, parallel: parallel ?? 1 });
  }
  const { openPythonEnvironment } = await import('../remote/python-bridge.js');
  const python = source.python ?? env.POLICYLOOP_PYTHON ?? 'python3';
  return openPythonEnvironment(id, options, { python, timeoutMs, parallel: parallel ?? 32, processes });
}

function find(id: string): CatalogueEntry {
  const found = typeof id === 'string' ? findEntry(id) : undefined;
  if (found === undefined) throw unknownEnvironment(id);
  return found;
}

function unknownEnvironment(id: string): UserError {
  const ids = environmentIds();
  const problem = { field: 'environment', value: id };
  if (typeof id !== 'string') {
    return new UserError({ ...problem, message: 'the id must be a string', alternatives: ids });
  }
  if (isRemoteId(id)) {
    return new UserError({
      ...problem,
      message: 'another program plays it, so that it takes no single synchronous steps',
      remedy: 'use openEnvironment, and evaluate',
    });
  }
  if (id.startsWith(customPrefix)) {
    return new UserError({
      ...problem,
      message: 'this environment was an object of the program that started the run, and is not at hand here',
      remedy:
        'call run(config, {environment, directory}) with it in that program; an environment in a module (environment: ./my-env.js) is at hand everywhere',
    });
  }
  if (isModulePath(`./${id}`)) {
    return new UserError({
      ...problem,
      message: 'there is no such environment',
      remedy: `a module is written with a slash: ./${id}`,
    });
  }
  const prefix = /^[^:/]*[:/]/.exec(id)?.[0];
  if (prefix !== undefined) {
    const bare = id.slice(prefix.length);
    const builtIn = ids.find((known) => known.toLowerCase() === bare.toLowerCase());
    return new UserError({
      ...problem,
      message: `environments of ${prefix} are not supported`,
      alternatives: ids,
      remedy:
        builtIn === undefined
          ? `gymnasium:${id} is played by Python's Gymnasium, where that has it`
          : `${builtIn} is built in: leave out the prefix`,
    });
  }
  const versions = ids.filter((known) => nameOf(known).toLowerCase() === nameOf(id).toLowerCase());
  const exact = versions.find((known) => known.toLowerCase() === id.toLowerCase());
  if (exact !== undefined) {
    return new UserError({
      ...problem,
      message: 'the case of the letters matters',
      alternatives: [exact],
      remedy: `did you mean ${exact}?`,
    });
  }
  if (versions.length > 0) {
    const version = id.slice(nameOf(id).length + 1);
    return new UserError({
      ...problem,
      message:
        version === '' ? 'the version is missing' : `${nameOf(versions[0]!)} has no version ${version}`,
      alternatives: versions,
      remedy: `use ${versions.at(-1)}`,
    });
  }
  const meant = nearest(id, ids);
  return new UserError({
    ...problem,
    message: 'there is no such environment',
    alternatives: ids,
    ...(meant === undefined ? {} : { remedy: `did you mean ${meant}?` }),
  });
}

/** The id without its version: `CartPole` for `CartPole-v1`. */
function nameOf(id: string): string {
  return id.replace(/-v\d+$/, '');
}
