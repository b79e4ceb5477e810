/** What the tasks of LLM-RL-finetune become that show demonstrations. */
import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../../src/base/package.js';
import { importConfig } from '../../../src/config/import/import-config.js';
import { loadConfig } from '../../../src/config/load.js';
import { buildImport, checkConfig } from '../../../src/preflight/check-config.js';
import { temporaryDirectory } from '../../support/experiments.js';

const task = 'mountaincar_continuous_action_llm_num_optim_no_bias_imitation';

const theirs = (number: string, given: Record<string, unknown> = {}) => ({
  ...{ task, gym_env_name: 'MountainCarContinuous-v0', num_episodes: 50, render_mode: null },
  ...{ dim_actions: 1, dim_states: 2, max_traj_count: 1000, max_traj_length: 1000 },
  llm_si_template_name: `numerical_optimization_mountaincar_imitation${number}.j2`,
  ...{ llm_model_name: 'gpt-4o', num_evaluation_episodes: 20, warmup_episodes: 20, warmup_dir: null },
  ...{ search_std: 1, demonstrations_dir: 'good/episodes', ...given },
});

const noteOn = (config: Record<string, unknown>, key: string) =>
  importConfig(config)
    .notes.filter((note) => note.key === key)
    .map((note) => (note.kind === 'carried' ? 'carried' : note.reason))
    .join('; ');

describe('a config that shows demonstrations', () => {
  it('imports as a linear policy without a bias, with demonstrations', () => {
    expect(importConfig(theirs('')).config).toEqual({
      environment: { id: 'MountainCarContinuous-v0' },
      policy: { kind: 'linear', bias: false, low: -7, high: 7 },
      model: { provider: 'openai', name: 'gpt-4o' },
      iterations: 50,
      warmup: { policies: 20 },
      evaluation: { episodes: 20, maxSteps: 1000 },
      memory: { recent: 1000, tokens: 10_000_000 },
      prompts: { set: 'numeric', optimum: 50, stepSize: 1 },
      demonstrations: { from: 'good/episodes', episodes: 1, steps: 'all', digits: 3 },
    });
  });

  it('prefers the step size that its template states to search_std', () => {
    const other = (number: string) => importConfig(theirs(number, { search_std: 2 })).config.prompts;
    expect(other('_2')).toMatchObject({ stepSize: 2 });
    expect(other('_5')).toMatchObject({ stepSize: 1 });
    expect(noteOn(theirs('_5', { search_std: 2 }), 'search_std')).toContain('states this step');
    expect(other('_3')).toEqual({ set: 'numeric' });
  });

  it('notes differences in the objective, the stated range and the evaluations shown', () => {
    const key = 'llm_si_template_name';
    expect(noteOn(theirs(''), key)).toMatch(/the template states this range/);
    expect(noteOn(theirs(''), key)).not.toMatch(/errors/);
    expect(noteOn(theirs('_3'), key)).toMatch(/states no range/);
    expect(noteOn(theirs('_6', { task: `${task}_v5` }), key)).toMatch(/returns to maximise/);
    expect(importConfig(theirs('_4')).config.memory).toBe('none');
    expect(noteOn(theirs('_4'), 'max_traj_count')).toMatch(/shows no evaluation/);
  });

  it('is refused without a demonstrations folder or with an unknown template', () => {
    expect(() => importConfig(theirs('', { demonstrations_dir: null }))).toThrow(
      /demonstrations_dir: is missing[\s\S]*episode_1\.json/,
    );
    for (const unknown of ['_7', '_old'])
      expect(() => importConfig(theirs(unknown))).toThrow(/llm_si_template_name: unknown template/);
  });

  it('ignores the folder if its task shows no demonstrations', () => {
    const plain = theirs('', { task: task.replace('_imitation', ''), llm_si_template_name: 'numeric.j2' });
    expect(importConfig(plain).config).not.toHaveProperty('demonstrations');
    expect(noteOn(plain, 'demonstrations_dir')).toMatch(/shows no demonstrations/);
  });

  it('builds before its demonstrations exist, and checks them once they do', async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'theirs.yaml');
    writeFileSync(file, JSON.stringify(theirs('')));
    const build = () => buildImport(loadConfig({ file }), {});
    const from = join(folder, 'good', 'episodes');
    expect((await build()).join('\n')).toContain(`not built: the demonstrations; ${from} does not exist yet`);
    const check = () =>
      checkConfig({ file, overrides: [] }, true, {
        cwd: folder,
        env: { OPENAI_API_KEY: 'none' },
        stop: { finish: new AbortController().signal, abort: new AbortController().signal },
      });
    expect(await check()).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ level: 'error', field: 'demonstrations.from', file, line: 1 }),
      ]),
    );
    cpSync(join(packageRoot(), 'test', 'fixtures', 'demonstrations'), from, { recursive: true });
    expect((await build()).join('\n')).not.toContain('not built');
    const findings = await check();
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
    expect(findings.find(({ field }) => field === 'demonstrations')?.message).toMatch(
      /^1 episode, 108 steps/,
    );
    writeFileSync(join(from, 'episode_1.json'), '[{"state":[0,0],"action":[0,0]}]');
    await expect(build()).rejects.toThrow(/episode_1\.json: step 0 .*MountainCarContinuous-v0/);
  });
});
