/** Discretises the observations and actions of continuous environments for tables, as LLM-RL-finetune does. */
import { UserError } from '../../base/errors.js';
import { type ForeignConfig, keyValue } from './draft.js';

/** A key that sets the number of bins, if there is one, and the bounds. */
type BinDimension = readonly [key: string | undefined, low: number, high: number];

const mountainCar: readonly BinDimension[] = [
  ['num_position_bins', -1.2, 0.6],
  ['num_velocity_bins', -0.07, 0.07],
];

/** Bounds of the observations: from Gymnasium, from the values at which episodes end, or typical values. */
const observationBins: Readonly<Record<string, readonly BinDimension[]>> = {
  CartPole: [
    ['num_position_bins', -2.4, 2.4],
    ['num_velocity_bins', -3, 3],
    ['num_theta_bins', -0.21, 0.21],
    ['num_angular_velocity_bins', -3, 3],
  ],
  MountainCar: mountainCar,
  MountainCarContinuous: mountainCar,
  Pendulum: [
    ['num_costheta_bins', -1, 1],
    ['num_sintheta_bins', -1, 1],
    ['num_angular_velocity_bins', -8, 8],
  ],
  InvertedPendulum: [
    ['num_position_bins', -1, 1],
    ['num_theta_bins', -0.2, 0.2],
    ['num_velocity_bins', -3, 3],
    ['num_angular_velocity_bins', -3, 3],
  ],
  Pong: [
    [undefined, 40, 560],
    [undefined, 0, 800],
    [undefined, 0, 600],
    [undefined, -5, 5],
    [undefined, -5, 5],
  ],
};

/** Largest absolute value of the action, in environments with a single continuous action. */
const actionBounds: Readonly<Record<string, number>> = {
  MountainCarContinuous: 1,
  Pendulum: 2,
  InvertedPendulum: 3,
};

export const binKeys: readonly string[] = [
  ...new Set(Object.values(observationBins).flatMap((all) => all.flatMap(([key]) => key ?? []))),
];

const nameOf = (id: string) => id.replace(/-v\d+$/, '');

/**
 * The bins of each dimension of an environment's observations, and the config keys that determine their numbers:
 * `num_…_bins`, or `states`, which lists the bins. A dimension that the config doesn't discretise gets a single bin, so
 * the table ignores it. Undefined if `observationBins` lacks the environment.
 * @throws UserError if all dimensions have a single bin
 */
export function binsOf(foreign: ForeignConfig, id: string) {
  const dimensions = observationBins[nameOf(id)];
  if (dimensions === undefined) return undefined;
  const states = keyValue(foreign, 'states');
  const lists: readonly unknown[] = Array.isArray(states) && states.every(Array.isArray) ? states : [];
  // `states` contains a list for every dimension, or only for dimensions whose key is set.
  const dividedDimensions = dimensions.filter(([key]) => (key && keyValue(foreign, key)) !== undefined);
  const listedDimensions = lists.length === dimensions.length ? dimensions : dividedDimensions;
  const bins = dimensions.map((dimension) => {
    const [key, low, high] = dimension;
    const list = lists[listedDimensions.indexOf(dimension)];
    const count = (key && keyValue(foreign, key)) ?? (Array.isArray(list) ? list.length : 1);
    return { low, high, bins: count };
  });
  if (bins.every(({ bins: count }) => count === 1))
    throw new UserError({
      field: 'states',
      message: 'a Q-table needs discrete states, but neither states nor num_…_bins defines any bins',
      value: states,
      hint: 'list the bins of every dimension in `states`, or, for a linear policy, remove `states` and `continuous`',
    });
  const keys = dividedDimensions.flatMap(([key]) => key ?? []);
  return { bins, keys: keys.length > 0 ? keys : ['states'] };
}

/**
 * The action vectors of a table over a continuous action: `num_action_bins` values across the range, or the listed
 * ones. Undefined if `actionBounds` lacks the environment, e.g. because its actions are discrete.
 * @throws UserError unless there are at least two values, all of them numbers within the range
 */
export function actionsOf(foreign: ForeignConfig, id: string) {
  const bound = actionBounds[nameOf(id)];
  if (bound === undefined) return undefined;
  const count = keyValue(foreign, 'num_action_bins');
  const key = count === undefined ? 'actions' : 'num_action_bins';
  const actionsValue = keyValue(foreign, 'actions');
  const list: readonly unknown[] =
    typeof count === 'number' && Number.isInteger(count) && count > 1
      ? Array.from({ length: count }, (_, i) => Number((-bound + (2 * bound * i) / (count - 1)).toFixed(4)))
      : Array.isArray(actionsValue)
        ? actionsValue.flat()
        : [];
  const isInRange = (value: unknown) => typeof value === 'number' && Math.abs(value) <= bound;
  if (list.length >= 2 && list.every(isInRange)) return { key, actions: list.map((value) => [value]) };
  throw new UserError({
    field: key,
    message: `a Q-table needs discrete actions, but the actions of ${id} are continuous, from ${-bound} to ${bound}`,
    value: count ?? actionsValue,
    hint: 'set num_action_bins to at least 2, or list values within this range in actions',
  });
}
