import type { Problem } from '../base/errors.js';
import type { EnvironmentConfig } from '../environments/settings.js';
import { plural } from '../format/numbers.js';
import { isModulePath } from '../modules/user-module.js';
import type { BuiltInPolicyConfig, PolicyConfig, QTableConfig } from '../policies/settings.js';
import type { Config } from './config.js';
import { type Found, modelProblems } from './model-checks.js';
import { criticProblems, feedbackProblems } from './reader-checks.js';

/**
 * Checks across fields: settings that contradict each other or that could never have an effect. Checks that
 * need the environment (does the policy fit it?) happen when the experiment is assembled.
 */
export function checkConfig(config: Config): readonly Problem[] {
  const found: readonly Found[] = [
    ...environmentProblems(config.environment),
    ...policyProblems(config.policy),
    ...memoryProblems(config),
    layoutProblem(config),
    noveltyProblem(config),
    ...screeningProblems(config),
    ...criticProblems(config),
    ...feedbackProblems(config),
    ...pipelineProblems(config),
    ...proposalProblems(config),
    demonstrationsProblem(config),
    ...racingProblems(config),
    ...modelProblems(config),
  ];
  return found.filter((problem) => problem !== undefined && problem !== false);
}

/** Keys that only apply to remote environments. */
const remoteKeys = ['python', 'timeoutSeconds', 'parallel'] as const;

function environmentProblems({ id, ...environment }: EnvironmentConfig): readonly Found[] {
  if (id.startsWith('gymnasium:')) return [];
  const used = isModulePath(id) ? 'timeoutSeconds' : undefined;
  const unused = id.startsWith('openenv:') ? (['python'] as const) : remoteKeys.filter((key) => key !== used);
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

function layoutProblem({ prompts: { conversation, layout, set } }: Config): Found {
  if (layout !== 'conversation') return undefined;
  const clash = set === 'compact' ? 'prompts.set: compact, which lists scores' : 'prompts.conversation';
  return (
    (set === 'compact' || conversation !== 'fresh') && {
      field: 'prompts.layout',
      value: layout,
      message: `does not go with ${clash}`,
      remedy: `remove prompts.layout, or change prompts.${set === 'compact' ? 'set' : 'conversation'}`,
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

/** Settings that make a prompt depend on the immediately preceding iteration. */
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

/** Requirements of proposals that start from parents. */
function proposalProblems({
  adapt,
  candidates,
  policy,
  prompts,
  proposal,
  warmup,
}: Config): readonly Found[] {
  const { beam, form } = proposal ?? { form: 'absolute' };
  const isDelta = form === 'delta';
  const key = isDelta ? 'form' : 'beam';
  const at = { field: `proposal.${key}`, value: isDelta ? form : beam };
  if (!isDelta && beam === undefined) return [];
  return [
    beam !== undefined &&
      candidates < beam && {
        field: 'proposal.beam',
        value: beam,
        message: `keeps more parents than there are candidates an iteration, ${candidates}: some would never be gone on from`,
        remedy: `set candidates to ${beam} or a multiple of it, or lower proposal.beam`,
      },
    warmup.policies === 0 &&
      warmup.from === undefined && {
        ...at,
        message: 'needs a parent to begin with, and there is no warm-up',
        remedy: 'set warmup to 1 or more',
      },
    isDelta &&
      policy?.kind === 'q-table' &&
      policy.form === 'actions' && {
        ...at,
        message: 'changes numbers, but a table of actions holds choices',
        alternatives: ['absolute'],
        remedy: 'set proposal.form to absolute, or policy.form to values',
      },
    prompts.set === 'compact' && {
      ...at,
      message:
        'does not go with the prompt set compact, whose models were trained on prompts without parents',
      remedy: 'set prompts.set to numeric or semantic, or remove proposal',
    },
    beam !== undefined &&
      prompts.conversation !== 'fresh' && {
        ...at,
        field: 'proposal.beam',
        value: beam,
        message: 'does not go with prompts.conversation, which goes on from one answer',
        remedy: 'remove prompts.conversation or proposal.beam',
      },
    adapt !== undefined && {
      ...at,
      message: 'does not go with adapt, which compares answers to one prompt and reads them as parameters',
      remedy: 'remove adapt or proposal',
    },
  ];
}

function demonstrationsProblem({ demonstrations, prompts }: Config): Found {
  return (
    demonstrations !== undefined &&
    prompts.set === 'compact' && {
      field: 'demonstrations',
      message:
        'does not go with the prompt set compact, whose models were trained on prompts without demonstrations',
      remedy: 'set prompts.set to numeric or semantic, or remove demonstrations',
    }
  );
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

function screeningProblems({ adapt, candidates, evaluation, screening }: Config): readonly Found[] {
  if (screening === undefined) return [];
  const { evaluate } = screening;
  return [
    evaluate >= candidates && {
      field: 'screening.evaluate',
      value: evaluate,
      message: `leaves nothing to choose from ${plural(candidates, 'candidate')} an iteration`,
      remedy: `set candidates above it, e.g. to ${16 * evaluate}, or remove screening`,
    },
    adapt !== undefined && {
      field: 'screening',
      message: 'does not go with adapt, which learns from what all candidates of an iteration earn',
      remedy: 'remove screening or adapt',
    },
    evaluation.racing !== undefined && {
      field: 'evaluation.racing',
      message: 'cuts evaluations short, and screening needs their whole means',
      remedy: 'remove evaluation.racing or screening',
    },
  ];
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
