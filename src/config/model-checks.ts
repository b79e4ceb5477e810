/** Checks of models that their schemas can't express, e.g. of secrets, prices and contexts. */
import { isDeepStrictEqual } from 'node:util';
import { type MaybeProblem, type Problem, UserError } from '../base/errors.js';
import { hasSecretPart, secretProblem } from '../models/hosted/openai-access.js';
import type { Config } from './config.js';
import { languageMemberOf, languageModelOf, membersOf, type SingleModelConfig } from './model.js';
import { stageMembersOf } from './stages.js';

/** A config's language models and their fields. */
function languageModelsIn(config: Config): readonly { config: SingleModelConfig; field: string }[] {
  const mainModel = languageMemberOf(config.model);
  const stageModels = stageMembersOf(config).filter((member) => languageModelOf(member.config) !== undefined);
  return [...(mainModel ? [mainModel] : []), ...stageModels];
}

export function modelProblems(config: Config): readonly MaybeProblem[] {
  const [first, second] = membersOf(config.model).filter((one) => languageModelOf(one.config) !== undefined);
  return [
    second && {
      field: `${second.field}.provider`,
      value: second.config.provider,
      message: `is a second language model, after ${first!.config.provider} (${first!.field}); costs, limits and retries apply to only one`,
      hint: 'keep one language model, with any number of baselines',
    },
    ...languageModelsIn(config).flatMap(({ config: model, field }) => [
      ...secretProblems(model, field),
      ...extraProblems(model, field),
      contextProblem(model, field),
    ]),
  ];
}

/** Replaces `model`, in a problem's field and in `model.maxTokens` in its hint, with the model's actual field. */
export const withFieldPrefix = <P extends Problem>(problem: P, field: string): P => ({
  ...problem,
  ...(problem.field !== undefined && { field: problem.field.replace(/^model\b/, field) }),
  ...(problem.hint !== undefined && { hint: problem.hint.replace(/\bmodel(?=\.maxTokens\b)/, field) }),
});

/** The config is written to the run directory and the report, so it must not contain secrets. */
function secretProblems(model: SingleModelConfig, field: string): readonly MaybeProblem[] {
  switch (model.provider) {
    case 'ollama':
      return [addressProblem(`${field}.host`, model.host, 'OLLAMA_HOST')];
    case 'openai':
      return [
        addressProblem(`${field}.baseUrl`, model.baseUrl, 'OPENAI_BASE_URL'),
        // A string that isn't a variable's name may be the key itself, so don't show it.
        /^\d|\W|(?:^|_)(?=[A-Z0-9]*[a-z])(?=[A-Za-z]*\d)[^_]{16}/.test(model.apiKeyEnv) && {
          field: `${field}.apiKeyEnv`,
          message: 'this is not the name of an environment variable',
          hint: 'put the key into an environment variable, and use the name of that variable here',
        },
      ];
    default:
      return [];
  }
}

function addressProblem(field: string, address: string | undefined, variable: string): MaybeProblem {
  const hint = `set the environment variable ${variable} to the address, and remove ${field}`;
  const login = loginProblem(field, address, hint);
  if (login || address === undefined) return login;
  const url = new URL(address);
  if (variable === 'OLLAMA_HOST' && url.search !== '')
    return { field, message: 'has a query (?…), which is not sent', hint: 'remove the query' };
  return hasSecretPart(url) && { field, ...secretProblem };
}

export function loginProblem(field: string, address: string | undefined, hint: string): MaybeProblem {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { username, password } = new URL(address);
  const message = 'contains credentials, but configs are copied to places that others may read';
  return (username !== '' || password !== '') && { field, message, hint };
}

/** Finds values that can't be sent as JSON. */
function extraProblems(model: SingleModelConfig, sectionField: string): readonly MaybeProblem[] {
  if (model.provider !== 'openai') return [];
  return Object.entries(model.extra ?? {}).map(([key, value]) => {
    const field = `${sectionField}.extra.${key}`;
    const isJson = isDeepStrictEqual(JSON.parse(JSON.stringify(value) ?? 'null'), value);
    return !isJson && { field, value, message: "can't be sent as JSON" };
  });
}

function contextProblem(model: SingleModelConfig, field: string): MaybeProblem {
  if (model.provider !== 'ollama' || model.contextTokens === undefined) return undefined;
  return (
    model.maxTokens >= model.contextTokens && {
      field: `${field}.contextTokens`,
      message: `leaves no room for a prompt: replies may take ${model.maxTokens} tokens (${field}.maxTokens)`,
      value: model.contextTokens,
      hint: `raise ${field}.contextTokens, lower ${field}.maxTokens, or remove contextTokens to fit the context to the prompt`,
    }
  );
}

/** @throws UserError if a limit on the cost can't work, because a model has no price */
export function requirePrices(config: Config): void {
  const { limits, model } = config;
  if (limits.cost === undefined || model.provider === 'replayed') return;
  const costLimit = { field: 'limits.cost', value: limits.cost };
  const models = languageModelsIn(config);
  const priced = models.filter(({ config: { provider } }) => provider === 'openai' || provider === 'ollama');
  const problems = priced
    .filter(({ config: modelConfig }) => !('price' in modelConfig) || modelConfig.price === undefined)
    .map(({ field }) => ({
      ...costLimit,
      message: `needs ${field}.price, because no list price is known`,
      hint: `add ${field}.price: {input: …, output: …} (US dollars per million tokens), or use limits.tokens`,
    }));
  if (problems.length > 0) throw new UserError(problems);
  if (models.length > 0 && priced.length === 0)
    throw new UserError({
      ...costLimit,
      message: `has no effect: the provider ${models[0]!.config.provider} has no price`,
      hint: 'use limits.tokens or limits.minutes',
    });
}
