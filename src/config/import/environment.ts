import { UserError } from '../../base/errors.js';
import { environmentIds, environmentInfo, isRemoteId } from '../../environments/catalogue/open.js';
import { isMapping } from '../../settings/schema.js';
import { carry, change, type Draft, drop, given, type TheirConfig } from './draft.js';

/** An environment of ours, and why it is not named as they name it. */
export interface EnvironmentChoice {
  readonly id: string;
  readonly reason?: string;
}

/**
 * The environment that `gym_env_name` means.
 * @throws UserError where it means none that is known
 */
export function chooseEnvironment(theirs: TheirConfig): EnvironmentChoice {
  const id = given(theirs, 'gym_env_name');
  if (typeof id !== 'string') {
    throw new UserError({
      field: 'gym_env_name',
      message: 'names no environment',
      value: theirs.gym_env_name,
      remedy: 'give the id of an environment, e.g. CartPole-v1',
    });
  }
  if (isRemoteId(id)) return { id };
  const known = infoOf(id);
  if (known !== undefined) {
    return known.id === id
      ? { id }
      : { id: known.id, reason: `${id} is ${known.id} here, which behaves the same` };
  }
  const bare = id.slice(id.indexOf(':') + 1);
  const byCase = allIds().find((ours) => ours.toLowerCase() === bare.toLowerCase());
  if (byCase !== undefined) {
    const ours = environmentInfo(byCase).id;
    const prefixed = bare === id ? '' : `${ours} is built in, without a Python package; `;
    return {
      id: ours,
      reason: bare === byCase ? prefixed.slice(0, -2) : `${prefixed}${bare} is ${ours} in the wrong case`,
    };
  }
  return newerVersion(bare) ?? unknown(id);
}

/** The options of an environment: constructor arguments in both programs. */
export function importOptions(draft: Draft, key: string, value: unknown): void {
  if (!isMapping(value)) {
    throw new UserError({
      field: key,
      message: 'must hold options by name',
      value,
      remedy: `for example ${key}: {is_slippery: true}`,
    });
  }
  const entries = Object.entries(value);
  if (entries.length === 0) carry(draft, key);
  for (const [name, option] of entries) {
    const path = `${key}.${name}`;
    if (name === 'render_mode') drop(draft, path, noWindow);
    else if (!/^[A-Za-z]\w*$/.test(name)) drop(draft, path, 'no option of an environment has such a name');
    else carry(draft, path, { [`environment.options.${name}`]: option === 'None' ? null : option });
  }
}

export const noWindow =
  'no window is opened: policyloop render draws an episode of a run, render.every one every N iterations';

/** The environment's own time limit, in steps; undefined where it has none, or another program has it. */
export function stepLimit(id: string): number | undefined {
  return infoOf(id)?.maxSteps;
}

/** The maps of FrozenLake go by names. */
export function importGridSize(draft: Draft, key: string, value: unknown, id: string): void {
  const size = Array.isArray(value) ? value[0] : value;
  if (!id.startsWith('FrozenLake')) drop(draft, key, `${id} has no grid of another size`);
  else if (size === 4 || size === 8) carry(draft, key, { 'environment.options.map_name': `${size}x${size}` });
  else {
    throw new UserError({
      field: key,
      message: `FrozenLake has maps of 4 × 4 and 8 × 8`,
      value,
      remedy: 'draw another one: environment.options.desc, a list of rows such as SFFH',
    });
  }
}

/** Their code was written for older versions of some environments (`Hopper-v4`), or leaves the version out. */
function newerVersion(id: string): EnvironmentChoice | undefined {
  const { name, version } = parts(id);
  const newest = environmentIds()
    .filter((ours) => parts(ours).name === name)
    .at(-1);
  if (newest === undefined || (parts(newest).version ?? 0) <= (version ?? -1)) return undefined;
  const reason =
    version === undefined
      ? `the id gives no version: ${newest} is the newest here`
      : `${newest} is built in, whose rewards and observations are not in all of ${id}; gymnasium:${id} would be played by Python's Gymnasium`;
  return { id: newest, reason };
}

function parts(id: string): { readonly name: string; readonly version: number | undefined } {
  const version = /-v(\d+)$/.exec(id)?.[1];
  return {
    name: id.replace(/-v\d+$/, '').toLowerCase(),
    version: version === undefined ? undefined : Number(version),
  };
}

const allIds = (): readonly string[] =>
  environmentIds().flatMap((id) => [id, ...environmentInfo(id).aliases]);

function infoOf(id: string) {
  try {
    return environmentInfo(id);
  } catch (error) {
    if (error instanceof UserError) return undefined;
    throw error;
  }
}

/** The error of an unknown id, at the key that gives it. */
function unknown(id: string): never {
  try {
    environmentInfo(id);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(error.problems.map((problem) => ({ ...problem, field: 'gym_env_name' })));
  }
  throw new Error(`${id} is known`);
}

/** The environment itself is imported with its name, whose value a note may correct. */
export function importEnvironment(draft: Draft, key: string, { id, reason }: EnvironmentChoice): void {
  const fields = { 'environment.id': id };
  if (reason === undefined) carry(draft, key, fields);
  else change(draft, key, reason, fields);
}
