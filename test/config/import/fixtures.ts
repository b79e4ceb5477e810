/** Configs in the two dialects: between them every key that either program documents, with a value that says something. */

export const propsLinear = `
task: cont_space_llm_num_optim_rndm_proj
num_episodes: 40
gym_env_name: gym_navigation:NavigationTrack-v0
render_mode: rgb_array
logdir: out/deep/nav run
dim_actions: 3
dim_states: 5
max_traj_count: 30
max_traj_length: 250
template_dir: my/templates
llm_si_template_name: num_optim.j2
llm_output_conversion_template_name: num_optim.j2
llm_model_name: ollama:gpt-oss:120b
num_evaluation_episodes: 3
warmup_episodes: 2
warmup_dir: out/warm
bias: true
rank: 4
optimum: 2500
search_step_size: 0.5
env_kwargs: null
env_desc_file: about/nav.j2
ollama_num_ctx: 16384
ollama_num_predict: 2000
include_trajectories: true
param_min: -3.0
param_max: 2.5
include_feedback_with_params: true
feedback_interval: 5
summary: true
max_best_length: 10
`;

export const propsTable = `
task: dist_state_llm_num_optim_semantics_with_feedback
num_episodes: 10
gym_env_name: FrozenLake-v1
render_mode: None
logdir: logs/lake
dim_actions: [[0, 1, 2, 3]]
dim_states: [[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]]
max_traj_count: 1000
max_traj_length: 100
llm_si_template_name: num_optim_candidates_semantics_feedback.j2
llm_model_name: gpt-4o
num_evaluation_episodes: 2
warmup_episodes: 0
env_kwargs: {is_slippery: false, map_name: 4x4, render_mode: rgb_array}
optimum: 1.0
search_step_size: 1.0
param_min: 0
bias: true
rank: 3
ollama_num_ctx: 8192
`;

export const finetuneLinear = `
task: cartpole
experiments: 2
num_episodes: 30
gym_env_name: Cartpole-v1
render_mode: None
logdir: logs/cp
continuous: true
actions: 2
states: 4
num_position_bins: 10
max_traj_count: 50
max_traj_length: 900
template_dir: agent/templates
llm_si_template_name: cartpole_si.j2
llm_ui_template_name: cartpole_ui.j2
llm_output_conversion_template_name: cartpole_conv.j2
env_desc_file: cartpole.j2
llm_model_name: runs/adapter-3
model_type: OFFLINE
base_model: meta-llama/Llama-3.1-8B
num_evaluation_episodes: 3
warmup_episodes: 4
step_size: 0.3
record_video: true
use_replay_buffer: true
reset_llm_conversation: true
print_episode: 5
max_limit: 500
title: Cart pole
`;

/** Tables: one for each set of bins. */
export const finetuneTables = {
  pendulum: `
task: pendulum
num_episodes: 12
gym_env_name: Pendulum-v1
continuous: false
actions: [[-2, -1, 0, 1, 2]]
states: [[-2, -1, 0, 1], [-2, -1, 0, 1], [-2, -1, 0, 1, 2]]
num_costheta_bins: 4
num_sintheta_bins: 4
num_angular_velocity_bins: 5
num_action_bins: 5
max_traj_count: 9
use_replay_buffer: false
reset_llm_conversation: false
llm_model_name: gemini-2.0-flash
model_type: gemini
num_evaluation_episodes: 2
`,
  cartPole: `
task: cartpole
num_episodes: 12
gym_env_name: CartPole-v1
continuous: false
actions: [[0, 1]]
states: [[-3, -2, -1, 0, 1, 2], [-2, -1, 0, 1]]
num_position_bins: 6
num_theta_bins: 4
llm_model_name: o1
num_evaluation_episodes: 2
`,
  mountainCar: `
task: mountaincar
num_episodes: 12
gym_env_name: MountainCar-v0
continuous: false
actions: [[0, 1, 2]]
states: [[-5, -4, -3, -2, -1, 0, 1, 2, 3, 4], [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4]]
num_position_bins: 10
num_velocity_bins: 10
max_traj_length: 300
llm_model_name: o1
num_evaluation_episodes: 2
`,
  gridWorld: `
task: grid_world
num_episodes: 12
gym_env_name: FrozenLake-v1
continuous: false
actions: [["left", "down", "right", "up"]]
states: [[0, 1, 2, 3], [0, 1, 2, 3]]
grid_size: 8
llm_model_name: Qwen/Qwen2.5-7B-Instruct
model_type: HF
num_evaluation_episodes: 2
`,
} as const;
