/** What LLM-RL-finetune's networks become, and which of its tasks are refused. */
import { describe, expect, it } from 'vitest';
import { importConfig } from '../../../src/config/import/import-config.js';
import { parseConfig } from '../../../src/config/load.js';
import { assemble, closeEnvironment } from '../../../src/experiment/assemble.js';

const theirs = (given: Record<string, unknown>) => ({
  ...{ task: 'mujoco_hopper_llm_num_optim_no_bias', gym_env_name: 'Hopper-v5', num_episodes: 100 },
  ...{ dim_actions: 3, dim_states: 11, max_traj_count: 1000, max_traj_length: 1000 },
  llm_si_template_name: 'numerical_optimization_search_std_change_hopper_no_bias_range_expected_r.j2',
  ...{ llm_model_name: 'gpt-4o-mini', num_evaluation_episodes: 20, warmup_episodes: 20, search_std: -1 },
  ...given,
});

/** The config of ours, after all checks of a run. */
async function built(given: Record<string, unknown>) {
  const { config, notes } = importConfig(theirs(given));
  const assembly = await assemble(parseConfig(config as never), { OPENAI_API_KEY: 'none' });
  await closeEnvironment(assembly);
  return { config: assembly.config, family: assembly.family, notes };
}

describe('configs of LLM-RL-finetune', () => {
  it.each([
    ['delta', /changes to parameters/],
    ['beam', /several parents/],
  ])('with %s are refused', (key, message) => {
    expect(() => importConfig(theirs({ [key]: true }))).toThrow(message);
  });

  it('without beam drop its other settings and say why', () => {
    const { notes } = importConfig(theirs({ beam: false, beam_width: 10, obs_6d: true }));
    const reason = 'only applies with beam: true';
    expect(notes).toContainEqual({ kind: 'dropped', key: 'obs_6d', reason });
    expect(notes).toContainEqual({ kind: 'dropped', key: 'beam_width', reason });
  });

  it('for a grid search are refused', () => {
    const task = 'pendulum_grid_search_no_bias';
    expect(() => importConfig(theirs({ task }))).toThrow(/searches a grid/);
  });

  it('for a network keep its hidden layer and number of parameters', async () => {
    const { config, family } = await built({
      ...{ task: 'mujoco_llm_num_optim_bias_mlp_rndm_proj', rank: 5, bias: true },
    });
    expect(config.policy).toMatchObject({ kind: 'mlp', hidden: [11], activation: 'leaky-relu' });
    expect(family.parameters.count).toBe(10);
  });
});
