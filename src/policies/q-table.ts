import type { QTableConfig } from '../config.js';
import type { Action, EnvironmentSpec } from '../environments/environment.js';
import { UserError } from '../errors.js';
import { createDiscretizer } from './discretizer.js';
import { toGrid } from './linear.js';
import type { ParameterSpec, PolicyFamily } from './policy.js';

/** Beyond this no prompt could hold even one table. */
const maxParameters = 20_000;

/**
 * Tables over discrete (or discretised) states. Form `actions`: parameter s is the action taken in state s. Form
 * `values`: parameter `s * actions + a` is the value of action a in state s, and the action with the highest value
 * is taken (the first on ties).
 */
export function qTablePolicies(config: QTableConfig, environment: EnvironmentSpec): PolicyFamily {
  const discretizer = createDiscretizer(config, environment);
  const actions = actionsOf(config, environment);
  const states = discretizer.states;
  const count = config.form === 'actions' ? states : states * actions.length;
  if (count > maxParameters) {
    throw new UserError({
      field: config.discretize === undefined ? 'policy' : 'policy.discretize',
      message: `this table would have ${count} parameters; at most ${maxParameters} are supported`,
      remedy: 'use fewer bins, or policy.kind: linear',
    });
  }
  const description = {
    kind: 'q-table',
    form: config.form,
    states,
    actions: actions.map((action) => JSON.stringify(action)),
    ...(discretizer.bins && { bins: discretizer.bins }),
  } as const;
  if (config.form === 'actions') {
    // The numbers that stand in the table: the action itself where it is a number, else its position in the list.
    const choices = actions.map((action, index) => (typeof action === 'number' ? action : index));
    const first = choices[0]!;
    const parameters: ParameterSpec = {
      count,
      kind: 'integer',
      low: first,
      high: choices.at(-1)!,
      decimals: 0,
      choices,
      names: Array.from({ length: states }, (_, s) => `action in state ${s}`),
    };
    return {
      parameters,
      description,
      build: (vector) => {
        const table = vector.map((value) => actions[value - first]!);
        return (observation) => table[discretizer.index(observation)]!;
      },
      initial: (random) => Array.from({ length: count }, () => random.choice(choices)),
    };
  }
  const { low, high, decimals } = config;
  const parameters: ParameterSpec = {
    count,
    kind: decimals === 0 ? 'integer' : 'float',
    low,
    high,
    decimals,
    names: Array.from(
      { length: count },
      (_, p) => `value of action ${p % actions.length} in state ${Math.floor(p / actions.length)}`,
    ),
  };
  return {
    parameters,
    description,
    build: (vector) => {
      const greedy = Array.from({ length: states }, (_, s) => {
        let best = 0;
        for (let a = 1; a < actions.length; a++) {
          if (vector[s * actions.length + a]! > vector[s * actions.length + best]!) best = a;
        }
        return actions[best]!;
      });
      return (observation) => greedy[discretizer.index(observation)]!;
    },
    initial: (random) => Array.from({ length: count }, () => toGrid(random.uniform(low, high), parameters)),
  };
}

function actionsOf(config: QTableConfig, environment: EnvironmentSpec): readonly Action[] {
  const space = environment.actionSpace;
  switch (space.kind) {
    case 'discrete':
      if (config.actions !== undefined) {
        throw new UserError({
          field: 'policy.actions',
          message: `the actions of ${environment.id} are already discrete (${space.n} of them)`,
          remedy: 'remove policy.actions',
        });
      }
      return Array.from({ length: space.n }, (_, a) => a + (space.start ?? 0));
    case 'box': {
      const dimensions = space.low.length;
      const remedy = `list at least two vectors of ${dimensions} ${dimensions === 1 ? 'number' : 'numbers'}, e.g. policy.actions: ${JSON.stringify([-1, 0, 1].map((v) => Array.from({ length: dimensions }, () => v)))}, or use policy.kind: linear`;
      if (config.actions === undefined || config.actions.length < 2) {
        throw new UserError({
          field: 'policy.actions',
          message: `a Q-table chooses among listed actions, and ${environment.id} has continuous ones`,
          remedy,
        });
      }
      const wrong = config.actions.findIndex((action) => action.length !== dimensions);
      if (wrong >= 0) {
        throw new UserError({
          field: `policy.actions.${wrong}`,
          message: `an action of ${environment.id} has ${dimensions} ${dimensions === 1 ? 'number' : 'numbers'}`,
          value: config.actions[wrong],
          remedy,
        });
      }
      return config.actions;
    }
    case 'tuple':
      throw new UserError({
        field: 'environment',
        message: `no policy can act in ${environment.id}: its action is a tuple`,
      });
  }
}
