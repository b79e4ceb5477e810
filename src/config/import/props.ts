/** Prompted Policy Search: configs of the ProPS paper and of forks of its code. */
import {
  assign,
  carry,
  carryAll,
  drop,
  type ImportDraft,
  isTrue,
  keyValue,
  setName,
  setPrompts,
  templateOf,
  unlimitedMemory,
} from './draft.js';
import { chooseEnvironment, importEnvironment, importOptions } from './environment.js';
import { importModel } from './model.js';

/** Known keys of the paper's code and of its forks; those without an equivalent here are dropped with a note. */
export const propsKeys: readonly string[] = [
  ...'task num_episodes gym_env_name render_mode logdir dim_actions dim_states max_traj_count'.split(' '),
  ...'max_traj_length template_dir llm_si_template_name llm_output_conversion_template_name'.split(' '),
  ...'llm_model_name num_evaluation_episodes warmup_episodes warmup_dir bias rank optimum'.split(' '),
  ...'search_step_size env_kwargs is_slippery env_desc_file ollama_num_ctx ollama_num_predict'.split(' '),
  ...'include_trajectories param_min param_max summary max_best_length buffer_top_k'.split(' '),
  ...'buffer_recent_j include_feedback_with_params feedback_interval use_gemini_feedback'.split(' '),
];

/** Keys of a fork whose semantic prompts also show the trajectories of linear policies. */
const forkKeys = [
  ...['include_trajectories', 'ollama_num_ctx', 'ollama_num_predict', 'param_min', 'param_max'],
  ...['include_feedback_with_params', 'feedback_interval', 'use_gemini_feedback'],
];

export function importProps(draft: ImportDraft): void {
  const { foreign } = draft;
  const task = String(keyValue(foreign, 'task') ?? '');
  const isFromPaper = isPaperTask(task);
  const isTable = isFromPaper
    ? task.startsWith('dist_')
    : Array.isArray(keyValue(foreign, 'dim_states')) || /^dist_state|q_table/.test(task);
  const isSemantic = isFromPaper
    ? task.includes('semantics')
    : /semantic/.test(`${task} ${templateOf(draft)}`) || keyValue(foreign, 'env_desc_file') !== undefined;
  const [policy, prompts] = [isTable ? 'q-table' : 'linear', isSemantic ? 'semantic' : 'numeric'] as const;
  const environment = chooseEnvironment(foreign);
  const kindSettings = {
    'policy.kind': policy,
    // Without the key `bias`, the original's linear policies have none; ours have one by default.
    ...(policy === 'linear' ? { 'policy.bias': false } : { 'policy.form': 'actions' }),
    'prompts.set': prompts,
  };
  assign(draft, { ...kindSettings, ...unlimitedMemory });
  const reason = `${task} isn't one of the paper's tasks, so it is imported as a ${policy} policy with ${prompts} prompts`;
  if (task !== '') carry(draft, 'task', kindSettings, isFromPaper ? undefined : reason);
  importEnvironment(draft, environment);
  importOptions(draft, environment.id);
  importModel(draft);
  setName(draft);
  setPrompts(draft, prompts);
  carryAll(draft, {
    num_episodes: 'iterations',
    num_evaluation_episodes: 'evaluation.episodes',
    warmup_episodes: 'warmup.policies',
    optimum: 'prompts.optimum',
    max_traj_count: 'memory.recent',
    max_best_length: 'memory.best',
    buffer_top_k: 'memory.best',
    buffer_recent_j: 'memory.recent',
    max_traj_length: 'evaluation.maxSteps',
    ...(policy === 'linear' && {
      param_min: 'policy.low',
      param_max: 'policy.high',
      search_step_size: 'prompts.stepSize',
      ...(task.endsWith('_rndm_proj') && { rank: 'policy.projection.rank' }),
    }),
  });
  const bias = keyValue(foreign, 'bias');
  if (policy === 'linear' && bias !== undefined) carry(draft, 'bias', { 'policy.bias': isTrue(bias) });
  importTrajectories(draft, policy, prompts);
  importContext(draft);
  if (keyValue(foreign, 'warmup_dir') !== undefined)
    drop(draft, 'warmup_dir', 'these files are not read; new random policies are drawn (or see warmup.from)');
}

const isPaperTask = (task: string) =>
  /^(cont_space_llm_num_optim(_rndm_proj)?|(cont|dist)_state_llm_num_optim_semantics(_with_feedback)?|dist_state_llm_num_optim)$/.test(
    task,
  );

/**
 * Semantic prompts show the whole first episode of each evaluation: for tables in every version of the code, for
 * linear policies in one fork.
 */
function importTrajectories(draft: ImportDraft, policy: string, prompts: string): void {
  const { foreign } = draft;
  if (prompts === 'numeric') return;
  const includeValue = keyValue(foreign, 'include_trajectories');
  const isFork = forkKeys.some((key) => keyValue(foreign, key) !== undefined);
  const length = keyValue(foreign, 'max_traj_length');
  if (includeValue === undefined ? policy === 'q-table' || isFork : isTrue(includeValue)) {
    const rows = policy === 'q-table' && typeof length === 'number' ? { 'memory.rows': length } : {};
    assign(draft, { 'memory.trajectories': 'rows', ...rows });
    if (includeValue !== undefined) carry(draft, 'include_trajectories', { 'memory.trajectories': 'rows' });
  } else if (isTrue(keyValue(foreign, 'summary'))) {
    const reason = 'computed from the first episode, not written by a model';
    carry(draft, 'summary', { 'memory.trajectories': 'summary' }, reason);
  }
}

/** Prompts and replies must fit into Ollama's context together, so the history gets half of it. */
function importContext(draft: ImportDraft): void {
  const { config, foreign } = draft;
  if ((config.model as { provider?: string } | undefined)?.provider !== 'ollama') return;
  const [context, asked] = ['ollama_num_ctx', 'ollama_num_predict'].map((key) => keyValue(foreign, key));
  const half = typeof context === 'number' ? Math.max(1, Math.floor(context / 2)) : undefined;
  // In Ollama, negative numbers mean no limit.
  const maxTokens = typeof asked === 'number' && asked > 0 ? asked : Math.min(4096, half ?? 4096);
  if (asked !== undefined) carry(draft, 'ollama_num_predict', { 'model.maxTokens': maxTokens });
  const outputLimit = half && maxTokens;
  const limits = { 'model.contextTokens': context, 'model.maxTokens': outputLimit, 'memory.tokens': half };
  if (context !== undefined) carry(draft, 'ollama_num_ctx', limits, 'the history gets half of it');
}
