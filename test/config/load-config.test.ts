import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { loadConfig, parseConfig, resolvedYaml } from '../../src/config/load.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

const load = (text: string, ...overrides: readonly string[]) =>
  loadConfig({ file: 'my.yaml', overrides, readFile: () => text });

const two = 'environment: CartPole-v1\nmodel: {provider: ollama, name: qwen3:8b}\n';

it('loadConfig notes that an old environment id runs as its newer version', () => {
  const notes = (id: string) => {
    const text = `environment: ${id}\nmodel: {provider: random}\n`;
    return loadConfig({ file: 'my.yaml', readFile: () => text }).notes;
  };
  expect(notes('HalfCheetah-v4')).toEqual([expect.stringContaining('HalfCheetah-v4 runs as HalfCheetah-v5')]);
  expect(notes('HalfCheetah-v5')).toEqual([]);
});

describe('a short config', () => {
  it('gets every default', () => {
    expect(load(two).config).toEqual({
      environment: { id: 'CartPole-v1', options: {} },
      model: {
        provider: 'ollama',
        name: 'qwen3:8b',
        maxTokens: 4096,
        format: 'auto',
        concurrency: 4,
        timeoutSeconds: 600,
        maxRetries: 4,
        maxRetryAfterSeconds: 300,
      },
      seed: 0,
      iterations: 100,
      candidates: 1,
      corrections: 3,
      limits: {},
      warmup: { policies: 20 },
      evaluation: { episodes: 20, seeds: 'common', maxSteps: 1000, workers: 'auto' },
      confirmation: { candidates: 6, episodes: 100 },
      memory: { trajectories: 'none', rows: 10 },
      prompts: { set: 'semantic' },
      record: 'first',
    });
  });

  it('may be JSON with a $schema, or YAML with CRLF line ends and a byte order mark', () => {
    const { config } = load(two);
    expect(
      load(JSON.stringify({ $schema: 'x', environment: 'CartPole-v1', model: config.model })).config,
    ).toEqual(config);
    expect(load(`\uFEFF${two.replaceAll('\n', '\r\n')}`).config).toEqual(config);
  });

  it('is read as YAML 1.2, but as YAML 1.1 if it belongs to another program', () => {
    expect(load(`${two}name: on\niterations: 020\n`).config).toMatchObject({ name: 'on', iterations: 20 });
    const theirs = 'task: frozen_lake\ngym_env_name: FrozenLake-v1\nis_slippery: no\nnum_episodes: 020\n';
    expect(load(theirs, 'model.provider=random').config).toMatchObject({
      iterations: 16,
      environment: { options: { is_slippery: false } },
    });
  });

  it('may use anchors', () => {
    const { config } = load(`${two}target: &t {return: 3}\nlimits: {minutes: &m 5}\nprompts: {optimum: *m}`);
    expect(config.prompts.optimum).toBe(5);
  });
});

describe('shorthands', () => {
  it('are expanded', () => {
    const { config } = load(`${two}target: 475\nwarmup: 5\nmemory: none`);
    expect(config.target).toEqual({ return: 475, hold: 1 });
    expect(config.warmup).toEqual({ policies: 5 });
    expect(config.memory).toMatchObject({ best: 0, recent: 0 });
  });

  it('load like their long forms', () => {
    const short = load(`${two}target: 475\nwarmup: 5\nmemory: all`).config;
    const long = load(
      'environment: {id: CartPole-v1}\nmodel: {provider: ollama, name: qwen3:8b}\n' +
        'target: {return: 475}\nwarmup: {policies: 5}\nmemory: {}',
    ).config;
    expect(short).toEqual(long);
  });
});

describe('resolvedYaml', () => {
  it.each([
    ['a small config', two],
    [
      'a config with many settings',
      `name: "1e3"
environment: {id: FrozenLake-v1, options: {desc: [SF, "FG"], is_slippery: true, success_rate: 0.5, note: "no: 1\\n# x", none: null}}
policy: {kind: q-table, form: values, low: -1e-3, high: 1e6, decimals: 6, discretize: [{low: -1, high: 1, bins: 3}, {edges: [0, 1]}], actions: [[-0.5], [0.5]]}
model: {provider: openai, name: "null", baseUrl: "http://127.0.0.1:8080/v1", temperature: 0, price: {input: 1, output: 2}}
target: {return: -0.5, hold: 3}
limits: {calls: 5, tokens: 6, cost: 7.5, minutes: 0.5}
warmup: {policies: 0, from: "runs/a b"}
memory: {best: 3, recent: 4, trajectories: rows, rows: 2}
prompts: {set: ./mine, description: "~", optimum: -13, stepSize: 0.1}
record: all
`,
    ],
  ])('of %s loads back as the same config', (_, text) => {
    const { config } = load(text);
    expect(load(resolvedYaml(config)).config).toEqual(config);
    expect(resolvedYaml(load(resolvedYaml(config)).config)).toBe(resolvedYaml(config));
  });

  it('does not depend on the order of keys in the config', () => {
    const { policy, ...rest } = load(`${two}policy: {kind: linear}\n`).config;
    expect(resolvedYaml({ ...rest, policy })).toBe(resolvedYaml({ policy, ...rest }));
  });

  it('repeats shared values instead of using aliases', () => {
    const shared = [1, 2];
    const config = parseConfig({
      environment: { id: 'X', options: { a: shared, b: shared } },
      model: { provider: 'random' },
    });
    expect(resolvedYaml(config)).not.toMatch(/[&*]a/);
  });
});

describe('parseConfig', () => {
  it('accepts a plain object', () => {
    const input = { environment: 'CartPole-v1', model: { provider: 'ollama', name: 'qwen3:8b' } } as const;
    expect(parseConfig(input)).toEqual(load(two).config);
  });

  it('reports all problems, without positions', () => {
    const input = { environment: 'CartPole-v1', model: { provider: 'random' }, seed: -1, iteration: 2 };
    expect(() => parseConfig(input)).toThrow(/^seed: must be.*^iteration: unknown key/ms);
  });
});

describe('locate', () => {
  const { locate } = load(`${two}policy:\n  kind: linear\n  low: -1\n`, 'iterations=5');

  it('adds the position to a problem found after loading', () => {
    const located = locate(
      new UserError([
        { field: 'policy.low', message: 'a' },
        { field: 'model.baseUrl', message: 'b' },
      ]),
    );
    expect(located.message).toBe('my.yaml:5:8: policy.low: a\nmy.yaml:2:1: model.baseUrl: b');
  });

  it('names the override that set the field', () => {
    expect(locate(new UserError({ field: 'iterations', message: 'a' })).message).toBe(
      'override iterations=5: a',
    );
  });

  it('leaves a problem unchanged if it names no field or already has a position', () => {
    const error = new UserError([
      { message: 'a' },
      { field: 'policy.low', message: 'b', file: 'x.hbs', line: 3, column: 4 },
    ]);
    expect(locate(error).message).toBe(error.message);
  });
});

describe('the config file', () => {
  const folder = temporaryDirectory();
  const at = (name: string) => join(folder, name);
  const messageOf = (file: string): string => {
    try {
      loadConfig({ file });
    } catch (error) {
      if (error instanceof UserError)
        return error.message.replaceAll(folder, '<folder>').replaceAll(packageRoot(), '<package>');
      throw error;
    }
    throw new Error(`${file} was found`);
  };

  beforeAll(() => {
    writeFileSync(at('pendulum.yaml'), two);
    writeFileSync(at('huge.yaml'), '#'.repeat(1_500_000));
  });

  it('is found by its path', () => {
    expect(loadConfig({ file: at('pendulum.yaml') })).toMatchObject({ file: at('pendulum.yaml'), notes: [] });
  });

  it('is found by the name of a bundled config', () => {
    const { file, config } = loadConfig({ file: 'quickstart' });
    expect(file).toBe(join(packageRoot(), 'configs', 'quickstart.yaml'));
    expect(config.model.provider).toBe('local');
    expect(loadConfig({ file: 'providers/ollama' }).config.model.provider).toBe('ollama');
  });

  it('is reported as missing, with a suggested bundled config of a similar name', () => {
    expect(messageOf('quickstrat')).toMatch(
      /^quickstrat: no such file.*\n {2}hint: did you mean `quickstart`\?/,
    );
  });

  it('is rejected if it is a folder or too large', () => {
    expect(messageOf(at(''))).toContain('is a folder, not a config');
    expect(messageOf(at('huge.yaml'))).toContain('has at least 1500000 bytes; the maximum is 1000000');
  });

  it('of a recorded run may contain keys that no longer exist; a new config may not', () => {
    const text =
      'environment: { id: CartPole-v1, options: { sutton_barto_reward: true } }\nmodel: { provider: ollama, name: m, stop: [x] }\nscreening: 1\ntarget: { return: 5, for: 2 }\n';
    writeFileSync(at('recorded.yaml'), text);
    const { config } = loadConfig({ file: at('recorded.yaml'), asWritten: true });
    expect(config).toMatchObject({
      environment: { options: { sutton_barto_reward: true } },
      model: { name: 'm' },
      target: { return: 5 },
    });
    const keys = Object.keys({ ...config, ...config.model, ...config.target });
    for (const gone of ['stop', 'screening', 'for']) expect(keys).not.toContain(gone);
    expect(messageOf(at('recorded.yaml'))).toMatch(/model\.stop: unknown key[\s\S]*screening: unknown key/);
  });

  it('is rejected if it is unreadable', () => {
    const readFile = () => {
      throw Object.assign(new Error("EACCES: permission denied, open 'my.yaml'"), { code: 'EACCES' });
    };
    expect(() => loadConfig({ file: 'my.yaml', readFile })).toThrow(/^my.yaml: can't be read: EACCES/);
  });
});
