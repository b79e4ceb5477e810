import { isMapping } from './config-schema.js';
import { UserError } from './errors.js';

/** Keys of the configs of ProPS (Prompted Policy Search) and LLM-RL-finetune, and what says the same here. */
const correspondences: Readonly<Record<string, string>> = {
  gym_env_name: 'environment',
  env_kwargs: 'environment.options',
  num_episodes: 'iterations',
  experiments: 'repeats',
  continuous: 'policy.kind (true: linear, false: q-table)',
  bias: 'policy.bias',
  param_min: 'policy.low',
  param_max: 'policy.high',
  llm_model_name: 'model.name, with model.provider',
  ollama_num_ctx: 'model.contextTokens',
  ollama_num_predict: 'model.maxTokens',
  num_evaluation_episodes: 'evaluation.episodes',
  max_traj_length: 'evaluation.maxSteps',
  warmup_episodes: 'warmup.policies',
  warmup_dir: 'warmup.from',
  max_traj_count: 'memory.recent',
  max_best_length: 'memory.best',
  use_replay_buffer: 'memory (false: none)',
  include_trajectories: 'memory.trajectories',
  reset_llm_conversation: 'prompts.conversation',
  template_dir: 'prompts.set',
  env_desc_file: 'prompts.description',
  optimum: 'prompts.optimum',
  search_step_size: 'prompts.stepSize',
  step_size: 'prompts.stepSize',
};

/** Recognises a config of the code bases that this one follows: it names its environment with `gym_env_name`. */
export function isForeignConfig(content: unknown): content is Record<string, unknown> {
  return isMapping(content) && Object.hasOwn(content, 'gym_env_name');
}

/** Says that the config is another program's, and what its keys are called here. */
export function foreignConfigError(
  content: Record<string, unknown>,
  place: { file: string; line: number; column: number },
): UserError {
  const pairs = Object.entries(correspondences)
    .filter(([key]) => Object.hasOwn(content, key))
    .map(([key, ours]) => `    ${key} → ${ours}`);
  return new UserError({
    ...place,
    field: 'gym_env_name',
    message: 'this is a config of ProPS or LLM-RL-finetune, whose keys differ from those of policyloop',
    remedy: `write what it says with the keys of policyloop:\n${pairs.join('\n')}`,
  });
}
