/** Prompted Policy Search: configs of the ProPS paper and of forks of its code. */
import { nameFrom, setPrompts, templateOf, wholeHistory } from './common.js';
import { assign, carry, change, type Draft, drop, given, isOn } from './draft.js';
import { chooseEnvironment, importEnvironment, importOptions } from './environment.js';
import { importModel } from './model.js';

/** The keys of the paper's code and of forks that have a meaning here or are named in a reason. */
export const propsKeys = [
  ...['task', 'num_episodes', 'gym_env_name', 'render_mode', 'logdir', 'dim_actions', 'dim_states'],
  ...['max_traj_count', 'max_traj_length', 'template_dir', 'llm_si_template_name', 'llm_model_name'],
  ...['llm_output_conversion_template_name', 'num_evaluation_episodes', 'warmup_episodes', 'warmup_dir'],
  ...['bias', 'rank', 'optimum', 'search_step_size', 'env_kwargs', 'is_slippery', 'env_desc_file'],
  ...['ollama_num_ctx', 'ollama_num_predict', 'include_trajectories', 'param_min', 'param_max', 'summary'],
  ...['max_best_length', 'buffer_top_k', 'buffer_recent_j', 'include_feedback_with_params'],
  ...['feedback_interval', 'use_gemini_feedback'],
] as const;

/** Keys of a fork whose semantic prompts also show the trajectories of linear policies. */
const forkKeys = [
  ...['include_trajectories', 'ollama_num_ctx', 'ollama_num_predict', 'param_min', 'param_max'],
  ...['include_feedback_with_params', 'feedback_interval', 'use_gemini_feedback'],
];

export function importProps(draft: Draft): void {
  const { theirs } = draft;
  const task = String(given(theirs, 'task') ?? '');
  const isTable = Array.isArray(given(theirs, 'dim_states')) || /^dist_state|q_table/.test(task);
  const isSemantic =
    /semantic/.test(`${task} ${templateOf(draft)}`) ||
    (!isKnown(task) && given(theirs, 'env_desc_file') !== undefined);
  const policy = isKnown(task)
    ? task.startsWith('dist_')
      ? 'q-table'
      : 'linear'
    : isTable
      ? 'q-table'
      : 'linear';
  const prompts = (isKnown(task) ? /semantics/.test(task) : isSemantic) ? 'semantic' : 'numeric';
  const environment = chooseEnvironment(theirs);
  const kinds = {
    'policy.kind': policy,
    // Without the key `bias`, their linear policies have none; ours have one by default.
    ...(policy === 'linear' ? { 'policy.bias': false } : { 'policy.form': 'actions' }),
    'prompts.set': prompts,
  };
  assign(draft, { ...kinds, ...wholeHistory });
  if (isKnown(task)) carry(draft, 'task', kinds);
  else if (task !== '')
    change(
      draft,
      'task',
      `${task} isn't one of the paper's tasks, so it is imported as a ${policy} policy with ${prompts} prompts`,
      kinds,
    );
  importEnvironment(draft, environment);
  importOptions(draft, environment.id);
  importModel(draft);
  nameFrom(draft);
  setPrompts(draft, prompts);
  const paths = {
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
  };
  for (const [key, path] of Object.entries(paths)) {
    const value = given(theirs, key);
    if (value !== undefined) carry(draft, key, { [path]: value });
  }
  const bias = given(theirs, 'bias');
  if (policy === 'linear' && bias !== undefined) carry(draft, 'bias', { 'policy.bias': isOn(bias) });
  importNim(draft, environment.id);
  importTrajectories(draft, policy, prompts);
  importContext(draft);
  if (given(theirs, 'warmup_dir') !== undefined)
    drop(draft, 'warmup_dir', 'these files are not read; new random policies are drawn (or see warmup.from)');
}

const isKnown = (task: string) =>
  /^(cont_space_llm_num_optim(_rndm_proj)?|(cont|dist)_state_llm_num_optim_semantics(_with_feedback)?|dist_state_llm_num_optim)$/.test(
    task,
  );

/** In Nim, taking 0 sticks is illegal, and without 3 no table returns more than −1/9 on average. */
function importNim(draft: Draft, id: string): void {
  const written = given(draft.theirs, 'dim_actions');
  const list = Array.isArray(written) ? (written as unknown[]).flat() : [];
  if (id === 'Nim-v0' && list.length > 0 && (list.includes(0) || !list.includes(3)))
    change(
      draft,
      'dim_actions',
      'taking 0 sticks is illegal, so the entries of the table are 1, 2 or 3 here',
    );
}

/**
 * Semantic prompts show the whole first episode of each evaluation: for tables in every version of the code, for
 * linear policies in one fork.
 */
function importTrajectories(draft: Draft, policy: string, prompts: string): void {
  const { theirs } = draft;
  if (prompts === 'numeric') return;
  const include = given(theirs, 'include_trajectories');
  const isFork = forkKeys.some((key) => given(theirs, key) !== undefined);
  const length = given(theirs, 'max_traj_length');
  if (include === undefined ? policy === 'q-table' || isFork : isOn(include)) {
    const rows = policy === 'q-table' && typeof length === 'number' ? { 'memory.rows': length } : {};
    assign(draft, { 'memory.trajectories': 'rows', ...rows });
    if (include !== undefined) carry(draft, 'include_trajectories', { 'memory.trajectories': 'rows' });
  } else if (isOn(given(theirs, 'summary'))) {
    const reason = 'computed from the first episode, not written by a model';
    change(draft, 'summary', reason, { 'memory.trajectories': 'summary' });
  }
}

/** Ollama would truncate longer prompts, so the history gets the room that the reply and the task leave. */
function importContext(draft: Draft): void {
  const { config, theirs } = draft;
  if ((config.model as { provider?: string } | undefined)?.provider !== 'ollama') return;
  const [context, asked] = ['ollama_num_ctx', 'ollama_num_predict'].map((key) => given(theirs, key));
  const most = typeof context === 'number' ? Math.floor(context / 2) : Number.POSITIVE_INFINITY;
  // In Ollama, negative numbers mean no limit.
  const wanted = typeof asked === 'number' && asked > 0 ? asked : 4096;
  const maxTokens = Math.max(1, Math.min(wanted, most));
  if (asked !== undefined) {
    const fields = { 'model.maxTokens': typeof asked === 'number' ? maxTokens : asked };
    if (asked === maxTokens) carry(draft, 'ollama_num_predict', fields);
    else change(draft, 'ollama_num_predict', 'half of the context is left for the prompt', fields);
  }
  if (context === undefined) return;
  const left = typeof context === 'number' ? context - maxTokens : undefined;
  change(draft, 'ollama_num_ctx', 'the history gets the room that the reply and the task leave', {
    'model.contextTokens': context,
    ...(left !== undefined && {
      'model.maxTokens': maxTokens,
      'memory.tokens': Math.max(1, Math.floor(Math.max(left - 1500, left / 2))),
    }),
  });
}
