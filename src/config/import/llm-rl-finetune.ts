/** LLM-RL-finetune: linear policies and Q-tables, one runner a task. */
import { actionVectors, binKeys, binsOf, dimensionsOf, hasContinuousActions } from './bins.js';
import { assign, carry, change, type Draft, drop, given, isOn } from './draft.js';
import { importGridSize, stepLimit } from './environment.js';
import {
  carried,
  type Dialect,
  dropped,
  droppedIfOn,
  isGiven,
  type KeyImport,
  sharedKeys,
  warmUp,
} from './keys.js';

const isLinear = ({ theirs }: Draft): boolean => {
  const continuous = given(theirs, 'continuous');
  return continuous === undefined ? !Array.isArray(given(theirs, 'states')) : isOn(continuous);
};

/** Their linear policies are a weight matrix; their tables hold a value for every state and action. */
const policyFields = (draft: Draft) =>
  isLinear(draft)
    ? { 'policy.kind': 'linear', 'policy.bias': false }
    : { 'policy.kind': 'q-table', 'policy.form': 'values' };

const continuous: KeyImport = (draft, key, _value, { policy }) => {
  const reason =
    policy === 'linear'
      ? 'a weight matrix without bias, as there; policy.bias: true adds one'
      : 'a value for every state and action, as there; policy.form: actions, one action a state, is far easier for a model';
  change(draft, key, reason, policyFields(draft));
};

const actions: KeyImport = (draft, key, _value, { policy, environment: { id } }) => {
  if (policy === 'q-table' && hasContinuousActions(id) && !isGiven(draft, 'num_action_bins')) {
    carry(draft, key, { 'policy.actions': actionVectors(draft.theirs, id) });
  } else drop(draft, key, `follows from ${id}`);
};

const actionBins: KeyImport = (draft, key, value, { policy, environment: { id } }) => {
  if (policy === 'linear') drop(draft, key, 'a linear policy gives the action itself');
  else if (!hasContinuousActions(id)) drop(draft, key, `the actions of ${id} are discrete`);
  else {
    change(draft, key, `${String(value)} values, evenly over the range of the action`, {
      'policy.actions': actionVectors(draft.theirs, id),
    });
  }
};

const states: KeyImport = (draft, key, _value, { policy, environment: { id } }) => {
  const dimensions = dimensionsOf(id);
  if (policy === 'linear' || dimensions === undefined) drop(draft, key, `follows from ${id}`);
  else if (dimensions.some((dimension) => dimension.key !== undefined && isGiven(draft, dimension.key))) {
    drop(draft, key, 'follows from the numbers of bins; states are counted from 0 here');
  } else {
    change(draft, key, 'as many equal bins as each list has values, counted from 0', {
      'policy.discretize': binsOf(draft.theirs, dimensions),
    });
  }
};

const bins: KeyImport = (draft, key, value, { policy, environment: { id } }) => {
  const dimensions = dimensionsOf(id);
  if (policy === 'linear') drop(draft, key, 'a linear policy reads the observation itself');
  else if (dimensions?.some((dimension) => dimension.key === key)) {
    change(
      draft,
      key,
      `${String(value)} equal bins, counted from 0; there as many edges, so that one bin is never met`,
      { 'policy.discretize': binsOf(draft.theirs, dimensions) },
    );
  } else drop(draft, key, `${id} observes nothing that it would divide`);
};

const showsBuffer = ({ theirs }: Draft): boolean => {
  const use = given(theirs, 'use_replay_buffer');
  return use === undefined || isOn(use);
};

const history: KeyImport = (draft, key, value) => {
  if (!showsBuffer(draft)) drop(draft, key, 'the replay buffer is not shown (use_replay_buffer)');
  else {
    change(draft, key, 'so many evaluations, each with memory.rows sampled steps, within memory.tokens', {
      'memory.recent': value,
      'memory.trajectories': 'rows',
    });
  }
};

const useReplayBuffer: KeyImport = (draft, key) => {
  if (showsBuffer(draft)) carry(draft, key);
  else {
    change(draft, key, 'only the latest evaluation and a sample of its steps are shown, as there', {
      'memory.recent': 1,
      'memory.trajectories': 'rows',
    });
  }
};

/** A conversation that never ends outgrows every context. */
const longestConversation = 20;

const conversation: KeyImport = (draft, key, value) => {
  if (isOn(value)) return carry(draft, key, { 'prompts.conversation': 'fresh' });
  const iterations = given(draft.theirs, 'num_episodes');
  const turns =
    typeof iterations === 'number' ? Math.min(iterations, longestConversation) : longestConversation;
  change(
    draft,
    key,
    `a conversation starts anew from the memory after ${turns} iterations, before it outgrows the context`,
    {
      'prompts.conversation.turns': turns,
    },
  );
};

/** Their worlds go on where Gymnasium's time limit has cut an episode. */
const episodeLength: KeyImport = (draft, key, value, { environment: { id } }) => {
  const limit = stepLimit(id);
  const fields = { 'evaluation.maxSteps': value };
  if (limit === undefined || !(Number(value) > limit)) carry(draft, key, fields);
  else {
    const reason = `${id} itself cuts an episode after ${limit} steps, which holds here; environment.options.max_episode_steps sets that`;
    change(draft, key, reason, fields);
  }
};

const saysModel: KeyImport = (draft, key, _value, { model }) => {
  if (model === undefined) drop(draft, key, 'there is no llm_model_name');
  else carry(draft, key, { 'model.provider': model.fields.provider });
};

const baseModel: KeyImport = (draft, key, _value, { model }) => {
  const fields = model?.fields;
  if (fields?.adapter !== undefined) carry(draft, key, { 'model.path': fields.path });
  else drop(draft, key, 'has a meaning with model_type: OFFLINE only');
};

const runners = [
  'mountaincar',
  'mc_continuous',
  'cartpole',
  'inverted_pendulum',
  'pong',
  'swimmer',
  'hopper',
  'pendulum',
  'blackjack',
  'grid_world',
];

const keys: Readonly<Record<string, KeyImport>> = {
  ...sharedKeys,
  task: dropped('chooses a runner there; here the environment and the policy say it all'),
  experiments: carried('repeats'),
  continuous,
  actions,
  num_action_bins: actionBins,
  states,
  ...Object.fromEntries(binKeys.map((key) => [key, bins])),
  grid_size: (draft, key, value, { environment }) => importGridSize(draft, key, value, environment.id),
  max_traj_length: episodeLength,
  max_traj_count: history,
  use_replay_buffer: useReplayBuffer,
  reset_llm_conversation: conversation,
  llm_ui_template_name: dropped('the user prompt is a part of the prompt set'),
  model_type: saysModel,
  base_model: baseModel,
  warmup_episodes: warmUp,
  step_size: carried('prompts.stepSize'),
  record_video: droppedIfOn(
    'policyloop render draws an episode of a run, render.every: N one every N iterations',
  ),
  print_episode: dropped('every iteration is saved'),
  max_limit: dropped('the report scales its plots by what they show'),
  title: dropped('the report is titled by the run'),
};

export const llmRlFinetune: Dialect = {
  name: 'LLM-RL-finetune',
  keys,
  read(draft, environment, model) {
    assign(draft, policyFields(draft));
    // The initial policy there is one random one.
    if (!isGiven(draft, 'warmup_episodes')) assign(draft, { 'warmup.policies': 1 });
    const numeric = /num_optim/.test(String(given(draft.theirs, 'llm_si_template_name') ?? ''));
    const prompts = numeric && !isGiven(draft, 'env_desc_file') ? 'numeric' : 'semantic';
    assign(draft, { 'prompts.set': prompts });
    return { environment, model, policy: isLinear(draft) ? 'linear' : 'q-table', prompts };
  },
};

/** Whether `task` is one of the runners. */
export const isRunner = (task: unknown): boolean => runners.includes(String(task));
