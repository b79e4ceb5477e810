/** Checks whether a config's policy and limits suit the task. */

import { valueAt } from '../../base/settings/schema.js';
import { plural } from '../../base/text/numbers.js';
import type { EnvironmentSpec } from '../../environments/environment.js';
import type { BinEdges, PolicyFamily } from '../../policies/policy.js';
import type { PolicyConfig, QTableConfig } from '../../policies/settings.js';
import { limitField } from '../../runs/calls.js';
import { largest, smallest } from '../../statistics/descriptive.js';
import type { Assembly } from '../setup/assemble.js';
import { ledgerOf } from '../setup/open-experiment.js';
import { type Finding, warning } from './findings.js';
import type { PromptSize } from './prompt-size.js';

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

/** Reports a range in a policy of form `actions`: it has no effect, and was probably meant to limit the actions. */
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
    ...(high < last ? [`action ${last} is out of range`] : []),
    ...(low < first ? [`${low} isn't an action`] : []),
    ...(low > first ? [`action ${first} is out of range`] : []),
  ];
  return [
    {
      level: 'error',
      field: 'policy.low',
      value: `${low} to ${high}`,
      message: `the range ${low} to ${high} doesn't match ${held}: ${wrong.join(', ')}`,
      hint: `remove policy.low and policy.high: a table of form actions uses ${first} to ${last} automatically`,
    },
  ];
}

const noEffect = (value: string, held: string) =>
  warning({
    field: 'policy.low',
    value,
    message: `low and high have no effect: a table of form actions contains ${held}`,
    hint: 'remove policy.low and policy.high, or set policy.form: values',
  });

/** Reports actions that exceed the bounds of a continuous space, or cover only one side of it. */
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
        message: `${name} of ${id} ranges from ${low} to ${high}`,
        hint: 'list actions within these bounds',
      });
    }
    const missing = least >= 0 && low < 0 ? 'below' : most <= 0 && high > 0 ? 'above' : undefined;
    if (missing === undefined) return [];
    return warning({
      field: 'policy.actions',
      value: values,
      message: `no listed action has ${name} ${missing} 0, which ${id} allows (${low} to ${high})`,
      hint: `list an action with ${name} ${missing} 0`,
    });
  });
}

/** Reports bins that no observation reaches, which waste parameters. */
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
      message: `${idle} of them can't be reached: observation[${d}] of ${id} ranges from ${low} to ${high}`,
      hint: 'choose bins within that range',
    });
  });
}

export function limitFindings(assembly: Assembly, size: PromptSize): readonly Finding[] {
  return [...evaluationFindings(assembly), ...costFindings(assembly), ...callFindings(assembly, size)];
}

function evaluationFindings({ config, imported }: Assembly): readonly Finding[] {
  const { limits, warmup } = config;
  const first = warmup.policies + imported.length;
  const fewest = first + config.candidates;
  if (limits.evaluations === undefined || limits.evaluations >= fewest) return [];
  return [
    {
      level: 'error',
      field: 'limits.evaluations',
      value: limits.evaluations,
      message: `the warm-up takes ${plural(first, 'evaluation')} and the first iteration ${fewest - first}, so the run would stop before its first iteration`,
      hint: `set limits.evaluations=${fewest} or higher`,
    },
  ];
}

function callFindings(assembly: Assembly, { first }: PromptSize): readonly Finding[] {
  const reservation = ledgerOf(assembly).reserve([{ prompt: first.messages, answers: 1 }]);
  if (reservation.kind === 'granted') return [];
  const { limit } = reservation;
  return [
    {
      level: 'error',
      field: limitField(limit),
      value: valueAt(limit.split('.'), assembly.config.limits),
      message: 'the first call could already exceed this limit, so the run would stop before it',
      hint: `raise ${limitField(limit)}${limit === 'calls' ? '' : ', or lower model.maxTokens'}`,
    },
  ];
}

function costFindings({ config }: Assembly): readonly Finding[] {
  const { critic, limits, model } = config;
  const models = [...(model.provider === 'portfolio' ? model.members : [model]), critic?.model];
  const prices = models.flatMap((one) =>
    one !== undefined && 'price' in one && one.price ? [one.price] : [],
  );
  const isFree = prices.every(({ cachedInput = 0, input, output }) => cachedInput + input + output === 0);
  if (limits.cost === undefined || prices.length === 0 || !isFree) return [];
  return [
    warning({
      field: 'limits.cost',
      value: limits.cost,
      message: 'never stops the run, because all prices are 0',
      hint: 'set the price per million tokens (model.price.input, model.price.output), or use limits.tokens',
    }),
  ];
}
