/** LLM-RL-finetune: linear policies and Q-tables, with one runner per task. */
import { UserError } from '../../base/errors.js';
import { actionsOf, binKeys, binsOf } from './bins.js';
import {
  assign,
  carry,
  carryAll,
  type ImportDraft,
  isTrue,
  keyValue,
  setName,
  setPrompts,
  templateOf,
  unlimitedMemory,
} from './draft.js';
import { chooseEnvironment, hasFiniteStates, importEnvironment, importOptions } from './environment.js';
import { importModel } from './model.js';

export const llmRlFinetuneKeys: readonly string[] = [
  ...binKeys,
  ...'task experiments num_episodes gym_env_name render_mode logdir continuous actions states'.split(' '),
  ...'num_action_bins rank grid_size is_slippery max_traj_count max_traj_length template_dir'.split(' '),
  ...'llm_si_template_name llm_ui_template_name llm_output_conversion_template_name env_desc_file'.split(' '),
  ...'llm_model_name model_type base_model warmup_episodes num_evaluation_episodes step_size'.split(' '),
  ...'optimum record_video use_replay_buffer title reset_llm_conversation print_episode max_limit'.split(' '),
];

export function importFinetune(draft: ImportDraft): void {
  const { foreign } = draft;
  const runner = runnerOf(keyValue(foreign, 'task'));
  const environment = chooseEnvironment(foreign, runner?.environment);
  const policy = policyKind(draft, environment.id);
  importEnvironment(draft, environment);
  importOptions(draft, environment.id);
  importModel(draft);
  setName(draft);
  const prompts = promptSetOf(templateOf(draft)) ?? 'semantic';
  assign(draft, { 'prompts.set': prompts, 'warmup.policies': 1 });
  setPrompts(draft, prompts);
  // The original's linear policies have a bias; its tables have a value for every state and action.
  const policySettings = policy === 'linear' ? { 'policy.bias': true } : { 'policy.form': 'values' };
  assign(draft, { 'policy.kind': policy, ...policySettings });
  const continuous = keyValue(foreign, 'continuous');
  if (continuous !== undefined && isTrue(continuous) === (policy === 'linear'))
    carry(draft, 'continuous', { 'policy.kind': policy });
  if (policy === 'linear' && runner?.optimum !== undefined) {
    const reason = `in the original, the prompts of this task state an optimum of ${runner.optimum}`;
    carry(draft, 'task', { 'prompts.optimum': runner.optimum }, reason);
  }
  carryAll(draft, {
    num_episodes: 'iterations',
    num_evaluation_episodes: 'evaluation.episodes',
    optimum: 'prompts.optimum',
    step_size: 'prompts.stepSize',
  });
  const warmup = keyValue(foreign, 'warmup_episodes');
  const fields = { 'warmup.policies': typeof warmup === 'number' ? warmup + 1 : warmup };
  if (warmup !== undefined)
    carry(draft, 'warmup_episodes', fields, 'plus the untrained policy, which the original also evaluates');
  const rank = keyValue(foreign, 'rank');
  if (rank !== undefined && policy === 'q-table')
    throw new UserError({
      field: 'rank',
      message: 'projects the values of a table, but policyloop can only project weights',
      value: rank,
      hint: 'remove it; the model then proposes every entry of the table',
    });
  if (rank !== undefined) carry(draft, 'rank', { 'policy.projection.rank': rank });
  if (policy === 'q-table') importTable(draft, environment.id);
  importMemory(draft);
}

function policyKind({ foreign }: ImportDraft, environment: string): 'linear' | 'q-table' {
  if (hasFiniteStates(environment)) return 'q-table';
  const continuous = keyValue(foreign, 'continuous');
  const isTable = continuous === undefined ? Array.isArray(keyValue(foreign, 'states')) : !isTrue(continuous);
  return isTable ? 'q-table' : 'linear';
}

/** The prompt set that a template's name suggests, if any; `semantic` takes precedence over `numeric`. */
function promptSetOf(template: string): 'numeric' | 'semantic' | undefined {
  if (/semantic/i.test(template)) return 'semantic';
  return /numeric|num_optim/i.test(template) ? 'numeric' : undefined;
}

/** Divides continuous observations and actions into the bins of a table. */
function importTable(draft: ImportDraft, id: string): void {
  const binning = binsOf(draft.foreign, id);
  const reason = 'bins of equal width, numbered from 0; the original leaves one bin unused';
  for (const key of binning?.keys ?? []) carry(draft, key, { 'policy.discretize': binning!.bins }, reason);
  const actionBins = actionsOf(draft.foreign, id);
  if (actionBins !== undefined) carry(draft, actionBins.key, { 'policy.actions': actionBins.actions });
}

/** New templates show the last `max_traj_length` evaluations, older ones the last `max_traj_count` episodes. */
function importMemory(draft: ImportDraft): void {
  const { foreign } = draft;
  const isOlder = templateOf(draft) !== '' && promptSetOf(templateOf(draft)) === undefined;
  const usesBuffer = keyValue(foreign, 'use_replay_buffer');
  if (usesBuffer !== undefined && !isTrue(usesBuffer)) {
    carry(draft, 'use_replay_buffer', { memory: 'none' }, 'the prompt shows no evaluations');
    return;
  }
  const key = isOlder ? 'max_traj_count' : 'max_traj_length';
  const recent = keyValue(foreign, key);
  if (recent === undefined) return;
  const memorySettings = {
    'memory.recent': recent,
    ...(isOlder && { 'memory.trajectories': 'rows' }),
    ...unlimitedMemory,
  };
  const reason = 'the prompt shows this many of the latest evaluations; no episode is truncated';
  carry(draft, key, memorySettings, reason);
}

/**
 * The environment that the code of LLM-RL-finetune hard-wires for a `task`, regardless of other keys, and the constant
 * that its prompts state as the optimum for linear policies.
 */
const runners: Readonly<Record<string, readonly [environment: string, optimum?: number]>> = {
  mc_continuous: ['MountainCarContinuous-v0', 100],
  cartpole: ['CartPole-v1', 500],
  inverted_pendulum: ['InvertedPendulum-v5', 1000],
  swimmer: ['Swimmer-v5', 250],
  hopper: ['Hopper-v5', 1000],
  reacher: ['Reacher-v5', -5],
  walker: ['Walker2d-v5', 10_000],
  pong: ['Pong-v0', 3],
  mountaincar: ['MountainCar-v0', 100],
  pendulum: ['Pendulum-v1'],
  blackjack: ['Blackjack-v1'],
  grid_world: ['FrozenLake-v1'],
  frozen_lake: ['FrozenLake-v1'],
  double_pendulum: ['InvertedDoublePendulum-v5', 10_000],
};

export function runnerOf(task: unknown) {
  const name = String(task).toLowerCase();
  const isDouble = /^((double|dbl)_?i|inv(erted)?_?(double|dbl)_?p)/.test(name);
  const runnerName = isDouble ? 'double_pendulum' : name;
  const [environment, optimum] = Object.hasOwn(runners, runnerName) ? runners[runnerName]! : [];
  return environment === undefined ? undefined : { environment, optimum };
}
