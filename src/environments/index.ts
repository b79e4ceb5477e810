import { nearest, UserError } from '../errors.js';
import { type CatalogueEntry, catalogue, type EnvironmentInfo, findEntry } from './catalogue.js';
import type { Environment } from './environment.js';

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
 * Makes an environment that behaves as that of the same id in Gymnasium 1.3.0, or in the ProPS paper's code.
 * @param options constructor options, and `max_episode_steps`; snake_case or camelCase
 * @throws UserError for an unknown id, an unknown option or an unusable value
 */
export async function makeEnvironment(
  id: string,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Environment> {
  return find(id).make(options);
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
  const prefix = /^[^:/]*[:/]/.exec(id)?.[0];
  if (prefix !== undefined) {
    const bare = id.slice(prefix.length);
    const builtIn = ids.find((known) => known.toLowerCase() === bare.toLowerCase());
    return new UserError({
      ...problem,
      message: `environments of ${prefix} are not supported`,
      alternatives: ids,
      ...(builtIn === undefined ? {} : { remedy: `${builtIn} is built in: leave out the prefix` }),
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
