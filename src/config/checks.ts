import { isDeepStrictEqual } from 'node:util';
import type { Problem } from '../base/errors.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { plural } from '../format/numbers.js';
import { isVariableName, noVariable } from '../models/hosted/openai-access.js';
import { remedyOfReserved } from '../models/hosted/request-fields.js';
import type { BuiltInPolicyConfig, PolicyConfig, QTableConfig } from '../policies/settings.js';
import { adaptProblems } from './adapt-checks.js';
import type { Config } from './config.js';
import {
  languageMemberOf,
  languageModelOf,
  membersOf,
  type PortfolioConfig,
  type SingleModelConfig,
} from './model.js';

/** What a check found: nothing where all is well. */
type Found = Problem | false | undefined;

/**
 * What no single field shows: settings that contradict each other, or that could never have an effect. Checks that
 * need the environment (does the policy fit it?) are made when the experiment is assembled.
 */
export function checkConfig(config: Config): readonly Problem[] {
  const found: readonly Found[] = [
    ...environmentProblems(config.environment),
    ...policyProblems(config.policy),
    ...memoryProblems(config),
    noveltyProblem(config),
    ...pipelineProblems(config),
    ...racingProblems(config),
    ...(config.model.provider === 'portfolio' ? portfolioProblems(config.model) : []),
    ...modelProblems(config),
  ];
  return found.filter((problem) => problem !== undefined && problem !== false);
}

/** What is asked of the language model, or of a model alone; of a portfolio the problems name the member. */
function modelProblems(config: Config): readonly Found[] {
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
  return found.map((problem) => problem && placedIn(problem, field));
}

/** The problem of a model, with the place that the model has in a config. */
export function placedIn<P extends Problem>(problem: P, field: string): P {
  const placed = (text: string) => text.replaceAll(/\bmodel\.(?=\w)/g, `${field}.`);
  const { remedy } = problem;
  return {
    ...problem,
    ...(problem.field !== undefined && { field: placed(problem.field) }),
    message: placed(problem.message),
    ...(remedy !== undefined && { remedy: placed(remedy) }),
  };
}

function portfolioProblems(model: PortfolioConfig): readonly Found[] {
  const { members, switch: rule } = model;
  const readers = membersOf(model).filter((member) => languageModelOf(member.config) !== undefined);
  const own = { patience: 'plateau', discount: 'bandit' } as const;
  return [
    readers.length > 1 && {
      field: `${readers[1]!.field}.provider`,
      value: readers[1]!.config.provider,
      message: `is a second language model: costs, limits and retries are those of one, which is ${readers[0]!.config.provider} here`,
      remedy: 'keep one language model, beside as many controls as you like',
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

/** Keys that only an environment outside this program has a use for. */
const remoteKeys = ['python', 'timeoutSeconds', 'parallel'] as const;

function environmentProblems({ id, ...environment }: EnvironmentConfig): readonly Found[] {
  if (id.startsWith('gymnasium:')) return [];
  const unused = id.startsWith('openenv:') ? (['python'] as const) : remoteKeys;
  return unused.map(
    (key) =>
      environment[key] !== undefined && {
        field: `environment.${key}`,
        message: `has no effect on ${id}`,
        value: environment[key],
        remedy: `remove environment.${key}`,
      },
  );
}

function policyProblems(policy: PolicyConfig | undefined): readonly Found[] {
  if (policy === undefined || policy.kind === 'module') return [];
  return [rangeProblem(policy), ...(policy.kind === 'q-table' ? tableProblems(policy) : [])];
}

function rangeProblem({ low, high, decimals }: BuiltInPolicyConfig): Found {
  if (low >= high) return emptyRange('policy', low, high);
  const scale = 10 ** decimals;
  if (Math.max(-low, high) * scale > Number.MAX_SAFE_INTEGER) {
    return {
      field: 'policy',
      message: `values from ${low} to ${high} can't be told apart with ${decimals} decimals`,
      remedy: 'use a smaller range',
    };
  }
  return (
    Math.ceil(low * scale) >= Math.floor(high * scale) && {
      field: 'policy.decimals',
      message: `fewer than two numbers with ${plural(decimals, 'decimal')} lie between ${low} and ${high}`,
      value: decimals,
      remedy: 'use more decimals or a wider range',
    }
  );
}

function tableProblems({ discretize = [], actions = [] }: QTableConfig): readonly Found[] {
  const bins = discretize.map((item, index): Found => {
    const field = `policy.discretize.${index}`;
    if (!('edges' in item)) return item.low >= item.high && emptyRange(field, item.low, item.high);
    const wrong = item.edges.findIndex((edge, i) => i > 0 && edge <= item.edges[i - 1]!);
    return (
      wrong >= 0 && {
        field: `${field}.edges.${wrong}`,
        message: `edges must ascend, but ${item.edges[wrong]} follows ${item.edges[wrong - 1]}`,
        remedy: 'sort the edges and remove repeated ones',
      }
    );
  });
  const length = actions[0]?.length;
  const odd = actions.findIndex((action) => action.length !== length);
  const texts = actions.map((action) => JSON.stringify(action));
  const repeated = texts.findIndex((text, i) => texts.indexOf(text) < i);
  return [
    ...bins,
    odd >= 0 && {
      field: `policy.actions.${odd}`,
      message: `has ${actions[odd]!.length} numbers, but the first action has ${length}`,
      value: actions[odd],
      remedy: 'give every action one number for each dimension of the action space',
    },
    repeated >= 0 && {
      field: `policy.actions.${repeated}`,
      message: 'repeats an earlier action',
      value: actions[repeated],
    },
  ];
}

function emptyRange(path: string, low: number, high: number): Problem {
  return {
    field: `${path}.low`,
    message: `must be below ${path}.high, which is ${high}`,
    value: low,
    remedy: low === high ? 'widen the range' : `swap the two: low: ${high}, high: ${low}`,
  };
}

/** A config whose model is no portfolio. */
type SingleConfig = Config & { readonly model: SingleModelConfig };

/** A config is written into the run directory and its report: secrets have no place there. */
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
  if (login || address === undefined || new URL(address).search === '') return login;
  return {
    field,
    message: 'has a query (?…), which is not sent',
    remedy:
      key === 'host'
        ? 'give the address without it'
        : 'give the address without it; a key belongs in the environment variable that model.apiKeyEnv names',
  };
}

function loginProblem(field: string, address: string | undefined, remedy: string): Found {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { username, password } = new URL(address);
  const message = 'holds a login, but a config is copied to where others may read it';
  return (username !== '' || password !== '') && { field, message, remedy };
}

/** Fields of the request that this program sets itself: a second value would contradict what the log says was sent. */
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

function memoryProblems({ memory, record }: Config): readonly Found[] {
  const showsNothing = memory.best === 0 && memory.recent === 0;
  const idle = { order: 'chronological', trajectories: 'none' } as const;
  return [
    ...(['order', 'trajectories'] as const).map(
      (key) =>
        showsNothing &&
        memory[key] !== idle[key] && {
          field: `memory.${key}`,
          message: 'has no effect: with best: 0 and recent: 0 a prompt shows no evaluation',
          value: memory[key],
          remedy: `remove memory.${key}, or set memory.best or memory.recent`,
        },
    ),
    !showsNothing &&
      memory.trajectories !== 'none' &&
      record === 'none' && {
        field: 'memory.trajectories',
        message: 'needs the trajectories of episodes, but record is none',
        value: memory.trajectories,
        remedy: 'set record to first or all, or memory.trajectories to none',
      },
  ];
}

/** What a prompt must know of the iteration right before it. */
function pipelineProblems({ adapt, model, pipeline = 1, prompts }: Config): readonly Found[] {
  if (pipeline === 1) return [];
  const learns = model.provider === 'portfolio' && (model.switch === 'plateau' || model.switch === 'bandit');
  const at = { field: 'pipeline', value: pipeline };
  return [
    prompts.conversation !== 'fresh' && {
      ...at,
      message: 'does not go with prompts.conversation: a turn goes on with the answer before it',
      remedy: 'remove pipeline or prompts.conversation',
    },
    adapt !== undefined && {
      ...at,
      message: 'does not go with adapt: a model that is asked already can’t learn from the answer before',
      remedy: 'remove pipeline or adapt',
    },
    learns && {
      ...at,
      message: `does not go with model.switch: ${model.switch}, which looks at the iteration before`,
      remedy: 'remove pipeline, or set model.switch to shares or turns',
    },
  ];
}

function noveltyProblem({ corrections, novelty }: Config): Found {
  return (
    novelty?.action === 'ask' &&
    corrections === 0 && {
      field: 'novelty.action',
      value: 'ask',
      message: 'can’t ask again, for corrections is 0: a proposal that is too close would come to nothing',
      alternatives: ['jitter'],
      remedy: 'raise corrections, or set novelty.action to jitter',
    }
  );
}

function racingProblems({ evaluation: { episodes, racing }, target }: Config): readonly Found[] {
  if (racing === undefined) return [];
  return [
    racing.block >= episodes && {
      field: 'evaluation.racing.block',
      message: `leaves nothing to cut short: the first look comes after ${racing.block} of ${plural(episodes, 'episode')}`,
      value: racing.block,
      remedy:
        episodes === 1
          ? 'remove evaluation.racing, or raise evaluation.episodes'
          : `use a block of at most ${episodes - 1}, or raise evaluation.episodes`,
    },
    target !== undefined &&
      target.hold > 1 && {
        field: 'evaluation.racing',
        message:
          'would cut candidates short that reach the target but not the best, and such an evaluation counts for no target',
        remedy: 'remove target.hold or evaluation.racing',
      },
  ];
}

/** Models of which no price and no deadline is known. */
const unpricedModels: { readonly [Provider in SingleModelConfig['provider']]?: string } = {
  local: 'a local model',
  module: 'a model of a module',
  custom: 'a model of the calling program',
};

function costProblems({ model, limits }: SingleConfig): readonly Found[] {
  const caps = { limits, 'limits.perCall': limits.perCall, 'limits.total': limits.total };
  const unpriced = unpricedModels[model.provider];
  const lacksPrice =
    (model.provider === 'openai' || model.provider === 'ollama') && model.price === undefined;
  return Object.entries(caps).flatMap(([section, cap]): readonly Found[] => {
    if (cap?.cost === undefined) return [];
    const at = { field: `${section}.cost`, value: cap.cost };
    return [
      unpriced !== undefined && {
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
