/** What LLM-RL-finetune's other forms of proposals and its networks become. */
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
  it('with delta become delta proposals with one candidate', async () => {
    const { config } = await built({ norm: false, delta: true });
    expect(config.proposal).toEqual({ form: 'delta' });
    expect(config.candidates).toBe(1);
  });

  it('with beam keep the beam width, the number of candidates and the temperature', async () => {
    const { config, notes } = await built({
      ...{ beam: true, beam_width: 10, num_new_candidate: 5, temperature: 1.2 },
    });
    expect(config).toMatchObject({
      ...{ candidates: 50, proposal: { form: 'absolute', beam: 10 }, model: { temperature: 1.2 } },
    });
    expect(notes.filter(({ kind }) => kind === 'dropped').map(({ key }) => key)).not.toContain('beam_width');
  });

  it('with beam alone default to 5 parents with 5 proposals each', async () => {
    expect((await built({ beam: true, delta: true })).config).toMatchObject({
      ...{ candidates: 25, proposal: { form: 'absolute', beam: 5 } },
    });
  });

  it.each([{ beam: true }, { delta: true }])(
    'with %j and no warm-up get one warm-up policy',
    async (form) => {
      const { config, notes } = await built({ ...form, warmup_episodes: 0 });
      expect(config.warmup.policies).toBe(1);
      expect(notes.find(({ key }) => key === 'warmup_episodes')).toMatchObject({ kind: 'changed' });
    },
  );

  it.each([
    ['random', /at random/],
    ['llm_reward', /its own reward/],
  ])('with beam and %s are refused', (key, message) => {
    expect(() => importConfig(theirs({ beam: true, [key]: true }))).toThrow(message);
  });

  it.each([
    [true, 'has no equivalent in policyloop'],
    [false, 'only applies with beam: true'],
  ])('with beam: %s drop obs_6d and say why', (beam, reason) => {
    const { notes } = importConfig(theirs({ beam, obs_6d: true }));
    expect(notes).toContainEqual({ kind: 'dropped', key: 'obs_6d', reason });
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
