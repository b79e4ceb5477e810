/** Discretises the observations and actions of continuous environments for tables, as LLM-RL-finetune does. */
import { UserError } from '../../base/errors.js';
import { given, type TheirConfig } from './draft.js';

interface Dimension {
  readonly key?: string;
  readonly low: number;
  readonly high: number;
}

/** Bounds of the observations: from Gymnasium, from the values at which episodes end, or typical values. */
const observations: Readonly<Record<string, readonly Dimension[]>> = {
  CartPole: [
    { key: 'num_position_bins', low: -2.4, high: 2.4 },
    { key: 'num_velocity_bins', low: -3, high: 3 },
    { key: 'num_theta_bins', low: -0.21, high: 0.21 },
    { key: 'num_angular_velocity_bins', low: -3, high: 3 },
  ],
  MountainCar: [
    { key: 'num_position_bins', low: -1.2, high: 0.6 },
    { key: 'num_velocity_bins', low: -0.07, high: 0.07 },
  ],
  MountainCarContinuous: [
    { key: 'num_position_bins', low: -1.2, high: 0.6 },
    { key: 'num_velocity_bins', low: -0.07, high: 0.07 },
  ],
  Pendulum: [
    { key: 'num_costheta_bins', low: -1, high: 1 },
    { key: 'num_sintheta_bins', low: -1, high: 1 },
    { key: 'num_angular_velocity_bins', low: -8, high: 8 },
  ],
  InvertedPendulum: [
    { key: 'num_position_bins', low: -1, high: 1 },
    { key: 'num_theta_bins', low: -0.2, high: 0.2 },
    { key: 'num_velocity_bins', low: -3, high: 3 },
    { key: 'num_angular_velocity_bins', low: -3, high: 3 },
  ],
  Pong: [
    { low: 40, high: 560 },
    { low: 0, high: 800 },
    { low: 0, high: 600 },
    { low: -5, high: 5 },
    { low: -5, high: 5 },
  ],
};

/** Largest absolute value of the action, in environments with a single continuous action. */
const actionBounds: Readonly<Record<string, number>> = {
  MountainCarContinuous: 1,
  Pendulum: 2,
  InvertedPendulum: 3,
};

export const binKeys: readonly string[] = [
  ...new Set(Object.values(observations).flatMap((all) => all.flatMap(({ key }) => key ?? []))),
];

const nameOf = (id: string) => id.replace(/-v\d+$/, '');

export const dimensionsOf = (id: string): readonly Dimension[] | undefined => observations[nameOf(id)];

export const hasContinuousActions = (id: string): boolean => actionBounds[nameOf(id)] !== undefined;

/**
 * The bins of each dimension: the number set by its key, or the length of its list in `states`. A dimension that
 * the config doesn't discretise gets a single bin, so the table doesn't depend on it.
 */
export function binsOf(theirs: TheirConfig, dimensions: readonly Dimension[]) {
  const states = given(theirs, 'states');
  const lists: readonly unknown[] = Array.isArray(states) && states.every(Array.isArray) ? states : [];
  // `states` contains a list for every dimension, or only for dimensions whose key is set.
  const divided = dimensions.filter(({ key }) => key !== undefined && given(theirs, key) !== undefined);
  const listed = lists.length === dimensions.length ? dimensions : divided;
  const bins = dimensions.map((dimension) => {
    const { key, low, high } = dimension;
    const counted = key === undefined ? undefined : given(theirs, key);
    const list = lists[listed.indexOf(dimension)];
    const count = counted ?? (Array.isArray(list) ? list.length : 1);
    if (typeof count === 'number' && Number.isInteger(count) && count >= 1) return { low, high, bins: count };
    throw new UserError({
      field: key ?? 'states',
      message: "isn't a valid number of bins",
      value: count,
      hint: 'set it to a whole number of at least 1',
    });
  });
  if (bins.every(({ bins: count }) => count === 1))
    throw new UserError({
      field: 'states',
      message: 'a Q-table needs discrete states, but neither states nor num_…_bins divides an observation',
      value: states,
      hint: 'list values for all dimensions in states, or remove states and continuous for a linear policy',
    });
  return bins;
}

/**
 * The action vectors of a table: `num_action_bins` values across the range, or the listed ones.
 * @throws UserError unless there are at least two values, all of them numbers within the range
 */
export function actionVectors(theirs: TheirConfig, id: string): readonly (readonly [number])[] {
  const bound = actionBounds[nameOf(id)]!;
  const count = given(theirs, 'num_action_bins');
  if (typeof count === 'number' && Number.isInteger(count) && count >= 2) {
    return Array.from({ length: count }, (_, i) => [
      Number((-bound + (2 * bound * i) / (count - 1)).toFixed(4)),
    ]);
  }
  const written = given(theirs, 'actions');
  const list = Array.isArray(written) ? (written as unknown[]).flat() : [];
  const isVector = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= bound;
  if (list.length >= 2 && list.every(isVector)) return list.map((value) => [value]);
  throw new UserError({
    field: count === undefined ? 'actions' : 'num_action_bins',
    message: `a Q-table needs discrete actions, but the actions of ${id} are continuous, from ${-bound} to ${bound}`,
    value: count ?? written,
    hint: 'set num_action_bins to at least 2, or list values within this range in actions',
  });
}
