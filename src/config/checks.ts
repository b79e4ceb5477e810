import type { Problem } from '../base/errors.js';
import { embeddedModel } from '../models/local/settings.js';
import type { PolicyConfig } from '../policies/settings.js';
import { selectedCount } from '../prompting/context/history.js';
import { isBaselineName } from './baselines.js';
import type { Config } from './config.js';
import { membersOf } from './model.js';
import { type Found, loginProblem, modelProblems } from './model-checks.js';
import { stageMembersOf, stageProblems, stagesOf } from './stages.js';

/**
 * Finds settings that contradict each other or have no effect.
 * Checks that need the environment run when the experiment is assembled.
 */
export function checkConfig(config: Config): readonly Problem[] {
  const found: readonly Found[] = [
    loginProblem(
      'environment',
      /^openenv:(.*)$/s.exec(config.environment.id)?.[1],
      'connect without credentials, e.g. through an SSH tunnel',
    ),
    ...rangeProblems(config.policy),
    ...programProblems(config),
    ...contentProblems(config),
    ...stageProblems(config, config.policy?.kind === 'program'),
    ...modelProblems(config),
  ];
  return found.filter((problem) => problem !== undefined && problem !== false);
}

/** Finds baselines and prompts that don't fit the kind of policy, and settings that programs don't support. */
function programProblems(config: Config): readonly Found[] {
  const { model, policy, prompts, warmup } = config;
  const isProgram = policy?.kind === 'program';
  const proposers = [...membersOf(model), ...stageMembersOf(config)];
  const fitting = isProgram ? ['random', 'genetic'] : ['random', 'hill-climb', 'cma-es', 'gp', 'mix'];
  const wrongSets = isProgram ? /^(numeric|compact)$/ : /^programs(-\w+)?$/;
  const [are, other] = isProgram ? ['programs', 'numbers'] : ['numbers', 'programs'];
  const sets = [
    ['prompts.set', prompts.set] as const,
    ...stagesOf(config).map((stage) => [`${stage.name}.prompts`, stage.prompts] as const),
  ];
  const found: readonly Found[] = [
    ...proposers.map(
      ({ config: { provider }, field }) =>
        isBaselineName(provider) &&
        !fitting.includes(provider) && {
          field: `${field}.provider`,
          value: provider,
          message: `searches ${other}, but the policies are ${are}`,
          alternatives: fitting,
          hint: 'choose another baseline or a language model, or change policy.kind',
        },
    ),
    ...sets.map(
      ([field, value]) =>
        wrongSets.test(value) && {
          field,
          value,
          message: `asks for ${other}, but the policies are ${are}`,
          hint: 'choose another set, or change policy.kind',
        },
    ),
  ];
  if (policy?.kind !== 'program') return found;
  return [
    ...found,
    ...proposers.map(
      ({ config, field }) =>
        config.provider === 'local' &&
        config.path === embeddedModel && {
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
    warmup.from !== undefined && {
      field: 'warmup.from',
      message: "can't be combined with policy.kind: program yet",
      hint: 'remove warmup.from',
    },
  ];
}

function rangeProblems(policy: PolicyConfig | undefined): readonly Found[] {
  if (policy === undefined || !('low' in policy)) return [];
  const bins = policy.kind === 'q-table' ? (policy.discretize ?? []) : [];
  const ranges = [policy, ...bins].map((range, i) => ({
    range,
    path: i === 0 ? 'policy' : `policy.discretize.${i - 1}`,
  }));
  return ranges.map(
    ({ path, range }) =>
      'low' in range &&
      range.low >= range.high && {
        field: `${path}.low`,
        message: `must be below ${path}.high, which is ${range.high}`,
        value: range.low,
      },
  );
}

/** Settings of the prompts that contradict each other. */
function contentProblems({ memory, prompts, record }: Config): readonly Found[] {
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
