import { harmlessLine } from '../../../base/terminal-text.js';
import type { EnvironmentWords } from '../../../environments/environment.js';
import type { EnvironmentConfig } from '../../../environments/settings.js';
import { frozenLakeMaps } from '../../../environments/toy-text/grid-walks.js';
import type { PolicyDescription } from '../../../policies/policy.js';

/** Readable names for a task's observations and actions. */
export interface TaskLabels {
  readonly observations: readonly string[];
  readonly actions: readonly string[];
}

/** Names by the first part of an environment's id, in the order of its observations and actions. */
const known: Readonly<Record<string, Partial<TaskLabels>>> = {
  CartPole: {
    observations: ['cart position', 'cart velocity', 'pole angle', 'pole angular velocity'],
    actions: ['left', 'right'],
  },
  MountainCar: { observations: ['position', 'velocity'], actions: ['left', 'none', 'right'] },
  MountainCarContinuous: { observations: ['position', 'velocity'], actions: ['force'] },
  Pendulum: { observations: ['cos θ', 'sin θ', 'angular velocity'], actions: ['torque'] },
  Acrobot: {
    observations: ['cos θ₁', 'sin θ₁', 'cos θ₂', 'sin θ₂', 'velocity of θ₁', 'velocity of θ₂'],
    actions: ['torque −1', 'torque 0', 'torque +1'],
  },
  FrozenLake: { actions: ['left', 'down', 'right', 'up'] },
  CliffWalking: { actions: ['up', 'right', 'down', 'left'] },
  Taxi: { actions: ['south', 'north', 'east', 'west', 'pick up', 'drop off'] },
  Nim: { actions: ['take 1', 'take 2', 'take 3'] },
  Pong: {
    observations: ['paddle y', 'ball x', 'ball y', 'ball velocity x', 'ball velocity y'],
    actions: ['up', 'down', 'stay'],
  },
  NavigationTrack: {
    observations: ['range −90°', 'range −45°', 'range 0°', 'range 45°', 'range 90°'],
    actions: ['forward', 'right', 'left'],
  },
  maze: { observations: ['x', 'y'], actions: ['north', 'south', 'east', 'west'] },
  Blackjack: { observations: ['player sum', 'dealer card', 'usable ace'], actions: ['stick', 'hit'] },
};

/**
 * Labels for a task's policy; plain indices if the task or a dimension is unknown.
 * @param own names that the environment itself gives
 */
export function taskLabels(
  environmentId: string,
  policy: PolicyDescription,
  own: Pick<EnvironmentWords, 'observationNames' | 'actionNames'> = {},
): TaskLabels {
  // For example, `CartPole-v1` becomes `CartPole`.
  const name = environmentId.replace(/-.*$/, '');
  const task: Partial<TaskLabels> = {
    ...(Object.hasOwn(known, name) && known[name]),
    ...(own.observationNames && { observations: own.observationNames.map(harmlessLine) }),
    ...(own.actionNames && { actions: own.actionNames.map(harmlessLine) }),
  };
  if (policy.kind === 'module' || policy.kind === 'program') return { observations: [], actions: [] };
  const observationCount =
    policy.kind !== 'q-table' ? policy.observations : (policy.bins?.length ?? task.observations?.length ?? 0);
  const observations =
    task.observations?.length === observationCount
      ? task.observations
      : Array.from({ length: observationCount }, (_, i) => `observation[${i}]`);
  return { observations, actions: actionLabels(policy, task.actions) };
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
 * The rows of a grid world with this many states, one character per cell: state = row × columns + column.
 * Undefined if the map is unknown.
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
