import { UserError } from '../../base/errors.js';
import { environmentIds, environmentInfo, isRemoteId } from '../../environments/catalogue/open.js';
import { replacementFor } from '../../environments/catalogue/versions.js';
import { isMapping } from '../../settings/schema.js';
import { carry, change, type Draft, drop, given, isOn, type TheirConfig } from './draft.js';

export interface EnvironmentChoice {
  readonly id: string;
  readonly reason?: string;
}

/**
 * The environment that a config refers to.
 * @param fixed the environment that `task` always uses in the original, regardless of `gym_env_name`
 * @throws UserError if nothing is fixed and `gym_env_name` names no known environment
 */
export function chooseEnvironment(theirs: TheirConfig, fixed?: string): EnvironmentChoice {
  const written = given(theirs, 'gym_env_name');
  if (fixed === undefined) return namedEnvironment(written);
  if (typeof written === 'string' && isRemoteId(written)) return { id: written };
  const named = typeof written === 'string' ? resolved(written) : undefined;
  if (named?.id === fixed) return named;
  const task = String(given(theirs, 'task'));
  return {
    id: fixed,
    reason: `in the original, task ${task} always uses ${fixed}, regardless of gym_env_name`,
  };
}

function namedEnvironment(id: unknown): EnvironmentChoice {
  if (typeof id === 'string') return resolved(id) ?? unknown(id);
  throw new UserError({
    field: 'gym_env_name',
    message: "isn't an environment id",
    value: id,
    remedy: 'set it to the id of an environment, e.g. CartPole-v1',
  });
}

/** Our equivalent of their id; undefined if there is none. */
function resolved(id: string): EnvironmentChoice | undefined {
  if (isRemoteId(id)) return { id };
  const replacement = replacementFor(id);
  if (replacement !== undefined) return { id: replacement.id, reason: replacement.note };
  const known = infoOf(id);
  if (known !== undefined) {
    return known.id === id
      ? { id }
      : { id: known.id, reason: `${id} is called ${known.id} here, and behaves the same` };
  }
  const bare = id.slice(id.indexOf(':') + 1);
  const byCase = allIds().find((ours) => ours.toLowerCase() === bare.toLowerCase());
  if (byCase !== undefined) {
    const ours = environmentInfo(byCase).id;
    const prefixed = bare === id ? '' : `${ours} is built in and needs no Python package; `;
    return {
      id: ours,
      reason:
        bare === byCase ? prefixed.slice(0, -2) : `${prefixed}the correct spelling of ${bare} is ${ours}`,
    };
  }
  return newestVersion(bare);
}

export function importOptions(draft: Draft, key: string, value: unknown): void {
  if (!isMapping(value)) {
    throw new UserError({
      field: key,
      message: 'must map option names to values',
      value,
      remedy: `write a mapping, for example ${key}: {is_slippery: true}`,
    });
  }
  const entries = Object.entries(value);
  if (entries.length === 0) carry(draft, key);
  for (const [name, option] of entries) {
    const path = `${key}.${name}`;
    if (name === 'render_mode') drop(draft, path, noWindow);
    else if (!/^[A-Za-z]\w*$/.test(name)) drop(draft, path, "isn't a valid option name");
    else carry(draft, path, { [`environment.options.${name}`]: option === 'None' ? null : option });
  }
}

export const noWindow =
  'policyloop opens no window; use policyloop evaluate --picture to draw an episode of a run';

/** The environment's own time limit in steps; undefined if it has none or isn't built in. */
export function stepLimit(id: string): number | undefined {
  return infoOf(id)?.maxSteps;
}

/** True for environments with a small, finite set of states, which need a table. */
export const observesStates = (id: string): boolean =>
  /^(FrozenLake|CliffWalking|Taxi|Blackjack|Nim|maze)/.test(id);

/** Imports `is_slippery` when it is set outside `env_kwargs`. */
export function importSlippery(draft: Draft, key: string, value: unknown, id: string): void {
  if (/^(FrozenLake|CliffWalking)/.test(id)) {
    carry(draft, key, { 'environment.options.is_slippery': isOn(value) });
  } else drop(draft, key, `${id} has no such option`);
}

export function importGridSize(draft: Draft, key: string, value: unknown, id: string): void {
  const size = Array.isArray(value) ? value[0] : value;
  if (!id.startsWith('FrozenLake')) drop(draft, key, `${id} has no option for the grid size`);
  else if (size === 4 || size === 8) carry(draft, key, { 'environment.options.map_name': `${size}x${size}` });
  else {
    throw new UserError({
      field: key,
      message: 'must be 4 or 8, the sizes of the FrozenLake maps',
      value,
      remedy: `for another size, remove it with ${key}=, and set environment.options.desc to a list of rows such as SFFH`,
    });
  }
}

/** As in Gymnasium, an id without a version means the newest one. */
function newestVersion(id: string): EnvironmentChoice | undefined {
  const { name, version } = parts(id);
  const newest = environmentIds()
    .filter((ours) => parts(ours).name === name)
    .at(-1);
  if (newest === undefined || version !== undefined) return undefined;
  return { id: newest, reason: `the id has no version; ${newest} is the newest here` };
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

/** Throws the error for an unknown id, with the key `gym_env_name` as its field. */
function unknown(id: string): never {
  const known = notBuiltIn.find(({ ids }) => ids.test(id));
  if (known !== undefined) {
    const { message, remedy } = known;
    throw new UserError({ field: 'gym_env_name', message, value: id, remedy: remedy(id) });
  }
  try {
    environmentInfo(id);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(error.problems.map((problem) => ({ ...problem, field: 'gym_env_name' })));
  }
  throw new Error(`${id} is a known environment`);
}

/** Their environments that aren't built in, and how to use them. */
const notBuiltIn = [
  {
    ids: /^(LunarLander|BipedalWalker|CarRacing|Ant|Humanoid|HumanoidStandup|Pusher)(Continuous|Hardcore)?-v\d+$/,
    message: 'is not built in',
    remedy: (id: string) => `run it in Python's Gymnasium with gym_env_name=gymnasium:${id}`,
  },
  {
    ids: /^(Panda|Fetch)/,
    message: "is not built in, and its observations are dictionaries, which policies can't read",
    remedy: () => 'wrap it in your own module, with vectors as observations: environment: ./my-env.js',
  },
] as const;

export function importEnvironment(draft: Draft, key: string, { id, reason }: EnvironmentChoice): void {
  const fields = { 'environment.id': id };
  if (reason === undefined) carry(draft, key, fields);
  else change(draft, key, reason, fields);
}
