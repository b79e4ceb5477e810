import { UserError, unlessRejected } from '../../base/errors.js';
import { isMapping } from '../../base/settings/schema.js';
import { environmentIds, environmentInfo, isRemoteId } from '../../environments/catalogue/open.js';
import { replacementFor } from '../../environments/catalogue/versions.js';
import { carry, drop, type ForeignConfig, type ImportDraft, isTrue, keyValue } from './draft.js';

export interface EnvironmentChoice {
  readonly id: string;
  readonly reason?: string;
}

/**
 * The environment that a config refers to.
 * @param fixedId the environment that `task` always uses in the original, regardless of `gym_env_name`
 * @throws UserError if there is no `fixedId` and `gym_env_name` names no known environment
 */
export function chooseEnvironment(foreign: ForeignConfig, fixedId?: string): EnvironmentChoice {
  const writtenId = keyValue(foreign, 'gym_env_name');
  if (typeof writtenId !== 'string' && fixedId === undefined)
    throw new UserError({
      field: 'gym_env_name',
      message: "isn't an environment id",
      value: writtenId,
      hint: 'set it to the id of an environment, e.g. CartPole-v1',
    });
  const choice = typeof writtenId === 'string' ? resolveId(writtenId) : undefined;
  if (fixedId === undefined) return choice ?? rejectEnvironment(String(writtenId));
  if (choice !== undefined && (choice.id === fixedId || isRemoteId(choice.id))) return choice;
  const task = String(keyValue(foreign, 'task'));
  return { id: fixedId, reason: `task ${task} always uses ${fixedId} in the original` };
}

/** Our equivalent of an id in the imported config; undefined if there is none. */
function resolveId(id: string): EnvironmentChoice | undefined {
  if (isRemoteId(id)) return { id };
  const replacement = replacementFor(id);
  if (replacement !== undefined) return { id: replacement.id, reason: replacement.note };
  const builtInId = unlessRejected(() => environmentInfo(id))?.id;
  if (builtInId !== undefined)
    return builtInId === id ? { id } : { id: builtInId, reason: `${id} is called ${builtInId} here` };
  const bareName = id.slice(id.indexOf(':') + 1).toLowerCase();
  const ids = environmentIds();
  const names = ids.flatMap((name) => [name, ...environmentInfo(name).aliases]);
  const correctName = names.find((name) => name.toLowerCase() === bareName);
  if (correctName !== undefined)
    return { id: environmentInfo(correctName).id, reason: `the correct spelling of ${id} is ${correctName}` };
  // As in Gymnasium, an id without a version means the newest one.
  const newest = ids.findLast((name) => name.replace(/-v\d+$/, '').toLowerCase() === bareName);
  return newest === undefined ? undefined : { id: newest, reason: `${newest} is the newest version here` };
}

/** Throws the error for an id that isn't built in, with the key `gym_env_name` as its field. */
function rejectEnvironment(value: string): never {
  const field = 'gym_env_name';
  if (/^(Panda|Fetch)/.test(value))
    throw new UserError({
      field,
      value,
      message: "is not built in, and its observations are dictionaries, which policies can't read",
      hint: 'wrap it in a module whose observations are vectors, and set environment: ./my-env.js',
    });
  throw new UserError({
    field,
    value,
    message: 'unknown environment',
    hint: `set gym_env_name to gymnasium:${value} if Python's Gymnasium has it, or to one that policyloop environments lists`,
  });
}

/** Imports options of the environment: `env_kwargs`, and `is_slippery` and `grid_size` outside it. */
export function importOptions(draft: ImportDraft, id: string): void {
  const { foreign } = draft;
  const options = keyValue(foreign, 'env_kwargs') ?? {};
  if (!isMapping(options)) carry(draft, 'env_kwargs', { 'environment.options': options });
  for (const [name, option] of Object.entries(isMapping(options) ? options : {})) {
    const path = `env_kwargs.${name}`;
    if (name === 'render_mode' || !/^[A-Za-z]\w*$/.test(name)) drop(draft, path, 'has no equivalent here');
    else carry(draft, path, { [`environment.options.${name}`]: option === 'None' ? null : option });
  }
  const [slippery, grid] = [keyValue(foreign, 'is_slippery'), keyValue(foreign, 'grid_size')];
  if (slippery !== undefined && /^(FrozenLake|CliffWalking)/.test(id))
    carry(draft, 'is_slippery', { 'environment.options.is_slippery': isTrue(slippery) });
  const size = Array.isArray(grid) ? (grid as unknown[])[0] : grid;
  if (size !== undefined && id.startsWith('FrozenLake'))
    carry(draft, 'grid_size', { 'environment.options.map_name': `${String(size)}x${String(size)}` });
}

/** True for environments with a small, finite set of states, which need a table. */
export const hasFiniteStates = (id: string): boolean =>
  /^(FrozenLake|CliffWalking|Taxi|Blackjack|Nim|maze)/.test(id);

export const importEnvironment = (draft: ImportDraft, { id, reason }: EnvironmentChoice): void =>
  carry(draft, 'gym_env_name', { 'environment.id': id }, reason);
