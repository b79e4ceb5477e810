/** LLM-RL-finetune: linear policies and Q-tables, with one runner per task. */
import { UserError } from '../../base/errors.js';
import { actionVectors, binKeys, binsOf, dimensionsOf, hasContinuousActions } from './bins.js';
import { assign, carry, change, type Draft, drop, given, isOn } from './draft.js';
import { chooseEnvironment, importGridSize, observesStates, stepLimit } from './environment.js';
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
import { chooseModel } from './model.js';

/** Their linear policies have a bias; their tables have a value for every state and action. */
const policyFields = (kind: 'linear' | 'q-table') =>
  kind === 'linear'
    ? { 'policy.kind': 'linear', 'policy.bias': true }
    : { 'policy.kind': 'q-table', 'policy.form': 'values' };

function policyKind({ theirs }: Draft, environment: string): 'linear' | 'q-table' {
  if (observesStates(environment)) return 'q-table';
  const continuous = given(theirs, 'continuous');
  const isTable = continuous === undefined ? Array.isArray(given(theirs, 'states')) : !isOn(continuous);
  return isTable ? 'q-table' : 'linear';
}

/** True if the template predates their latest code: such templates show trajectories, or only the last policy. */
const isOlder = ({ theirs }: Draft): boolean => {
  const template = given(theirs, 'llm_si_template_name');
  return template !== undefined && promptsOf(template) === undefined;
};

const task: KeyImport = (draft, key, _value, { policy }) => {
  const optimum = policy === 'linear' ? runnerOf(given(draft.theirs, 'task'))?.optimum : undefined;
  if (optimum === undefined) {
    drop(
      draft,
      key,
      'selects a runner in the original; here the environment and the policy determine everything',
    );
  } else {
    const prompts = isOlder(draft) ? 'latest prompts, unlike older ones,' : 'prompts';
    const reason = `in the original, this task's ${prompts} state an optimum of ${optimum}`;
    change(draft, key, reason, { 'prompts.optimum': optimum });
  }
};

const continuous: KeyImport = (draft, key, value, { policy, environment: { id } }) => {
  if (isOn(value) !== (policy === 'linear'))
    return drop(draft, key, `${id} has discrete states, so it needs a table`);
  if (policy === 'linear') return carry(draft, key, policyFields(policy));
  const reason =
    'a value for every state and action, as in the original; policy.form: actions (one action per state) is far easier for a model';
  return change(draft, key, reason, policyFields(policy));
};

const tableActions: KeyImport = (draft, key, _value, { policy, environment: { id } }) => {
  if (policy === 'q-table' && hasContinuousActions(id) && !isGiven(draft, 'num_action_bins')) {
    carry(draft, key, { 'policy.actions': actionVectors(draft.theirs, id) });
  } else drop(draft, key, `follows from ${id}`);
};

const actionBins: KeyImport = (draft, key, value, { policy, environment: { id } }) => {
  if (policy === 'linear') drop(draft, key, 'a linear policy outputs the action itself');
  else if (!hasContinuousActions(id)) drop(draft, key, `the actions of ${id} are discrete`);
  else {
    change(draft, key, `${String(value)} values, evenly spaced over the action range`, {
      'policy.actions': actionVectors(draft.theirs, id),
    });
  }
};

const tableStates: KeyImport = (draft, key, _value, { policy, environment: { id } }) => {
  const dimensions = dimensionsOf(id);
  if (policy === 'linear' || dimensions === undefined) drop(draft, key, `follows from ${id}`);
  else if (dimensions.some((dimension) => dimension.key !== undefined && isGiven(draft, dimension.key))) {
    drop(draft, key, 'follows from the numbers of bins; policyloop counts states from 0');
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
      `${String(value)} equal bins, counted from 0; the original has this many edges, so one bin is never used`,
      { 'policy.discretize': binsOf(draft.theirs, dimensions) },
    );
  } else drop(draft, key, `no component of ${id}'s observation uses this`);
};

const binImports: Readonly<Record<string, KeyImport>> = {
  num_action_bins: actionBins,
  ...Object.fromEntries(binKeys.map((key) => [key, bins])),
};

const projection: KeyImport = (draft, key, value, { policy }) => {
  if (policy === 'linear') return carry(draft, key, { 'policy.projection.rank': value });
  throw new UserError({
    field: key,
    message: 'projects the values of a table, but policyloop can only project weights',
    value,
    remedy: `remove it with ${key}=; the model then proposes every entry of the table`,
  });
};

const showsBuffer = ({ theirs }: Draft): boolean => {
  const use = given(theirs, 'use_replay_buffer');
  return use === undefined || isOn(use);
};

/** Number of evaluations in the buffer and the prompt; with older templates, steps per trajectory in the prompt. */
const bufferSize: KeyImport = (draft, key, value, { environment: { id } }) => {
  if (!isOlder(draft)) {
    const reason =
      'the prompt shows this many of the latest evaluations, as in the original; it truncates no episodes';
    change(draft, key, reason, { 'memory.recent': value, ...wholeHistory });
    return;
  }
  const limit = stepLimit(id);
  const cut =
    limit === undefined
      ? 'evaluation.maxSteps truncates episodes'
      : `${id} truncates episodes after ${limit} steps`;
  drop(draft, key, `the maximum number of steps of a trajectory in the prompt is memory.rows here; ${cut}`);
};

const trajectories: KeyImport = (draft, key, value) => {
  if (!isOlder(draft))
    return drop(draft, key, 'not used in the original, where max_traj_length is the buffer size');
  if (!showsBuffer(draft)) return drop(draft, key, 'the replay buffer is not shown (use_replay_buffer)');
  const reason =
    'the prompt shows this many evaluations, each with memory.rows sampled steps of its first episode';
  change(draft, key, reason, { 'memory.recent': value, 'memory.trajectories': 'rows', ...wholeHistory });
};

const useReplayBuffer: KeyImport = (draft, key) => {
  if (showsBuffer(draft)) return carry(draft, key);
  const reason =
    'no evaluations are shown; older prompts still showed the last policy and its return, as memory.recent=1 does';
  change(draft, key, reason, { 'memory.best': 0, 'memory.recent': 0 });
};

const conversation: KeyImport = (draft, key, value) => {
  if (isOn(value) || !isOlder(draft)) return carry(draft, key);
  drop(draft, key, 'every iteration starts from a fresh prompt, as in the latest code');
};

const warmUp: KeyImport = (draft, key, value) => {
  const reason =
    "the random policies and the untrained one, which the original also evaluates; weights come from policyloop's distribution, not from U(-3.5, 3.5)";
  const policies = typeof value === 'number' ? value + 1 : value;
  change(draft, key, reason, { 'warmup.policies': policies });
};

const modelType: KeyImport = (draft, key, _value, { model }) => {
  if (model === undefined) drop(draft, key, 'llm_model_name is not set');
  else carry(draft, key, { 'model.provider': model.fields.provider });
};

const baseModel: KeyImport = (draft, key, _value, { model }) => {
  const fields = model?.fields;
  if (fields?.adapter !== undefined) carry(draft, key, { 'model.path': fields.path });
  else drop(draft, key, 'only applies with model_type: OFFLINE');
};

const keys: Readonly<Record<string, KeyImport>> = {
  ...sharedKeys,
  task,
  experiments: dropped('several runs are a sweep: policyloop sweep CONFIG seed=1..10'),
  continuous,
  actions: tableActions,
  states: tableStates,
  ...binImports,
  rank: projection,
  grid_size: (draft, key, value, { environment }) => importGridSize(draft, key, value, environment.id),
  max_traj_length: bufferSize,
  max_traj_count: trajectories,
  use_replay_buffer: useReplayBuffer,
  reset_llm_conversation: conversation,
  llm_ui_template_name: dropped('the user prompt is part of the prompt set'),
  model_type: modelType,
  base_model: baseModel,
  warmup_episodes: warmUp,
  optimum: carried('prompts.optimum'),
  step_size: carried('prompts.stepSize'),
  record_video: droppedIfOn('use policyloop evaluate --picture to draw an episode of a run'),
  print_episode: dropped('every iteration is saved'),
  max_limit: dropped('the report scales its plots to the data'),
  title: dropped('the report takes its title from the run'),
};

export const llmRlFinetune: Dialect = {
  name: 'LLM-RL-finetune',
  keys,
  read(draft) {
    const { theirs } = draft;
    const environment = chooseEnvironment(theirs, runnerOf(given(theirs, 'task'))?.environment);
    const policy = policyKind(draft, environment.id);
    assign(draft, policyFields(policy));
    if (!isGiven(draft, 'warmup_episodes')) assign(draft, { 'warmup.policies': 1 });
    const prompts = promptsOf(given(theirs, 'llm_si_template_name')) ?? 'semantic';
    assign(draft, { 'prompts.set': prompts });
    return { environment, model: chooseModel(theirs), policy, prompts };
  },
};

/** Settings that the code of LLM-RL-finetune hard-wires for a `task`, regardless of other keys. */
interface Runner {
  readonly environment: string;
  /** The constant that its prompts state as the optimum, for linear policies. */
  readonly optimum?: number;
}

const doublePendulum: Runner = { environment: 'InvertedDoublePendulum-v5', optimum: 10_000 };

const runners: Readonly<Record<string, Runner>> = {
  mc_continuous: { environment: 'MountainCarContinuous-v0', optimum: 100 },
  cartpole: { environment: 'CartPole-v1', optimum: 500 },
  inverted_pendulum: { environment: 'InvertedPendulum-v5', optimum: 1000 },
  swimmer: { environment: 'Swimmer-v5', optimum: 250 },
  hopper: { environment: 'Hopper-v5', optimum: 1000 },
  reacher: { environment: 'Reacher-v5', optimum: -5 },
  walker: { environment: 'Walker2d-v5', optimum: 10_000 },
  pong: { environment: 'Pong-v0', optimum: 3 },
  mountaincar: { environment: 'MountainCar-v0', optimum: 100 },
  pendulum: { environment: 'Pendulum-v1' },
  blackjack: { environment: 'Blackjack-v1' },
  grid_world: { environment: 'FrozenLake-v1' },
  frozen_lake: { environment: 'FrozenLake-v1' },
};

const doubleSpellings = /^((double|dbl)_?i|inv(erted)?_?(double|dbl)_?p)/;

export function runnerOf(task: unknown): Runner | undefined {
  const name = String(task).toLowerCase();
  if (Object.hasOwn(runners, name)) return runners[name];
  return doubleSpellings.test(name) ? doublePendulum : undefined;
}
