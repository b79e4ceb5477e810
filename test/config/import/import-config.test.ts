import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { UserError } from '../../../src/base/errors.js';
import { packageRoot } from '../../../src/base/package.js';
import { importConfig, importedYaml, isForeignConfig } from '../../../src/config/import/import-config.js';
import { loadConfig } from '../../../src/config/load.js';
import { assemble } from '../../../src/experiment/setup/assemble.js';
import { readRun } from '../../../src/runs/reader.js';
import { executeRun, startRun } from '../../../src/studies/run.js';
import { temporaryDirectory } from '../../support/experiments.js';

/** Configs in the two dialects. Between them, they have every key that either program documents. */
const read = (name: string) =>
  readFileSync(join(packageRoot(), `test/fixtures/imported-configs/${name}.yaml`), 'utf8');
const [propsLinear, propsTable, finetuneLinear] = [
  read('propsLinear'),
  read('propsTable'),
  read('finetuneLinear'),
];
const finetuneTables = {
  pendulum: read('pendulum'),
  cartPole: read('cartPole'),
  mountainCar: read('mountainCar'),
  gridWorld: read('gridWorld'),
};

const fixtures = {
  'ProPS, linear': propsLinear,
  'ProPS, a table': propsTable,
  'LLM-RL-finetune, linear': finetuneLinear,
  ...finetuneTables,
};

const load = (text: string, ...overrides: readonly string[]) =>
  loadConfig({ file: 'theirs.yaml', overrides, readFile: () => text });

const imported = (text: string) => importConfig(parse(text) as Record<string, unknown>);

/** The note on a key, as text. */
const noteOn = (text: string, key: string) =>
  imported(text)
    .notes.filter((note) => note.key === key)
    .map((note) => (note.kind === 'carried' ? 'carried' : note.reason))
    .join('; ');

/** Every key that the two programs document. */
const documented = {
  props:
    'task num_episodes gym_env_name render_mode logdir dim_actions dim_states max_traj_count max_traj_length template_dir llm_si_template_name llm_output_conversion_template_name llm_model_name num_evaluation_episodes warmup_episodes warmup_dir bias rank optimum search_step_size env_kwargs env_desc_file ollama_num_ctx ollama_num_predict include_trajectories param_min param_max include_feedback_with_params feedback_interval summary max_best_length',
  finetune:
    'task experiments num_episodes gym_env_name render_mode logdir continuous actions states num_position_bins num_velocity_bins num_theta_bins num_angular_velocity_bins num_costheta_bins num_sintheta_bins num_action_bins grid_size max_traj_count max_traj_length template_dir llm_si_template_name llm_ui_template_name llm_output_conversion_template_name env_desc_file llm_model_name model_type base_model num_evaluation_episodes warmup_episodes step_size record_video use_replay_buffer reset_llm_conversation print_episode max_limit title',
};

describe('every key that ProPS or LLM-RL-finetune documents', () => {
  const given = (texts: readonly string[]) =>
    new Set(texts.flatMap((text) => Object.keys(parse(text) as object)));

  it('appears in a fixture', () => {
    expect(documented.props.split(' ').filter((key) => !given([propsLinear, propsTable]).has(key))).toEqual(
      [],
    );
    const finetune = given([finetuneLinear, ...Object.values(finetuneTables)]);
    expect(documented.finetune.split(' ').filter((key) => !finetune.has(key))).toEqual([]);
  });

  it.each(Object.entries(fixtures))('has a note, with a reason if it is dropped: %s', (_name, text) => {
    const { notes } = imported(text);
    for (const [key, value] of Object.entries(parse(text) as Record<string, unknown>)) {
      const own = notes.filter((note) => note.key === key || note.key.startsWith(`${key}.`));
      expect(own, key).not.toEqual([]);
      for (const note of own) {
        if (note.kind === 'carried') {
          // Nothing became of it only where it says nothing, or what holds here anyway.
          if (note.to.length === 0) expect([null, 'None', true, false]).toContain(value);
        } else {
          expect(note.reason.length, key).toBeGreaterThan(10);
          expect(note.reason).not.toContain('unknown key');
        }
      }
    }
  });

  it.each(Object.entries(fixtures))('maps only to fields that the imported config has: %s', (_name, text) => {
    const { config, notes } = imported(text);
    const paths = notes.flatMap((note) => (note.kind === 'dropped' ? [] : note.to));
    for (const path of paths) {
      const value = path
        .split('.')
        .reduce<unknown>((held, key) => (held as Record<string, unknown>)?.[key], config);
      expect(value, path).toBeDefined();
    }
  });
});

describe.each(Object.entries(fixtures))('the config imported from %s', (_name, text) => {
  it('runs for one iteration with a baseline instead of the model', async () => {
    const { config, notes } = load(
      text,
      ...['model.provider=random', 'iterations=1', 'warmup=1', 'confirmation.candidates=0'],
      ...['evaluation.workers=1', 'evaluation.maxSteps=20'],
    );
    const assembly = await assemble(config, {});
    const path = `${temporaryDirectory()}/run`;
    const now = () => new Date(0);
    const directory = startRun(assembly, path, { now }, notes);
    const stop = { finish: new AbortController().signal, abort: new AbortController().signal };
    const display = { show: () => {}, close: () => {} };
    await executeRun({ assembly, directory }, display, { now, milliseconds: () => 0, stop });
    const { iteration, events } = readRun(path);
    expect(iteration).toBe(1);
    const warnings = events.flatMap((event) => (event.kind === 'warning' ? [event.message] : []));
    expect(warnings).toEqual(notes.map((note) => note.trim()));
  });

  it('loads back from its YAML as the same config', () => {
    const theirs = load(text);
    const ours = loadConfig({
      file: 'ours.yaml',
      readFile: () => importedYaml(theirs.imported!, 'theirs.yaml'),
    });
    expect(ours.config).toEqual(theirs.config);
    expect(ours.notes).toEqual([]);
  });
});

describe('importing a config', () => {
  it('maps a projected linear policy from ProPS', () => {
    expect(imported(propsLinear).config).toEqual({
      name: 'nav-run',
      environment: { id: 'NavigationTrack-v0' },
      policy: { kind: 'linear', bias: true, projection: { rank: 4 }, low: -3, high: 2.5 },
      model: { provider: 'ollama', name: 'gpt-oss:120b', contextTokens: 16384, maxTokens: 2000 },
      iterations: 40,
      warmup: { policies: 2 },
      evaluation: { episodes: 3, maxSteps: 250 },
      memory: { recent: 30, best: 10, tokens: 8192 },
      prompts: { set: 'numeric', optimum: 2500, stepSize: 0.5 },
    });
  });

  it('maps a table policy from ProPS', () => {
    expect(imported(propsTable).config).toEqual({
      name: 'lake',
      environment: { id: 'FrozenLake-v1', options: { is_slippery: false, map_name: '4x4' } },
      policy: { kind: 'q-table', form: 'actions' },
      model: { provider: 'openai', name: 'gpt-4o' },
      iterations: 10,
      warmup: { policies: 0 },
      evaluation: { episodes: 2, maxSteps: 100 },
      memory: { recent: 1000, tokens: 10_000_000, trajectories: 'rows', rows: 100 },
      prompts: { set: 'semantic', optimum: 1 },
    });
  });

  it('maps a linear policy with a tuned adapter from LLM-RL-finetune', () => {
    expect(imported(finetuneLinear).config).toEqual({
      name: 'cp',
      environment: { id: 'CartPole-v1' },
      policy: { kind: 'linear', bias: true },
      model: { provider: 'local', path: './models/Llama-3.1-8B', adapter: 'runs/adapter-3' },
      iterations: 30,
      warmup: { policies: 5 },
      evaluation: { episodes: 3 },
      memory: { recent: 50, trajectories: 'rows', tokens: 10_000_000 },
      prompts: { set: 'semantic', optimum: 500, stepSize: 0.3 },
    });
  });

  it('maps LLM-RL-finetune tables over bins and over discrete states', () => {
    expect(imported(finetuneTables.pendulum).config).toMatchObject({
      policy: {
        kind: 'q-table',
        form: 'values',
        discretize: [
          { low: -1, high: 1, bins: 4 },
          { low: -1, high: 1, bins: 4 },
          { low: -8, high: 8, bins: 5 },
        ],
        actions: [[-2], [-1], [0], [1], [2]],
      },
      memory: 'none',
      warmup: { policies: 1 },
    });
    expect(imported(finetuneTables.cartPole).config).toMatchObject({
      policy: { discretize: [{ bins: 6 }, { bins: 1 }, { bins: 4 }, { bins: 1 }] },
    });
    expect(imported(finetuneTables.gridWorld).config).toMatchObject({
      environment: { options: { map_name: '8x8' } },
      policy: { kind: 'q-table', form: 'values' },
    });
    const listed = finetuneTables.mountainCar.replaceAll(/num_\w+_bins: 10\n/g, '');
    expect(imported(listed).config).toMatchObject({ policy: { discretize: [{ bins: 10 }, { bins: 10 }] } });
  });

  it.each([
    ['ollama:qwen3:14b', {}, { provider: 'ollama', name: 'qwen3:14b' }],
    ['gpt-oss:120b', {}, { provider: 'ollama', name: 'gpt-oss:120b' }],
    ['o3-mini', {}, { provider: 'openai', name: 'o3-mini' }],
    ['mine', { model_type: 'openai' }, { provider: 'openai', name: 'mine' }],
    [
      'gemini-2.5-pro',
      {},
      {
        provider: 'openai',
        name: 'gemini-2.5-pro',
        baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai/',
        apiKeyEnv: 'GEMINI_API_KEY',
      },
    ],
    [
      'claude-sonnet-4-5',
      {},
      {
        provider: 'openai',
        name: 'claude-sonnet-4-5',
        baseUrl: 'https://api.anthropic.com/v1/',
        apiKeyEnv: 'ANTHROPIC_API_KEY',
      },
    ],
    ['./tuned', { model_type: 'OFFLINE' }, { provider: 'local', path: './tuned' }],
    [
      './tuned',
      { model_type: 'OFFLINE', base_model: './base' },
      { provider: 'local', path: './base', adapter: './tuned' },
    ],
    ['Qwen/Qwen3-0.6B', {}, { provider: 'local', path: './models/Qwen3-0.6B' }],
  ])('maps the model %s (further keys: %o)', (name, more, model) => {
    expect(importConfig({ gym_env_name: 'CartPole-v1', llm_model_name: name, ...more }).config.model).toEqual(
      model,
    );
  });

  it('leaves room for the prompt and the reply in a small context', () => {
    const small = importConfig({
      gym_env_name: 'CartPole-v1',
      llm_model_name: 'ollama:a',
      ollama_num_ctx: 2048,
      ollama_num_predict: -1,
    });
    expect(small.config.model).toMatchObject({ contextTokens: 2048, maxTokens: 1024 });
    expect(small.config.memory).toEqual({ tokens: 1024 });
  });
});

describe('importing a config with a known defect', () => {
  it('corrects the case of an environment id', () => {
    expect(noteOn(finetuneLinear, 'gym_env_name')).toBe('the correct spelling of Cartpole-v1 is CartPole-v1');
  });

  it('resolves environment ids with a prefix, an older version or no version', () => {
    const idOf = (id: string) => imported(`gym_env_name: ${id}`).config.environment;
    expect(idOf('gym_maze:maze-sample-3x3-v0')).toEqual({ id: 'maze-sample-3x3-v0' });
    expect(idOf('Hopper-v4')).toEqual({ id: 'Hopper-v5' });
    expect(noteOn('gym_env_name: Hopper-v4', 'gym_env_name')).toContain('gymnasium:Hopper-v4');
    expect(idOf('CliffWalking-v0')).toEqual({ id: 'CliffWalking-v1' });
    expect(idOf('pendulum')).toEqual({ id: 'Pendulum-v1' });
    expect(idOf('gymnasium:LunarLander-v3')).toEqual({ id: 'gymnasium:LunarLander-v3' });
  });

  it('notes that a template does not exist', () => {
    const text = propsTable.replace('num_optim_candidates_semantics_feedback.j2', 'num_optim_semantics.j2');
    expect(noteOn(text, 'llm_si_template_name')).toContain("num_optim_semantics.j2 doesn't exist");
    expect(load(text).config.prompts.set).toBe('semantic');
  });

  it('suggests the right spelling of a misspelt key', () => {
    expect(noteOn('gym_env_name: CartPole-v1\nnum_episods: 3', 'num_episods')).toContain(
      'did you mean num_episodes?',
    );
  });

  it('notes how a task that is not in the ProPS paper is imported', () => {
    const text = propsTable.replace('dist_state_llm_num_optim_semantics_with_feedback', 'reverse_rl');
    expect(noteOn(text, 'task')).toContain('imported as a q-table policy with semantic prompts');
  });
});

it('an unknown environment option is reported at its position in the file', async () => {
  const loaded = load('gym_env_name: FrozenLake-v1\nenv_kwargs:\n  slipery: true', 'model.provider=random');
  const error = await assemble(loaded.config, {}).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UserError);
  expect(loaded.locate(error as UserError).message).toContain('theirs.yaml:3:12: slipery: ');
});

describe('importing an invalid config', () => {
  const screen = (text: string) => {
    try {
      load(text);
    } catch (error) {
      if (error instanceof UserError) return error.message;
      throw error;
    }
    throw new Error('no error');
  };

  it.each([
    [
      'an unknown environment',
      'gym_env_name: Highway-v0',
      'theirs.yaml:1:15: gym_env_name: unknown environment',
    ],
    ['a null environment', 'gym_env_name: null', "theirs.yaml:1:15: gym_env_name: isn't an environment id"],
    [
      'options that are not a mapping',
      'gym_env_name: CartPole-v1\nenv_kwargs: 3',
      'theirs.yaml:2:13: environment.options: must be a mapping',
    ],
    [
      'a value of the wrong kind',
      `gym_env_name: CartPole-v1\nllm_model_name: o1\nnum_episodes: many`,
      'theirs.yaml:3:15: iterations:',
    ],
    ['a missing model', 'gym_env_name: CartPole-v1', 'model'],
  ])('reports %s', (_name, text, message) => {
    expect(screen(text)).toContain(message);
  });
});

it('isForeignConfig recognises a config by gym_env_name alone', () => {
  expect(isForeignConfig({ gym_env_name: 'X' })).toBe(true);
  expect(isForeignConfig({ environment: 'X' })).toBe(false);
  expect(isForeignConfig([])).toBe(false);
});

it('a config with arbitrary foreign values loads or is rejected with a UserError', () => {
  const keys = [...documented.props.split(' '), ...documented.finetune.split(' '), 'constructor', 'odd'];
  const value = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom('None', '__proto__', 'constructor', 'FrozenLake-v1', 'Pendulum-v1', 'cartpole', 'o1'),
    fc.dictionary(fc.constantFrom('__proto__.x', 'a.b', 'is_slippery', '__proto__'), fc.boolean()),
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...keys), value),
      fc.constantFrom('CartPole-v1', 'Pendulum-v1', 'FrozenLake-v1', 'Nim-v0', 'toString'),
      (content, id) => {
        const text = JSON.stringify({ ...content, gym_env_name: id });
        try {
          const { notes } = load(text, 'model.provider=random').imported!;
          for (const key of Object.keys(content)) {
            expect(notes.some((note) => note.key === key || note.key.startsWith(`${key}.`))).toBe(true);
          }
        } catch (error) {
          if (!(error instanceof UserError)) throw error;
        }
        expect(({} as Record<string, unknown>).x).toBeUndefined();
      },
    ),
    { numRuns: 150 },
  );
});
