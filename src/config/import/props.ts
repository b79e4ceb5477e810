/** Prompted Policy Search: configs of the ProPS paper and of forks of its code. */
import { assign, carry, change, type Draft, drop, type Fields, given, isOn } from './draft.js';
import { chooseEnvironment, importOptions } from './environment.js';
import {
  carried,
  type Dialect,
  dropped,
  droppedIfOn,
  isGiven,
  type KeyImport,
  type Reading,
  sharedKeys,
  warmUp,
  wholeHistory,
} from './keys.js';
import { chooseModel } from './model.js';

/** Each task determines the kind of policy and prompts. */
const tasks: Readonly<
  Record<string, { readonly policy: 'linear' | 'q-table'; readonly prompts: 'numeric' | 'semantic' }>
> = {
  cont_space_llm_num_optim: { policy: 'linear', prompts: 'numeric' },
  cont_space_llm_num_optim_rndm_proj: { policy: 'linear', prompts: 'numeric' },
  cont_state_llm_num_optim_semantics: { policy: 'linear', prompts: 'semantic' },
  cont_state_llm_num_optim_semantics_with_feedback: { policy: 'linear', prompts: 'semantic' },
  dist_state_llm_num_optim: { policy: 'q-table', prompts: 'numeric' },
  dist_state_llm_num_optim_semantics: { policy: 'q-table', prompts: 'semantic' },
  dist_state_llm_num_optim_semantics_with_feedback: { policy: 'q-table', prompts: 'semantic' },
};

/**
 * Infers the kinds for an unknown task from its name, its template's name and other keys: tables have lists of states,
 * semantic prompts have a description.
 */
function guess({ theirs }: Draft) {
  const task = String(given(theirs, 'task') ?? '');
  const isTable = Array.isArray(given(theirs, 'dim_states')) || /^dist_state|q_table/.test(task);
  const isSemantic = /semantic/.test(`${task} ${String(given(theirs, 'llm_si_template_name') ?? '')}`);
  return {
    policy: isTable ? 'q-table' : 'linear',
    prompts: isSemantic || given(theirs, 'env_desc_file') !== undefined ? 'semantic' : 'numeric',
  } as const;
}

const isProjected = (task: unknown) => String(task).endsWith('_rndm_proj');

function fieldsOf({ policy, prompts }: Kinds): Fields {
  return {
    'policy.kind': policy,
    // Without the key `bias`, their linear policies have none; ours have one by default.
    ...(policy === 'linear' ? { 'policy.bias': false } : { 'policy.form': 'actions' }),
    'prompts.set': prompts,
  };
}

const task: KeyImport = (draft, key, value, reading) => {
  const { policy, prompts } = reading;
  const fields = fieldsOf(reading);
  const name = String(value);
  if (!Object.hasOwn(tasks, name)) {
    change(
      draft,
      key,
      `${name} isn't one of the paper's tasks, so it is imported as a ${policy} policy with ${prompts} prompts`,
      fields,
    );
  } else if (name.endsWith('_with_feedback')) {
    change(draft, key, 'the model sees only returns, without remarks by a person or a vision model', fields);
  } else if (policy === 'linear' && prompts === 'semantic' && !showsTrajectories(draft, reading)) {
    const reason =
      "parameters and returns are shown, as in the paper's code; one fork also shows trajectories, as memory.trajectories=rows does";
    change(draft, key, reason, fields);
  } else carry(draft, key, fields);
};

const actions: KeyImport = (draft, key, value, { environment }) => {
  const list = Array.isArray(value) ? (value as unknown[]).flat() : [];
  if (environment.id === 'Nim-v0' && list.length > 0 && (list.includes(0) || !list.includes(3))) {
    change(
      draft,
      key,
      'taking 0 sticks is illegal, and without 3 no table returns more than -1/9 on average, so the entries of the table are 1, 2 or 3 here',
    );
  } else
    drop(
      draft,
      key,
      `follows from ${environment.id}${list.length > 0 ? '; a table can use all actions of the environment' : ''}`,
    );
};

const forTables: KeyImport = (draft, key, _value, { policy }) =>
  drop(
    draft,
    key,
    policy === 'linear'
      ? 'not used for linear policies in the original'
      : 'the entries of a table are actions',
  );

const ofNumbers =
  (path: string): KeyImport =>
  (draft, key, value, reading) =>
    reading.policy === 'linear'
      ? carry(draft, key, { [path]: value })
      : forTables(draft, key, value, reading);

const rank: KeyImport = (draft, key, value) => {
  if (isProjected(given(draft.theirs, 'task'))) carry(draft, key, { 'policy.projection.rank': value });
  else
    drop(
      draft,
      key,
      'only applies to tasks ending in _rndm_proj; to project here, set policy.projection: {rank: …}',
    );
};

const history: KeyImport = (draft, key, value) =>
  change(draft, key, 'the prompt shows this many of the latest evaluations, as in the original', {
    'memory.recent': value,
  });

type Kinds = Pick<Reading, 'policy' | 'prompts'>;

/** Keys of a fork whose semantic prompts also show the trajectories of linear policies. */
const forkKeys = [
  ...['include_trajectories', 'ollama_num_ctx', 'ollama_num_predict', 'param_min', 'param_max'],
  ...['include_feedback_with_params', 'feedback_interval', 'use_gemini_feedback'],
];

/**
 * Whether semantic prompts show the whole first episode of each evaluation: for tables in every version of
 * the code, for linear policies in one fork.
 */
function showsTrajectories({ theirs }: Draft, { policy, prompts }: Kinds): boolean {
  if (prompts === 'numeric') return false;
  const include = given(theirs, 'include_trajectories');
  if (include !== undefined) return isOn(include);
  return policy === 'q-table' || forkKeys.some((key) => given(theirs, key) !== undefined);
}

function trajectoryFields(draft: Draft, kinds: Kinds): Fields {
  if (!showsTrajectories(draft, kinds)) return {};
  const length = given(draft.theirs, 'max_traj_length');
  const isWhole = kinds.policy === 'q-table' && typeof length === 'number';
  return { 'memory.trajectories': 'rows', ...(isWhole && { 'memory.rows': length }) };
}

const trajectories: KeyImport = (draft, key, value, reading) => {
  if (!isOn(value)) carry(draft, key);
  else if (reading.prompts === 'numeric')
    drop(draft, key, 'in the original, numeric prompts show no trajectories');
  else
    change(
      draft,
      key,
      'the prompt shows memory.rows sampled steps of the first episode of each evaluation',
      trajectoryFields(draft, reading),
    );
};

const episodeLength: KeyImport = (draft, key, value, reading) => {
  const fields = { 'evaluation.maxSteps': value };
  if (!('memory.rows' in trajectoryFields(draft, reading))) return carry(draft, key, fields);
  const reason =
    'truncates episodes; the prompt shows the whole first episode of each evaluation, as in the original';
  return change(draft, key, reason, { ...fields, ...trajectoryFields(draft, reading) });
};

const summary: KeyImport = (draft, key, value, reading) => {
  if (!isOn(value)) carry(draft, key);
  else if (reading.prompts === 'numeric')
    drop(draft, key, 'in the original, numeric prompts show no summaries');
  else if (showsTrajectories(draft, reading)) drop(draft, key, 'the trajectories themselves are shown');
  else {
    change(draft, key, 'computed from the first episode, not written by a model', {
      'memory.trajectories': 'summary',
    });
  }
};

/** The requested maximum length of a completion (default: 4096), lowered to half of the context if necessary. */
function completionTokens({ theirs }: Draft): number {
  const [asked, context] = ['ollama_num_predict', 'ollama_num_ctx'].map((key) => given(theirs, key));
  const most = typeof context === 'number' ? Math.floor(context / 2) : Number.POSITIVE_INFINITY;
  // In Ollama, negative numbers mean no limit.
  const wanted = typeof asked === 'number' && asked > 0 ? asked : 4096;
  return Math.max(1, Math.min(wanted, most));
}

const ollamaOnly: KeyImport = (draft, key) => drop(draft, key, 'only applies to Ollama models');

const contextTokens: KeyImport = (draft, key, value, reading) => {
  if (reading.model?.fields.provider !== 'ollama') return ollamaOnly(draft, key, value, reading);
  if (typeof value !== 'number') return carry(draft, key, { 'model.contextTokens': value });
  const maxTokens = completionTokens(draft);
  const left = value - maxTokens;
  change(
    draft,
    key,
    'Ollama would truncate longer prompts, so the history gets the space left by the reply and the task, and the oldest evaluations are omitted',
    {
      'model.contextTokens': value,
      ...(!isGiven(draft, 'ollama_num_predict') && { 'model.maxTokens': maxTokens }),
      'memory.tokens': Math.max(1, Math.floor(Math.max(left - 1500, left / 2))),
    },
  );
};

const maxTokens: KeyImport = (draft, key, value, reading) => {
  if (reading.model?.fields.provider !== 'ollama') return ollamaOnly(draft, key, value, reading);
  const tokens = typeof value === 'number' ? completionTokens(draft) : value;
  if (tokens === value) carry(draft, key, { 'model.maxTokens': value });
  else {
    change(draft, key, 'replies need a limit, and half of the context is left for the prompt', {
      'model.maxTokens': tokens,
    });
  }
};

const warmUpFolder: KeyImport = (draft, key) =>
  drop(
    draft,
    key,
    "policyloop can't read the files in this folder, so new random policies are drawn; warmup.from starts with the policies of a run",
  );

const noRemarks = 'no person and no vision model comments on episodes';

/** Every key of the paper's code, then the keys added in forks. */
const keys: Readonly<Record<string, KeyImport>> = {
  ...sharedKeys,
  task,
  dim_actions: actions,
  dim_states: (draft, key, _value, { environment }) => drop(draft, key, `follows from ${environment.id}`),
  env_kwargs: importOptions,
  bias: (draft, key, value, reading) =>
    reading.policy === 'linear'
      ? carry(draft, key, { 'policy.bias': isOn(value) })
      : drop(draft, key, 'a table has no bias'),
  rank,
  param_min: ofNumbers('policy.low'),
  param_max: ofNumbers('policy.high'),
  optimum: carried('prompts.optimum'),
  search_step_size: ofNumbers('prompts.stepSize'),
  warmup_episodes: warmUp,
  warmup_dir: warmUpFolder,
  max_traj_count: history,
  max_traj_length: episodeLength,
  max_best_length: carried('memory.best'),
  include_trajectories: trajectories,
  summary,
  ollama_num_ctx: contextTokens,
  ollama_num_predict: maxTokens,
  include_feedback_with_params: droppedIfOn(noRemarks),
  feedback_interval: dropped(noRemarks),
  buffer_top_k: carried('memory.best'),
  buffer_recent_j: carried('memory.recent'),
  memory_strategy: dropped('replaced by memory.best and memory.recent'),
  summary_template: dropped('the summary is computed, without a template'),
  summary_desc_file: dropped('the summary is computed, without a template'),
  use_gemini_feedback: droppedIfOn(noRemarks),
  gemini_feedback_model: dropped(noRemarks),
  gemini_feedback_template_name: dropped(noRemarks),
  gemini_feedback_history_rows: dropped(noRemarks),
};

export const props: Dialect = {
  name: 'ProPS',
  keys,
  read(draft) {
    const { theirs } = draft;
    const name = String(given(theirs, 'task'));
    const kinds = Object.hasOwn(tasks, name) ? tasks[name]! : guess(draft);
    assign(draft, { ...fieldsOf(kinds), ...wholeHistory, ...trajectoryFields(draft, kinds) });
    return { environment: chooseEnvironment(theirs), model: chooseModel(theirs), ...kinds };
  },
};
