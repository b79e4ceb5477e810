import type { EnvironmentConfig } from '../environments/settings.js';
import type { Problem } from '../errors.js';
import { isVariableName, noVariable } from '../models/hosted/openai-access.js';
import type { BuiltInPolicyConfig, PolicyConfig, QTableConfig } from '../policies/settings.js';
import type { Config, ModelConfig } from './config.js';

/**
 * What no single field shows: settings that contradict each other, or that could never have an effect. Checks that
 * need the environment (does the policy fit it?) are made when the experiment is assembled.
 */
export function checkConfig(config: Config): readonly Problem[] {
  return [
    ...environmentProblems(config.environment),
    ...(config.policy === undefined ? [] : policyProblems(config.policy)),
    ...secretProblems(config),
    ...modelProblems(config.model),
    ...memoryProblems(config),
    ...racingProblems(config),
    ...stoppingProblems(config),
  ];
}

/** Of a built-in environment there is no other program to wait for. */
function environmentProblems({ id, ...environment }: EnvironmentConfig): Problem[] {
  const wrong = id.startsWith('openenv:') ? (['python'] as const) : remoteKeys;
  if (id.startsWith('gymnasium:')) return [];
  return wrong
    .filter((key) => environment[key] !== undefined)
    .map((key) => ({
      field: `environment.${key}`,
      message: `has no effect on ${id}`,
      value: environment[key],
      remedy: `remove environment.${key}`,
    }));
}

const remoteKeys = ['python', 'timeoutSeconds', 'parallel'] as const;

function policyProblems(policy: PolicyConfig): Problem[] {
  if (policy.kind === 'module') return [];
  const problems = rangeProblems(policy);
  return policy.kind === 'q-table' ? [...problems, ...tableProblems(policy)] : problems;
}

function rangeProblems({ low, high, decimals }: BuiltInPolicyConfig): Problem[] {
  if (low >= high) return [emptyRange('policy', low, high)];
  const scale = 10 ** decimals;
  if (Math.max(-low, high) * scale > Number.MAX_SAFE_INTEGER) {
    return [
      {
        field: 'policy',
        message: `values from ${low} to ${high} can't be told apart with ${decimals} decimals`,
        remedy: 'use a smaller range',
      },
    ];
  }
  if (Math.ceil(low * scale) < Math.floor(high * scale)) return [];
  return [
    {
      field: 'policy.decimals',
      message: `fewer than two numbers with ${decimals} ${decimals === 1 ? 'decimal' : 'decimals'} lie between ${low} and ${high}`,
      value: decimals,
      remedy: 'use more decimals or a wider range',
    },
  ];
}

function tableProblems({ discretize = [], actions = [] }: QTableConfig): Problem[] {
  const bins = discretize.flatMap((item, index): Problem[] => {
    const field = `policy.discretize.${index}`;
    if ('edges' in item) {
      const wrong = item.edges.findIndex((edge, i) => i > 0 && edge <= item.edges[i - 1]!);
      if (wrong < 0) return [];
      return [
        {
          field: `${field}.edges.${wrong}`,
          message: `edges must ascend, but ${item.edges[wrong]} follows ${item.edges[wrong - 1]}`,
          remedy: 'sort the edges and remove repeated ones',
        },
      ];
    }
    return item.low >= item.high ? [emptyRange(field, item.low, item.high)] : [];
  });
  const length = actions[0]?.length;
  const odd = actions.findIndex((action) => action.length !== length);
  const repeated = actions.findIndex((action, i) =>
    actions.some((other, j) => j < i && JSON.stringify(other) === JSON.stringify(action)),
  );
  return [
    ...bins,
    ...(odd < 0
      ? []
      : [
          {
            field: `policy.actions.${odd}`,
            message: `has ${actions[odd]!.length} numbers, but the first action has ${length}`,
            value: actions[odd],
            remedy: 'give every action one number for each dimension of the action space',
          },
        ]),
    ...(repeated < 0
      ? []
      : [
          {
            field: `policy.actions.${repeated}`,
            message: 'repeats an earlier action',
            value: actions[repeated],
          },
        ]),
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

/** A config is written into the run directory and its report: secrets have no place there. */
function secretProblems({ environment, model }: Config): Problem[] {
  const openenv = /^openenv:(.*)$/s.exec(environment.id)?.[1];
  const ofServer = loginProblems(
    'environment',
    openenv,
    'reach the server without one, e.g. through an SSH tunnel to a port of this machine',
  );
  if (model.provider === 'ollama')
    return [...ofServer, ...addressProblems('host', model.host, 'OLLAMA_HOST')];
  if (model.provider !== 'openai') return ofServer;
  return [
    ...ofServer,
    ...addressProblems('baseUrl', model.baseUrl, 'OPENAI_BASE_URL'),
    ...(isVariableName(model.apiKeyEnv) ? [] : [{ field: 'model.apiKeyEnv', ...noVariable }]),
  ];
}

function addressProblems(key: 'baseUrl' | 'host', address: string | undefined, variable: string): Problem[] {
  const field = `model.${key}`;
  const logins = loginProblems(
    field,
    address,
    `put the address into the environment variable ${variable}, and remove ${field}`,
  );
  if (logins.length > 0 || address === undefined || new URL(address).search === '') return logins;
  return [
    {
      field,
      message: 'has a query (?…), which is not sent',
      remedy:
        key === 'host'
          ? 'give the address without it'
          : 'give the address without it; a key belongs in the environment variable that model.apiKeyEnv names',
    },
  ];
}

function loginProblems(field: string, address: string | undefined, remedy: string): Problem[] {
  if (address === undefined || !URL.canParse(address)) return [];
  const { username, password } = new URL(address);
  if (username === '' && password === '') return [];
  return [{ field, message: 'holds a login, but a config is copied to where others may read it', remedy }];
}

function modelProblems(model: ModelConfig): Problem[] {
  if (model.provider !== 'ollama' || model.contextTokens === undefined) return [];
  if (model.maxTokens < model.contextTokens) return [];
  return [
    {
      field: 'model.contextTokens',
      message: `leaves no room for a prompt: the context must hold it and a reply of up to ${model.maxTokens} tokens (model.maxTokens)`,
      value: model.contextTokens,
      remedy:
        'raise model.contextTokens, lower model.maxTokens, or leave contextTokens out so that it follows the prompt',
    },
  ];
}

function memoryProblems({ memory, record }: Config): Problem[] {
  const showsNothing = memory.best === 0 && memory.recent === 0;
  const idle = { order: 'chronological', trajectories: 'none' } as const;
  const problems = (['order', 'trajectories'] as const)
    .filter((key) => showsNothing && memory[key] !== idle[key])
    .map(
      (key): Problem => ({
        field: `memory.${key}`,
        message: 'has no effect: with best: 0 and recent: 0 a prompt shows no evaluation',
        value: memory[key],
        remedy: `remove memory.${key}, or set memory.best or memory.recent`,
      }),
    );
  if (!showsNothing && memory.trajectories !== 'none' && record === 'none') {
    problems.push({
      field: 'memory.trajectories',
      message: 'needs the trajectories of episodes, but record is none',
      value: memory.trajectories,
      remedy: 'set record to first or all, or memory.trajectories to none',
    });
  }
  return problems;
}

function racingProblems({ evaluation: { episodes, racing }, target }: Config): Problem[] {
  if (racing === undefined) return [];
  const problems: Problem[] = [];
  if (racing.block >= episodes) {
    problems.push({
      field: 'evaluation.racing.block',
      message: `leaves nothing to cut short: the first look comes after ${racing.block} of ${episodes} ${episodes === 1 ? 'episode' : 'episodes'}`,
      value: racing.block,
      remedy:
        episodes === 1
          ? 'remove evaluation.racing, or raise evaluation.episodes'
          : `use a block of at most ${episodes - 1}, or raise evaluation.episodes`,
    });
  }
  if (target !== undefined && target.hold > 1) {
    problems.push({
      field: 'evaluation.racing',
      message:
        'would cut candidates short that reach the target but not the best, and such an evaluation counts for no target',
      remedy: 'remove target.hold or evaluation.racing',
    });
  }
  return problems;
}

/** Models of which no price and no deadline is known. */
const unpricedModels: { readonly [Provider in ModelConfig['provider']]?: string } = {
  local: 'a local model',
  module: 'a model of a module',
  custom: 'a model of the calling program',
};

function stoppingProblems({ model, limits, target, iterations }: Config): Problem[] {
  const problems: Problem[] = [];
  const costs = [
    ['limits.cost', limits.cost],
    ['limits.perCall.cost', limits.perCall?.cost],
    ['limits.total.cost', limits.total?.cost],
  ] as const;
  const unpriced = unpricedModels[model.provider];
  const hasPrice = model.provider === 'openai' || model.provider === 'ollama';
  for (const [field, value] of costs) {
    if (value === undefined) continue;
    if (unpriced !== undefined) {
      problems.push({
        field,
        message: `has no effect: ${unpriced} has no price`,
        value,
        remedy: 'use limits.tokens or limits.minutes',
      });
    }
    if (hasPrice && model.price === undefined) {
      problems.push({
        field,
        message: 'needs model.price, or no cost is known',
        value,
        remedy: 'add model.price: {input: …, output: …} (per million tokens), or use limits.tokens',
      });
    }
  }
  const seconds = limits.perCall?.seconds;
  if (seconds !== undefined && unpriced !== undefined) {
    problems.push({
      field: 'limits.perCall.seconds',
      message: `has no effect: ${unpriced} is not waited for`,
      value: seconds,
      remedy:
        model.provider === 'local' ? 'lower model.maxTokens, or use limits.minutes' : 'use limits.minutes',
    });
  }
  if (target !== undefined && target.hold > iterations) {
    problems.push({
      field: 'target.hold',
      message: `can never be reached: it asks for ${target.hold} iterations in a row, but iterations is ${iterations}`,
      value: target.hold,
      remedy: 'lower target.hold or raise iterations',
    });
  }
  return problems;
}
