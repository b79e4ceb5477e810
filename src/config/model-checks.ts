/** Checks of the `model` section that its schema can't express: secrets, prices, limits, portfolio members. */
import { isDeepStrictEqual } from 'node:util';
import { type Problem, UserError } from '../base/errors.js';
import { hasSecretQuery, isVariableName, noVariable, secretQuery } from '../models/hosted/openai-access.js';
import { listPrice } from '../models/hosted/prices.js';
import type { Config } from './config.js';
import {
  languageMemberOf,
  languageModelOf,
  membersOf,
  type PortfolioConfig,
  type SingleModelConfig,
} from './model.js';

export type Found = Problem | false | undefined;

export const unused = (field: string, why: string, value?: unknown, instead?: string): Problem => ({
  field,
  ...(value !== undefined && { value }),
  message: `has no effect: ${why}`,
  hint: `remove ${field}${instead === undefined ? '' : `, or ${instead}`}`,
});

export const conflict = (
  field: string,
  other: string,
  why?: string,
  value?: unknown,
  instead?: string,
): Problem => ({
  field,
  ...(value !== undefined && { value }),
  message: `can't be combined with ${other}${why === undefined ? '' : `, ${why}`}`,
  hint: instead === undefined ? `remove ${field} or ${other}` : `${instead}, or remove ${field}`,
});

/**
 * Problems with the language model or, if there is none, the first member; in a portfolio, they name the member.
 * @param isFinal true if list prices have been filled in
 */
export function modelProblems(config: Config, isFinal = false): readonly Found[] {
  const members = membersOf(config.model);
  const { config: model, field } = languageMemberOf(config.model) ?? members[0]!;
  const single = { ...config, model };
  const found = [
    ...secretProblems(single),
    contextProblem(model),
    ...extraProblems(model),
    ...costProblems(single, isFinal),
    ...stoppingProblems(single),
  ];
  return [
    ...(config.model.provider === 'portfolio' ? portfolioProblems(config.model) : []),
    ...found.map((problem) => problem && placedIn(problem, field)),
  ];
}

/** Replaces `model.` in a problem with the model's actual place in the config, `field`. */
export function placedIn<P extends Problem>(problem: P, field: string): P {
  const placed = (text: string) => text.replaceAll(/(?<![\w.])model\.(?=\w)/g, `${field}.`);
  const { hint } = problem;
  return {
    ...problem,
    ...(problem.field !== undefined && { field: placed(problem.field) }),
    message: placed(problem.message),
    ...(hint !== undefined && { hint: placed(hint) }),
  };
}

/** Problems with a model other than the run's own, at `field`. Of the limits, checks only those on cost. */
export function modelProblemsBeside(
  config: Config,
  field: string,
  model: SingleModelConfig | undefined,
  isFinal = false,
): readonly Found[] {
  if (model === undefined) return [];
  const { cost } = config.limits;
  const limits = unpricedModels[model.provider] !== undefined ? {} : { cost };
  const alone = { ...config, target: undefined, model, limits };
  return modelProblems(alone, isFinal).map((problem) => problem && placedIn(problem, field));
}

/** Repeats the checks with list prices filled in. @throws UserError, e.g. if a model with a cost limit has no price */
export function requirePrices(config: Config): void {
  const { critic, model } = config;
  if (model.provider === 'replayed') return;
  const problems = [
    ...modelProblems(config, true),
    ...modelProblemsBeside(config, 'critic.model', critic?.model, true),
  ].filter((found) => found !== undefined && found !== false);
  if (problems.length > 0) throw new UserError(problems);
}

function portfolioProblems(model: PortfolioConfig): readonly Found[] {
  const readers = membersOf(model).filter((member) => languageModelOf(member.config) !== undefined);
  return [
    readers.length > 1 && {
      field: `${readers[1]!.field}.provider`,
      value: readers[1]!.config.provider,
      message: `is a second language model, but costs, limits and retries apply to only one, here ${readers[0]!.config.provider}`,
      hint: 'keep one language model, with any number of baselines',
    },
  ];
}

type SingleConfig = Config & { readonly model: SingleModelConfig };

/** The config is written to the run directory and the report, so it must not contain secrets. */
function secretProblems({ environment, model }: SingleConfig): readonly Found[] {
  const ofServer = loginProblem(
    'environment',
    /^openenv:(.*)$/s.exec(environment.id)?.[1],
    'connect without credentials, e.g. through an SSH tunnel',
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
  const hint = `set the environment variable ${variable} to the address, and remove ${field}`;
  const login = loginProblem(field, address, hint);
  if (login || address === undefined) return login;
  const url = new URL(address);
  if (key === 'host' && url.search !== '') {
    return { field, message: 'has a query (?…), which is not sent', hint: 'remove the query' };
  }
  return key === 'baseUrl' && hasSecretQuery(url) && { field, ...secretQuery };
}

function loginProblem(field: string, address: string | undefined, hint: string): Found {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { username, password } = new URL(address);
  const message = 'contains credentials, but configs are copied to places that others may read';
  return (username !== '' || password !== '') && { field, message, hint };
}

/** Rejects values that can't be sent as JSON. */
function extraProblems(model: SingleModelConfig): readonly Found[] {
  if (model.provider !== 'openai') return [];
  return Object.entries(model.extra ?? {}).map(([key, value]) => {
    const field = `model.extra.${key}`;
    const isJson = isDeepStrictEqual(JSON.parse(JSON.stringify(value) ?? 'null'), value);
    return !isJson && { field, value, message: "can't be sent as JSON" };
  });
}

function contextProblem(model: SingleModelConfig): Found {
  if (model.provider !== 'ollama' || model.contextTokens === undefined) return undefined;
  return (
    model.maxTokens >= model.contextTokens && {
      field: 'model.contextTokens',
      message: `leaves no room for a prompt: replies may take ${model.maxTokens} tokens (model.maxTokens)`,
      value: model.contextTokens,
      hint: 'raise model.contextTokens, lower model.maxTokens, or remove contextTokens to fit the context to the prompt',
    }
  );
}

/** Descriptions, for messages, of models that have neither a price nor a timeout. */
const unpricedModels: { readonly [Provider in SingleModelConfig['provider']]?: string } = {
  local: 'a local model',
  module: 'a model from a module',
  custom: 'a model from the calling program',
};

/** Whether a model other than the run's own has a price, which then counts towards a cost limit. */
const isPricedBeside = ({ critic }: Pick<Config, 'critic'>): boolean =>
  critic?.model !== undefined && 'price' in critic.model && critic.model.price !== undefined;

function costProblems({ critic, model, limits }: SingleConfig, isFinal: boolean): readonly Found[] {
  if (limits.cost === undefined) return [];
  const at = { field: 'limits.cost', value: limits.cost };
  const unpriced = unpricedModels[model.provider];
  const isKnown = !isFinal && model.provider === 'openai' && listPrice(model) !== undefined;
  const lacksPrice =
    (model.provider === 'openai' || model.provider === 'ollama') && model.price === undefined && !isKnown;
  return [
    unpriced !== undefined &&
      !isPricedBeside({ critic }) && {
        ...at,
        message: `has no effect: ${unpriced} has no price`,
        hint: 'use limits.tokens or limits.minutes',
      },
    lacksPrice && {
      ...at,
      message: 'needs model.price, because no list price is known',
      hint: 'add model.price: {input: …, output: …} (US dollars per million tokens), or use limits.tokens',
    },
  ];
}

function stoppingProblems({ target, iterations }: SingleConfig): readonly Found[] {
  return [
    target !== undefined &&
      target.hold > iterations && {
        field: 'target.hold',
        message: `can't be reached: it needs ${target.hold} iterations in a row, but the run has ${iterations}`,
        value: target.hold,
        hint: 'lower target.hold or raise iterations',
      },
  ];
}
