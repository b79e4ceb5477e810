/** LLM-RL-finetune: linear policies and Q-tables, with one runner per task. */
import { UserError } from '../../base/errors.js';
import { actionVectors, binKeys, binsOf, dimensionsOf, hasContinuousActions } from './bins.js';
import { nameFrom, setPrompts, templateOf, wholeHistory } from './common.js';
import { assign, carry, change, type Draft, given, isOn } from './draft.js';
import { chooseEnvironment, importEnvironment, importOptions, observesStates } from './environment.js';
import { importModel } from './model.js';

export const finetuneKeys: readonly string[] = [
  ...[
    'task',
    'experiments',
    'num_episodes',
    'gym_env_name',
    'render_mode',
    'logdir',
    'continuous',
    'actions',
  ],
  ...['states', ...binKeys, 'num_action_bins', 'rank', 'grid_size', 'is_slippery', 'max_traj_count'],
  ...['max_traj_length', 'template_dir', 'llm_si_template_name', 'llm_ui_template_name', 'env_desc_file'],
  ...['llm_output_conversion_template_name', 'llm_model_name', 'model_type', 'base_model', 'warmup_episodes'],
  ...['num_evaluation_episodes', 'step_size', 'optimum', 'record_video', 'use_replay_buffer', 'title'],
  ...['reset_llm_conversation', 'print_episode', 'max_limit'],
];

export function importFinetune(draft: Draft): void {
  const { theirs } = draft;
  const runner = runnerOf(given(theirs, 'task'));
  const environment = chooseEnvironment(theirs, runner?.environment);
  const policy = policyKind(draft, environment.id);
  importEnvironment(draft, environment);
  importOptions(draft, environment.id);
  importModel(draft);
  nameFrom(draft);
  const prompts = promptsOf(templateOf(draft)) ?? 'semantic';
  assign(draft, { 'prompts.set': prompts, 'warmup.policies': 1 });
  setPrompts(draft, prompts);
  // Their linear policies have a bias; their tables have a value for every state and action.
  const kind = policy === 'linear' ? { 'policy.bias': true } : { 'policy.form': 'values' };
  assign(draft, { 'policy.kind': policy, ...kind });
  const continuous = given(theirs, 'continuous');
  if (continuous !== undefined && isOn(continuous) === (policy === 'linear'))
    carry(draft, 'continuous', { 'policy.kind': policy });
  if (policy === 'linear' && runner?.optimum !== undefined) {
    const reason = `in the original, the prompts of this task state an optimum of ${runner.optimum}`;
    change(draft, 'task', reason, { 'prompts.optimum': runner.optimum });
  }
  const paths = {
    num_episodes: 'iterations',
    num_evaluation_episodes: 'evaluation.episodes',
    optimum: 'prompts.optimum',
    step_size: 'prompts.stepSize',
  };
  for (const [key, path] of Object.entries(paths)) {
    const value = given(theirs, key);
    if (value !== undefined) carry(draft, key, { [path]: value });
  }
  const warmup = given(theirs, 'warmup_episodes');
  if (warmup !== undefined)
    change(draft, 'warmup_episodes', 'and the untrained policy, which the original also evaluates', {
      'warmup.policies': typeof warmup === 'number' ? warmup + 1 : warmup,
    });
  const rank = given(theirs, 'rank');
  if (rank !== undefined && policy === 'q-table')
    throw new UserError({
      field: 'rank',
      message: 'projects the values of a table, but policyloop can only project weights',
      value: rank,
      hint: 'remove it with rank=; the model then proposes every entry of the table',
    });
  if (rank !== undefined) carry(draft, 'rank', { 'policy.projection.rank': rank });
  if (policy === 'q-table') importTable(draft, environment.id);
  importMemory(draft);
}

function policyKind({ theirs }: Draft, environment: string): 'linear' | 'q-table' {
  if (observesStates(environment)) return 'q-table';
  const continuous = given(theirs, 'continuous');
  const isTable = continuous === undefined ? Array.isArray(given(theirs, 'states')) : !isOn(continuous);
  return isTable ? 'q-table' : 'linear';
}

/** The prompt set that a template's name suggests, if any; `semantic` takes precedence over `numeric`. */
function promptsOf(template: string): 'numeric' | 'semantic' | undefined {
  if (/semantic/i.test(template)) return 'semantic';
  return /numeric|num_optim/i.test(template) ? 'numeric' : undefined;
}

/** Divides continuous observations and actions into the bins of a table. */
function importTable(draft: Draft, id: string): void {
  const { theirs } = draft;
  const dimensions = dimensionsOf(id);
  if (dimensions !== undefined) {
    const counted = dimensions.flatMap(({ key }) =>
      key !== undefined && given(theirs, key) !== undefined ? [key] : [],
    );
    const fields = { 'policy.discretize': binsOf(theirs, dimensions) };
    for (const key of counted.length > 0 ? counted : ['states'])
      change(draft, key, 'equal bins, counted from 0; the original never uses one of its bins', fields);
  }
  if (!hasContinuousActions(id)) return;
  const key = given(theirs, 'num_action_bins') === undefined ? 'actions' : 'num_action_bins';
  carry(draft, key, { 'policy.actions': actionVectors(theirs, id) });
}

/** Templates of the newest code show the last `max_traj_length` evaluations; older ones show `max_traj_count` episodes. */
function importMemory(draft: Draft): void {
  const { theirs } = draft;
  const isOlder = templateOf(draft) !== '' && promptsOf(templateOf(draft)) === undefined;
  const use = given(theirs, 'use_replay_buffer');
  if (use !== undefined && !isOn(use)) {
    const fields = { 'memory.best': 0, 'memory.recent': 0 };
    change(draft, 'use_replay_buffer', 'the prompt shows no evaluations', fields);
    return;
  }
  const key = isOlder ? 'max_traj_count' : 'max_traj_length';
  const recent = given(theirs, key);
  if (recent === undefined) return;
  change(draft, key, 'the prompt shows this many of the latest evaluations; no episode is truncated', {
    'memory.recent': recent,
    ...(isOlder && { 'memory.trajectories': 'rows' }),
    ...wholeHistory,
  });
}

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

export function runnerOf(task: unknown): Runner | undefined {
  const name = String(task).toLowerCase();
  if (Object.hasOwn(runners, name)) return runners[name];
  return /^((double|dbl)_?i|inv(erted)?_?(double|dbl)_?p)/.test(name) ? doublePendulum : undefined;
}
