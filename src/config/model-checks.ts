/** Checks of the `model` section beyond its schema: secrets, prices, limits, members of a portfolio. */
import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../base/errors.js';
import { hasSecretQuery, isVariableName, noVariable, secretQuery } from '../models/hosted/openai-access.js';
import { remedyOfReserved } from '../models/hosted/request-fields.js';
import { adaptProblems } from './adapt-checks.js';
import type { Config } from './config.js';
import {
  languageMemberOf,
  languageModelOf,
  membersOf,
  type PortfolioConfig,
  type SingleModelConfig,
} from './model.js';

/** The result of a check; false or undefined if there is no problem. */
export type Found = Problem | false | undefined;

/** Problems with the language model, or with a model on its own. For a portfolio they name the member. */
export function modelProblems(config: Config): readonly Found[] {
  const members = membersOf(config.model);
  const { config: model, field } = languageMemberOf(config.model) ?? members[0]!;
  const single = { ...config, model };
  const found = [
    ...secretProblems(single),
    contextProblem(model),
    ...extraProblems(model),
    ...costProblems(single),
    ...stoppingProblems(single),
    ...adaptProblems(single),
  ];
  return [
    ...(config.model.provider === 'portfolio' ? portfolioProblems(config.model) : []),
    ...found.map((problem) => problem && placedIn(problem, field)),
  ];
}

/** Moves a problem with a model to the model's field in the config. */
export function placedIn<P extends Problem>(problem: P, field: string): P {
  const placed = (text: string) => text.replaceAll(/(?<![\w.])model\.(?=\w)/g, `${field}.`);
  const { remedy } = problem;
  return {
    ...problem,
    ...(problem.field !== undefined && { field: placed(problem.field) }),
    message: placed(problem.message),
    ...(remedy !== undefined && { remedy: placed(remedy) }),
  };
}

/** The limits that apply to a model other than the run's own: only the cost, and only if the model has a price. */
export const costOnly = (
  { cost, total }: Config['limits'],
  { provider }: Pick<SingleModelConfig, 'provider'>,
): Config['limits'] =>
  unpricedModels[provider] !== undefined
    ? {}
    : {
        ...(cost !== undefined && { cost }),
        ...(total?.cost !== undefined && { total: { cost: total.cost } }),
      };

function portfolioProblems(model: PortfolioConfig): readonly Found[] {
  const { members, switch: rule } = model;
  const readers = membersOf(model).filter((member) => languageModelOf(member.config) !== undefined);
  const own = { patience: 'plateau', discount: 'bandit' } as const;
  return [
    readers.length > 1 && {
      field: `${readers[1]!.field}.provider`,
      value: readers[1]!.config.provider,
      message: `is a second language model: costs, limits and retries are those of one, which is ${readers[0]!.config.provider} here`,
      remedy: 'keep one language model, beside as many baselines as you like',
    },
    ...members.map(
      ({ weight }, i) =>
        weight !== undefined &&
        rule !== 'shares' && {
          field: `model.members.${i}.weight`,
          value: weight,
          message: `has no effect with switch: ${rule}`,
          remedy: 'remove it, or set model.switch to shares',
        },
    ),
    ...(['patience', 'discount'] as const).map(
      (key) =>
        model[key] !== undefined &&
        rule !== own[key] && {
          field: `model.${key}`,
          value: model[key],
          message: `has no effect with switch: ${rule}`,
          remedy: `remove it, or set model.switch to ${own[key]}`,
        },
    ),
  ];
}

/** A config whose model isn't a portfolio. */
type SingleConfig = Config & { readonly model: SingleModelConfig };

/** The config is written to the run directory and the report, so it must not contain secrets. */
function secretProblems({ environment, model }: SingleConfig): readonly Found[] {
  const ofServer = loginProblem(
    'environment',
    /^openenv:(.*)$/s.exec(environment.id)?.[1],
    'reach the server without one, e.g. through an SSH tunnel to a port of this machine',
  );
  switch (model.provider) {
    case 'ollama':
      return [ofServer, addressProblem('host', model.host, 'OLLAMA_HOST')];
    case 'openai':
      return [
        ofServer,
        addressProblem('baseUrl', model.baseUrl, 'OPENAI_BASE_URL'),
        !isVariableName(model.apiKeyEnv) && { field: 'model.apiKeyEnv', ...noVariable },
      ];
    default:
      return [ofServer];
  }
}

function addressProblem(key: 'baseUrl' | 'host', address: string | undefined, variable: string): Found {
  const field = `model.${key}`;
  const remedy = `put the address into the environment variable ${variable}, and remove ${field}`;
  const login = loginProblem(field, address, remedy);
  if (login || address === undefined) return login;
  const url = new URL(address);
  if (key === 'host' && url.search !== '') {
    return { field, message: 'has a query (?…), which is not sent', remedy: 'give the address without it' };
  }
  return key === 'baseUrl' && hasSecretQuery(url) && { field, ...secretQuery };
}

function loginProblem(field: string, address: string | undefined, remedy: string): Found {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { username, password } = new URL(address);
  const message = 'holds a login, but a config is copied to where others may read it';
  return (username !== '' || password !== '') && { field, message, remedy };
}

/** Rejects request fields that this program sets itself, because a second value would contradict the log. */
function extraProblems(model: SingleModelConfig): readonly Found[] {
  if (model.provider !== 'openai') return [];
  return Object.entries(model.extra ?? {}).map(([key, value]) => {
    const field = `model.extra.${key}`;
    const remedy = remedyOfReserved(key);
    if (remedy !== undefined)
      return { field, value, message: 'is a field of the request that policyloop sets itself', remedy };
    const isJson = isDeepStrictEqual(JSON.parse(JSON.stringify(value) ?? 'null'), value);
    return !isJson && { field, value, message: 'can’t be sent: a request holds JSON' };
  });
}

function contextProblem(model: SingleModelConfig): Found {
  if (model.provider !== 'ollama' || model.contextTokens === undefined) return undefined;
  return (
    model.maxTokens >= model.contextTokens && {
      field: 'model.contextTokens',
      message: `leaves no room for a prompt: the context must hold it and a reply of up to ${model.maxTokens} tokens (model.maxTokens)`,
      value: model.contextTokens,
      remedy:
        'raise model.contextTokens, lower model.maxTokens, or leave contextTokens out so that it follows the prompt',
    }
  );
}

/** Models without a known price or deadline. */
const unpricedModels: { readonly [Provider in SingleModelConfig['provider']]?: string } = {
  local: 'a local model',
  module: 'a model of a module',
  custom: 'a model of the calling program',
};

/** Whether a model other than the run's own has a price, which then counts towards a cost limit. */
const isPricedBeside = ({ critic, feedback }: Pick<Config, 'critic' | 'feedback'>): boolean =>
  [critic?.model, feedback?.model].some(
    (model) => model !== undefined && 'price' in model && model.price !== undefined,
  );

function costProblems({ critic, feedback, model, limits }: SingleConfig): readonly Found[] {
  const caps = { limits, 'limits.perCall': limits.perCall, 'limits.total': limits.total };
  const unpriced = unpricedModels[model.provider];
  const lacksPrice =
    (model.provider === 'openai' || model.provider === 'ollama') && model.price === undefined;
  return Object.entries(caps).flatMap(([section, cap]): readonly Found[] => {
    if (cap?.cost === undefined) return [];
    const at = { field: `${section}.cost`, value: cap.cost };
    return [
      unpriced !== undefined &&
        !isPricedBeside({ critic, feedback }) && {
          ...at,
          message: `has no effect: ${unpriced} has no price`,
          remedy: 'use limits.tokens or limits.minutes',
        },
      lacksPrice && {
        ...at,
        message: 'needs model.price, or no cost is known',
        remedy: 'add model.price: {input: …, output: …} (per million tokens), or use limits.tokens',
      },
    ];
  });
}

function stoppingProblems({ model, limits, target, iterations }: SingleConfig): readonly Found[] {
  const seconds = limits.perCall?.seconds;
  const unpriced = unpricedModels[model.provider];
  return [
    seconds !== undefined &&
      unpriced !== undefined && {
        field: 'limits.perCall.seconds',
        message: `has no effect: ${unpriced} is not waited for`,
        value: seconds,
        remedy: `${model.provider === 'local' ? 'lower model.maxTokens, or ' : ''}use limits.minutes`,
      },
    target !== undefined &&
      target.hold > iterations && {
        field: 'target.hold',
        message: `can never be reached: it asks for ${target.hold} iterations in a row, but iterations is ${iterations}`,
        value: target.hold,
        remedy: 'lower target.hold or raise iterations',
      },
  ];
}
