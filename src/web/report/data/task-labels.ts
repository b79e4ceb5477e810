import { safeLine } from '../../../base/terminal-text.js';
import { componentNames } from '../../../environments/catalogue/observation-names.js';
import type { EnvironmentTexts } from '../../../environments/environment.js';
import type { EnvironmentConfig } from '../../../environments/settings.js';
import { frozenLakeMaps } from '../../../environments/toy-text/grid-walks.js';
import type { PolicyDescription } from '../../../policies/policy.js';

/** Readable names for a task's observations and actions. */
export interface TaskLabels {
  readonly observations: readonly string[];
  readonly actions: readonly string[];
}

/** Names of actions by the first part of an environment's id. */
const actionNames: Readonly<Record<string, readonly string[]>> = {
  CartPole: ['left', 'right'],
  MountainCar: ['left', 'none', 'right'],
  MountainCarContinuous: ['force'],
  Pendulum: ['torque'],
  Acrobot: ['torque −1', 'torque 0', 'torque +1'],
  FrozenLake: ['left', 'down', 'right', 'up'],
  CliffWalking: ['up', 'right', 'down', 'left'],
  Taxi: ['south', 'north', 'east', 'west', 'pick up', 'drop off'],
  Nim: ['take 1', 'take 2', 'take 3'],
  Pong: ['up', 'down', 'stay'],
  NavigationTrack: ['forward', 'right', 'left'],
  maze: ['north', 'south', 'east', 'west'],
  Blackjack: ['stick', 'hit'],
};

/**
 * Returns labels for a task's policy; plain indices if the task or a dimension is unknown.
 * @param texts names that the environment provides
 */
export function taskLabels(
  environmentId: string,
  policy: PolicyDescription,
  own: Pick<EnvironmentTexts, 'observationNames' | 'actionNames'> = {},
): TaskLabels {
  if (policy.kind === 'module' || policy.kind === 'program') return { observations: [], actions: [] };
  const count = policy.kind === 'q-table' ? (policy.bins?.length ?? 0) : policy.observations;
  const names = own.observationNames?.map(safeLine) ?? componentNames(environmentId, count);
  // For example, `CartPole-v1` becomes `CartPole`.
  const name = environmentId.split('-', 1)[0]!;
  const known = Object.hasOwn(actionNames, name) ? actionNames[name] : undefined;
  return {
    observations:
      names.length === count ? names : Array.from({ length: count }, (_, i) => `observation[${i}]`),
    actions: actionLabels(policy, own.actionNames?.map(safeLine) ?? known),
  };
}

function actionLabels(
  policy: Exclude<PolicyDescription, { kind: 'module' | 'program' }>,
  names: readonly string[] | undefined,
): readonly string[] {
  if (policy.kind !== 'q-table') {
    if (names?.length === policy.outputs) return names;
    return Array.from({ length: policy.outputs }, (_, a) =>
      policy.discrete ? `action ${a + policy.firstAction}` : `action[${a}]`,
    );
  }
  // Only numbered actions need names.
  const numbered = policy.actions.every((action) => /^\d+$/.test(action));
  return numbered && names?.length === policy.actions.length ? names : policy.actions;
}

const cliff = ['............', '............', '............', 'SCCCCCCCCCCG'];

/**
 * Returns the rows of a grid world with this many states, one character per cell: state = row × columns + column;
 * undefined if the map is unknown.
 */
export function gridMap({ id, options }: EnvironmentConfig, states: number): readonly string[] | undefined {
  const rows = id.startsWith('FrozenLake') ? lakeRows(options) : id.startsWith('CliffWalking') ? cliff : [];
  const width = rows[0]?.length ?? 0;
  const isWhole = width > 0 && width * rows.length === states && rows.every((row) => row.length === width);
  return isWhole ? rows : undefined;
}

function lakeRows({ desc, map_name = '4x4' }: Readonly<Record<string, unknown>>): readonly string[] {
  if (Array.isArray(desc)) return desc.every((row): row is string => typeof row === 'string') ? desc : [];
  return Object.entries(frozenLakeMaps).find(([name]) => name === map_name)?.[1] ?? [];
}
