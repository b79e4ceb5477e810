/** Whether a policy that can be built can also do what its environment asks for. */

import type { EnvironmentSpec } from '../environments/environment.js';
import type { BinEdges, PolicyFamily } from '../policies/policy.js';
import type { PolicyConfig, QTableConfig } from '../policies/settings.js';
import { largest, smallest } from '../statistics/descriptive.js';
import { type Finding, warning } from './findings.js';

/** What is odd about the actions and the states that a policy can tell apart. */
export function policyFindings(
  config: PolicyConfig,
  environment: EnvironmentSpec,
  family: PolicyFamily,
): readonly Finding[] {
  const { description } = family;
  if (config.kind !== 'q-table' || description.kind !== 'q-table') return [];
  return [
    ...rangeFindings(config, environment),
    ...actionFindings(config, environment),
    ...binFindings(description.bins ?? [], environment),
  ];
}

const defaultLow = -10;
const defaultHigh = 10;

/** A range that was meant as action numbers: as in other programs, where a table for Nim holds 0 to 2. */
function rangeFindings({ form, low, high }: QTableConfig, environment: EnvironmentSpec): readonly Finding[] {
  if (form !== 'actions' || (low === defaultLow && high === defaultHigh)) return [];
  const { actionSpace, id } = environment;
  if (actionSpace.kind !== 'discrete')
    return [noEffect(`${low} to ${high}`, 'the positions in policy.actions')];
  const first = actionSpace.start ?? 0;
  const last = first + actionSpace.n - 1;
  const held = `the actions of ${id}, ${first} to ${last}`;
  if (low <= first && high >= last) return [noEffect(`${low} to ${high}`, held)];
  const wrong = [
    ...(high < last ? [`can't name action ${last}`] : []),
    ...(low < first ? [`${low} is no action`] : []),
    ...(low > first ? [`can't name action ${first}`] : []),
  ];
  return [
    {
      level: 'error',
      field: 'policy.low',
      value: `${low} to ${high}`,
      message: `a table of ${held} can't be one of values ${low} to ${high}: ${wrong.join(', ')}`,
      remedy: `remove policy.low and policy.high: a table of form actions holds ${first} to ${last} by itself`,
    },
  ];
}

const noEffect = (value: string, held: string) =>
  warning({
    field: 'policy.low',
    value,
    message: `low and high have no effect: a table of form actions holds ${held}`,
    remedy: 'remove policy.low and policy.high, or set policy.form: values',
  });

/** Listed actions beyond the bounds of a continuous space, or all on one side of it. */
function actionFindings({ actions = [] }: QTableConfig, environment: EnvironmentSpec): readonly Finding[] {
  const { actionSpace: space, id } = environment;
  if (space.kind !== 'box') return [];
  return space.low.flatMap((low, d): Finding | readonly Finding[] => {
    const high = space.high[d]!;
    const values = actions.map((action) => action[d]!);
    const [least, most] = [smallest(values), largest(values)];
    const name = `action[${d}]`;
    if (least < low || most > high) {
      return warning({
        field: 'policy.actions',
        value: least < low ? least : most,
        message: `${name} of ${id} goes from ${low} to ${high}`,
        remedy: 'list actions within these bounds',
      });
    }
    const missing = least >= 0 && low < 0 ? 'below' : most <= 0 && high > 0 ? 'above' : undefined;
    if (missing === undefined) return [];
    return warning({
      field: 'policy.actions',
      value: values,
      message: `no listed action has ${name} ${missing} 0, which ${id} allows (${low} to ${high})`,
      remedy: `list an action with ${name} ${missing} 0`,
    });
  });
}

/** Bins that no observation falls into cost parameters and teach nothing. */
function binFindings(
  bins: readonly BinEdges[],
  { observationSpace: space, id }: EnvironmentSpec,
): readonly Finding[] {
  if (space.kind !== 'box') return [];
  return bins.flatMap(({ edges }, d) => {
    const [low, high] = [space.low[d]!, space.high[d]!];
    const idle = edges.filter((edge) => edge <= low || edge > high).length;
    if (idle === 0) return [];
    return warning({
      field: `policy.discretize.${d}`,
      value: `${edges.length + 1} bins`,
      message: `${idle} of them can never be reached: observation[${d}] of ${id} goes from ${low} to ${high}`,
      remedy: 'let the bins divide that range',
    });
  });
}
