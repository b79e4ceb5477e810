/**
 * Tasks of LLM-RL-finetune that predate its latest code. As in ProPS, `max_traj_length` truncates episodes, and
 * the buffer holds `max_traj_count` evaluations.
 */
import { UserError } from '../../base/errors.js';
import {
  assign,
  carry,
  change,
  type Draft,
  drop,
  type Fields,
  given,
  isOn,
  type TheirConfig,
} from './draft.js';
import { chooseEnvironment, observesStates } from './environment.js';
import { isNetwork, networkFields, rank, taskOf } from './forms.js';
import {
  carried,
  type Dialect,
  dropped,
  droppedIfOn,
  isGiven,
  type KeyImport,
  promptsOf,
  sharedKeys,
  wholeHistory,
} from './keys.js';
import { binImports, tableActions, tableStates } from './llm-rl-finetune.js';
import { chooseModel, type ModelChoice } from './model.js';

const taskNames =
  /^(mountaincar_continuous|swimmer_continuous|halfcheetah_continuous|pendulum_(continuous|grid|llm)|mujoco_|nav_track_|pong_llm|panda_reach_|cliff_walking$|maze_\dx\d$|frozen_lake$|nim$|llm_num_optim_q_table$)/;

/** Keys that exist only in the latest code. */
const laterKeys = ['experiments', 'llm_ui_template_name', 'model_type', 'use_replay_buffer'];

export const isEarlier = (theirs: TheirConfig): boolean =>
  taskNames.test(String(given(theirs, 'task'))) && !laterKeys.some((key) => Object.hasOwn(theirs, key));

const isRandomSearch = (draft: Draft): boolean => taskOf(draft).endsWith('_random_search');

/** The first setting of a config that has no equivalent here, with the reason. */
function refusal(draft: Draft): { readonly field: string; readonly message: string } | undefined {
  if (taskOf(draft).includes('_grid_search'))
    return { field: 'task', message: 'searches a grid, which no policyloop baseline does' };
  const asked = (key: string) => isOn(given(draft.theirs, key));
  if (asked('beam'))
    return {
      field: 'beam',
      message: 'proposes changes to several parents, but here proposals have no parent',
    };
  if (asked('delta'))
    return { field: 'delta', message: 'asks for changes to parameters, but here proposals are parameters' };
  if (/_imitation/.test(taskOf(draft)))
    return {
      field: 'task',
      message: 'shows the steps of a good episode, but our prompts show no such steps',
    };
  return undefined;
}

function refuse(draft: Draft): void {
  const reason = refusal(draft);
  if (reason === undefined) return;
  throw new UserError({
    ...reason,
    value: given(draft.theirs, reason.field),
    remedy: 'write a similar policyloop config yourself, starting from a bundled one',
  });
}

/**
 * Tables contain one action per state with `reflex`, for `nim` and, unless projected, for `llm_num_optim_q_table`;
 * otherwise, they contain values.
 */
function policyFields(
  draft: Draft,
  environment: string,
): Fields & { readonly 'policy.kind': 'linear' | 'q-table' } {
  const { theirs } = draft;
  const task = taskOf(draft);
  if (observesStates(environment) || Array.isArray(given(theirs, 'states'))) {
    const holdsActions =
      task === 'nim' ||
      isOn(given(theirs, 'reflex')) ||
      (task === 'llm_num_optim_q_table' && !isGiven(draft, 'rank'));
    return { 'policy.kind': 'q-table', 'policy.form': holdsActions ? 'actions' : 'values' };
  }
  if (isNetwork(draft)) {
    // The import of `task` later changes the kind to `mlp`.
    return { 'policy.kind': 'linear' };
  }
  const bias = given(theirs, 'bias');
  return {
    'policy.kind': 'linear',
    'policy.bias': bias === undefined ? !task.includes('_no_bias') : isOn(bias),
  };
}

/** Tasks whose prompts show trajectories, not just parameters and returns. */
const showsTrajectories = (draft: Draft): boolean =>
  /^(cliff_walking|maze_\dx\d|(mountaincar|swimmer|halfcheetah|pendulum)_continuous)$/.test(taskOf(draft)) ||
  (taskOf(draft) === 'frozen_lake' && !isOn(given(draft.theirs, 'reflex')));

/** In these tasks, the pendulum has less gravity than in Gymnasium. */
const isLightPendulum = (draft: Draft): boolean => /^pendulum_(continuous|llm)/.test(taskOf(draft));

const task: KeyImport = (draft, key) => {
  if (isLightPendulum(draft)) {
    change(draft, key, 'in the original, the pendulum has a gravity of 6', { 'environment.options.g': 6 });
  } else if (isNetwork(draft)) {
    const reason = 'one hidden layer of 11 units with leaky ReLU, as in the original';
    change(draft, key, reason, networkFields);
  } else if (taskOf(draft).endsWith('_iterative')) {
    change(
      draft,
      key,
      'the original continues one conversation; here every iteration starts from a fresh prompt with the history',
    );
  } else
    drop(
      draft,
      key,
      'selects a runner in the original; here the environment and the policy determine everything',
    );
};

const history: KeyImport = (draft, key, value) => {
  const steps = showsTrajectories(draft)
    ? ', each with memory.rows sampled steps of its first episode'
    : ', as in the original';
  return change(draft, key, `the prompt shows this many of the latest evaluations${steps}`, {
    'memory.recent': value,
  });
};

/** The step size of a random search or, for a model, the step size that its prompt states, if above 0. */
const searchStep: KeyImport = (draft, key, value) => {
  if (isRandomSearch(draft)) {
    const reason = 'takes steps of this size from the best policy so far; 4 decimals are enough for them';
    change(draft, key, reason, {
      'model.provider': 'hill-climb',
      'model.sigma': value,
      'policy.decimals': 4,
    });
  } else if (typeof value === 'number' && value > 0) carry(draft, key, { 'prompts.stepSize': value });
  else drop(draft, key, 'the prompt states no step size');
};

const evaluationEpisodes: KeyImport = (draft, key, value) => {
  if (isGiven(draft, 'num_training_rollouts')) {
    drop(draft, key, 'the model sees the mean over num_training_rollouts episodes');
  } else carry(draft, key, { 'evaluation.episodes': value });
};

const onlyWithBeam = 'only applies with beam: true';
const ofCosts = droppedIfOn('the model sees returns to maximise, not costs');

const keys: Readonly<Record<string, KeyImport>> = {
  ...sharedKeys,
  task,
  world: dropped('follows from the environment'),
  dim_actions: (draft, key, _value, { environment }) => drop(draft, key, `follows from ${environment.id}`),
  dim_states: (draft, key, _value, { environment }) => drop(draft, key, `follows from ${environment.id}`),
  actions: tableActions,
  states: tableStates,
  ...binImports,
  bias: (draft, key, value, { policy }) =>
    isNetwork(draft)
      ? drop(draft, key, 'all layers of a network have biases')
      : policy === 'linear'
        ? carry(draft, key, { 'policy.bias': isOn(value) })
        : drop(draft, key, 'a table has no bias'),
  rank,
  reflex: (draft, key, value) => carry(draft, key, isOn(value) ? { 'policy.form': 'actions' } : {}),
  optimum: carried('prompts.optimum'),
  search_std: searchStep,
  max_traj_count: history,
  max_traj_length: carried('evaluation.maxSteps'),
  num_evaluation_episodes: evaluationEpisodes,
  num_training_rollouts: carried('evaluation.episodes'),
  warmup_dir: dropped('policyloop can’t read the files in this folder, so new random policies are drawn'),
  norm: droppedIfOn('policyloop neither normalises observations nor squashes actions with a sigmoid'),
  best_5_q_tables: droppedIfOn('to show the best evaluations, set memory.best'),
  llm_1st_round_template_name: dropped('every iteration starts from a fresh prompt of the prompt set'),
  llm_round_template_name: dropped('every iteration starts from a fresh prompt of the prompt set'),
  demonstrations_dir: dropped('this task shows no demonstrations'),
  delta: droppedIfOn('asks for changes'),
  grad_descent: ofCosts,
  reverse: ofCosts,
  beam: droppedIfOn('keeps several parents'),
  ...Object.fromEntries(
    ['beam_width', 'num_new_candidate', 'temperature'].map((key) => [key, dropped(onlyWithBeam)]),
  ),
  ...Object.fromEntries(
    ['random', 'using_llm', 'forward_reward_only', 'llm_reward', 'obs_6d'].map((key) => [
      key,
      droppedIfOn(onlyWithBeam),
    ]),
  ),
};

function modelOf(draft: Draft): ModelChoice | undefined {
  return isRandomSearch(draft) ? { fields: { provider: 'hill-climb' } } : chooseModel(draft.theirs);
}

export const earlier: Dialect = {
  name: 'LLM-RL-finetune',
  keys,
  read(draft) {
    refuse(draft);
    const { theirs } = draft;
    const environment = chooseEnvironment(theirs);
    const fields = policyFields(draft, environment.id);
    const prompts = promptsOf(given(theirs, 'llm_si_template_name')) ?? 'semantic';
    const length = given(theirs, 'max_traj_length');
    const isTable = fields['policy.kind'] === 'q-table';
    assign(draft, {
      ...fields,
      'prompts.set': prompts,
      ...wholeHistory,
      ...(showsTrajectories(draft) && {
        'memory.trajectories': 'rows',
        'memory.rows': isTable && typeof length === 'number' ? length : undefined,
      }),
      ...(isRandomSearch(draft) && { 'model.provider': 'hill-climb' }),
    });
    // The original evaluates the untrained policy first.
    if (!isGiven(draft, 'warmup_episodes')) assign(draft, { 'warmup.policies': 1 });
    return { environment, model: modelOf(draft), policy: fields['policy.kind'], prompts };
  },
};
