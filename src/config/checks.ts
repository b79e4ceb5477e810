import type { MaybeProblem, Problem } from '../base/errors.js';
import { plural } from '../base/text/numbers.js';
import { embeddedModelPath } from '../models/local/settings.js';
import type { BuiltInPolicyConfig, PolicyConfig, QTableConfig } from '../policies/settings.js';
import { selectedCount } from '../prompting/context/history.js';
import { isBaselineName } from './baselines.js';
import type { Config } from './config.js';
import { membersOf } from './model.js';
import { loginProblem, modelProblems } from './model-checks.js';
import { relayProblems } from './relay.js';
import { stageMembersOf, stageProblems, stagesOf } from './stages.js';

/**
 * Finds settings that contradict each other or have no effect.
 * Checks that need the environment take place later, when the experiment is assembled.
 */
export function configProblems(config: Config): readonly Problem[] {
  const problems: readonly MaybeProblem[] = [
    loginProblem(
      'environment',
      /^openenv:(.*)$/s.exec(config.environment.id)?.[1],
      'connect without credentials, e.g. through an SSH tunnel',
    ),
    ...policyProblems(config.policy),
    ...programProblems(config),
    ...promptProblems(config),
    ...lengthProblems(config),
    ...stageProblems(config, config.policy?.kind === 'program'),
    ...modelProblems(config),
    ...(config.model.provider === 'relay'
      ? relayProblems(config.model.relay, config.evaluation.episodes)
      : []),
  ];
  return problems.filter((problem) => problem !== undefined && problem !== false);
}

function policyProblems(policy: PolicyConfig | undefined): readonly MaybeProblem[] {
  if (policy === undefined || policy.kind === 'module' || policy.kind === 'program') return [];
  return [rangeProblem(policy), ...(policy.kind === 'q-table' ? tableProblems(policy) : [])];
}

/** Finds baselines and prompts that don't fit the kind of policy, and settings that programs don't support. */
function programProblems(config: Config): readonly MaybeProblem[] {
  const { model, policy, prompts, repeats, warmup } = config;
  const isProgram = policy?.kind === 'program';
  const proposers = [...membersOf(model), ...stageMembersOf(config)];
  const validBaselines = isProgram ? ['random', 'genetic'] : ['random', 'hill-climb', 'cma-es', 'gp', 'mix'];
  const wrongSetPattern = isProgram ? /^(numeric|compact)$/ : /^programs(-\w+)?$/;
  const [requiredKind, wrongKind] = isProgram ? ['programs', 'numbers'] : ['numbers', 'programs'];
  const sets = [
    ['prompts.set', prompts.set, isProgram ? 'programs' : 'semantic'] as const,
    ...stagesOf(config).map(
      ({ name, prompts: value }) =>
        [`${name}.prompts`, value, isProgram ? `programs-${name}` : name] as const,
    ),
  ];
  const problems: readonly MaybeProblem[] = [
    ...proposers.map(
      ({ config: { provider }, field }) =>
        isBaselineName(provider) &&
        !validBaselines.includes(provider) && {
          field: `${field}.provider`,
          value: provider,
          message: `searches for ${wrongKind}, but policy.kind requires ${requiredKind}`,
          alternatives: validBaselines,
          hint: 'choose another baseline or a language model, or change policy.kind',
        },
    ),
    ...sets.map(
      ([field, value, replacement]) =>
        wrongSetPattern.test(value) && {
          field,
          value,
          message: `asks for ${wrongKind}, but policy.kind requires ${requiredKind}`,
          hint: `set ${field}=${replacement}, or change policy.kind`,
        },
    ),
  ];
  if (policy?.kind !== 'program') return problems;
  return [
    ...problems,
    ...proposers.map(
      ({ config, field }) =>
        config.provider === 'local' &&
        config.path === embeddedModelPath && {
          field: `${field}.path`,
          value: config.path,
          message: 'is the embedded model, which only proposes numbers, but the policies are programs',
          hint: 'choose a model that writes code, e.g. qwen2.5-coder:7b with the provider ollama',
        },
    ),
    policy.edits === true &&
      warmup.policies === 0 && {
        field: 'policy.edits',
        value: true,
        message: 'needs a first program to change, but there is no warm-up',
        hint: 'set warmup to 1 or more',
      },
    repeats === 'parameters' && {
      field: 'repeats',
      value: repeats,
      message: 'compares numbers, but the policies are programs, which are compared by their behaviour',
      hint: 'remove repeats',
    },
    warmup.from !== undefined && {
      field: 'warmup.from',
      message: "can't be combined with policy.kind: program yet",
      hint: 'remove warmup.from',
    },
  ];
}

function rangeProblem({ low, high, decimals }: BuiltInPolicyConfig): MaybeProblem {
  if (low >= high) return emptyRangeProblem('policy', low, high);
  const scale = 10 ** decimals;
  if (Math.max(-low, high) * scale > Number.MAX_SAFE_INTEGER) {
    return {
      field: 'policy',
      message: `values from ${low} to ${high} can't be represented exactly with ${plural(decimals, 'decimal')}`,
      hint: 'use fewer decimals or a smaller range',
    };
  }
  return (
    Math.ceil(low * scale) >= Math.floor(high * scale) && {
      field: 'policy.decimals',
      message: `fewer than two numbers with ${plural(decimals, 'decimal')} lie between ${low} and ${high}`,
      value: decimals,
      hint: 'use more decimals or a wider range',
    }
  );
}

function tableProblems({ discretize = [], actions = [] }: QTableConfig): readonly MaybeProblem[] {
  const bins = discretize.map((item, index): MaybeProblem => {
    const field = `policy.discretize.${index}`;
    if (!('edges' in item)) return item.low >= item.high && emptyRangeProblem(field, item.low, item.high);
    const wrongIndex = item.edges.findIndex((edge, i) => i > 0 && edge <= item.edges[i - 1]!);
    return (
      wrongIndex >= 0 && {
        field: `${field}.edges.${wrongIndex}`,
        message: `edges must ascend, but ${item.edges[wrongIndex]} follows ${item.edges[wrongIndex - 1]}`,
        hint: 'sort the edges and remove repeated ones',
      }
    );
  });
  const length = actions[0]?.length;
  const oddIndex = actions.findIndex((action) => action.length !== length);
  return [
    ...bins,
    oddIndex >= 0 && {
      field: `policy.actions.${oddIndex}`,
      message: `has ${plural(actions[oddIndex]!.length, 'number')}, but the first action has ${length}`,
      value: actions[oddIndex],
      hint: 'give each action one number per dimension of the action space',
    },
  ];
}

function emptyRangeProblem(path: string, low: number, high: number): Problem {
  return {
    field: `${path}.low`,
    message: `must be below ${path}.high, which is ${high}`,
    value: low,
    hint: low === high ? 'widen the range' : `swap them: low: ${high}, high: ${low}`,
  };
}

/** Finds settings of the prompts that contradict each other. */
function promptProblems({ memory, prompts, record }: Config): readonly MaybeProblem[] {
  return [
    selectedCount(memory) > 0 &&
      memory.trajectories !== 'none' &&
      record === 'none' && {
        field: 'memory.trajectories',
        message: 'needs the trajectories of episodes, but record is none',
        value: memory.trajectories,
        hint: 'set record to first or all, or memory.trajectories to none',
      },
    // The models of `compact` were trained on prompts that list the evaluations.
    prompts.set === 'compact' &&
      prompts.layout === 'conversation' && {
        field: 'prompts.layout',
        value: prompts.layout,
        message: "can't be combined with prompts.set: compact, whose prompts list the evaluations",
        hint: 'change prompts.set, or remove prompts.layout',
      },
  ];
}

/** Finds settings that need a longer run. */
function lengthProblems({ iterations, target }: Config): readonly MaybeProblem[] {
  return [
    target !== undefined &&
      target.hold > iterations && {
        field: 'target.hold',
        value: target.hold,
        message: `can't be reached: it needs ${target.hold} iterations in a row, but the run has ${iterations}`,
        hint: 'lower target.hold or raise iterations',
      },
  ];
}
