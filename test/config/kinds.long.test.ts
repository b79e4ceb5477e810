import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { isNumericConfig, loadNumericConfig } from '../../finetune/rl/numeric/numeric-config.js';
import { loadLearningConfig } from '../../finetune/rl/rl-config.js';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { loadPlayConfig } from '../../src/agents/play-config.js';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { bundledConfigs, type ConfigKindName, configKindNames, configKinds } from '../../src/config/file.js';
import { loadConfig } from '../../src/config/load.js';
import { temporaryDirectory } from '../support/experiments.js';

const schemaFiles = {
  experiment: 'schema',
  training: 'training.schema',
  agents: 'play.schema',
  rl: 'rl.schema',
};

const loaders: Record<
  ConfigKindName,
  (file: string, overrides?: readonly string[], cwd?: string) => unknown
> = {
  experiment: (file, overrides = [], cwd = '') => loadConfig({ file, overrides, cwd }),
  training: loadTrainConfig,
  agents: loadPlayConfig,
  rl: (file, overrides = [], cwd = '') =>
    (isNumericConfig(file, cwd) ? loadNumericConfig : loadLearningConfig)(file, overrides, cwd),
};

const samples: Record<ConfigKindName, string> = {
  experiment: 'environment: CartPole-v1\nmodel: { provider: random }\n',
  training: 'model: base\ndataset: data\n',
  agents: 'environment: CartPole-v1\nepisodes: 3\nplayer: random\n',
  rl: 'model: base\nenvironment: bandit\nobjective: { kind: grpo }\n',
};

function written(text: string, name = 'my.yaml') {
  const folder = temporaryDirectory();
  const file = join(folder, name);
  writeFileSync(file, text);
  return { folder, file };
}

function refusal(work: () => unknown): UserError {
  try {
    work();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

const pairs = configKindNames.flatMap((is) =>
  configKindNames.filter((asked) => asked !== is).map((asked) => [is, asked] as const),
);

describe('a config of the wrong kind', () => {
  it.each(pairs)('%s instead of %s: the error names the right command', (is, asked) => {
    const { file } = written(samples[is]);
    expect(() => loaders[is](file)).not.toThrow();
    expect(refusal(() => loaders[asked](file)).problems).toEqual([
      {
        file,
        message: `this is ${configKinds[is].title}, not ${configKinds[asked].title}`,
        hint: `use ${configKinds[is].command} ${file}`,
      },
    ]);
  });

  it.each(pairs)('is recognised by name if it is bundled: %s instead of %s', (is, asked) => {
    const name = bundledConfigs(is).find((ready) => !bundledConfigs(asked).includes(ready))!;
    expect(refusal(() => loaders[asked](name)).problems[0]).toMatchObject({
      message: `this is ${configKinds[is].title}, not ${configKinds[asked].title}`,
      hint: `use ${configKinds[is].command} ${name}`,
    });
  });

  it('is rejected with a hint if the working directory has a file with the name of the bundled config', () => {
    const { folder } = written(samples.experiment, 'cartpole.yaml');
    expect(() => loaders.experiment('cartpole', [], folder)).toThrow(
      'hint: did you mean `cartpole.yaml`? Otherwise, use policyloop play cartpole',
    );
  });

  it('is recognised as RL training even without a model, if it names an algorithm', () => {
    const { file } = written('environment: CartPole-v1\nalgorithm: { kind: ppo }\n');
    expect(refusal(() => loaders.experiment(file)).message).toContain(`use policyloop finetune rl ${file}`);
  });
});

describe('an RL config', () => {
  const [language, numbers] = [samples.rl, 'environment: CartPole-v1\nalgorithm: { kind: ppo }\n'];

  it.each([
    ['is numeric if it has an algorithm', numbers, true],
    ['is numeric if it has a policy but no model', 'environment: CartPole-v1\npolicy: { kind: mlp }\n', true],
    ['is not numeric if it has a policy and a model', `${language}policy: { kind: mlp }\n`, false],
  ])('%s', (_, text, expected) => {
    expect(isNumericConfig(written(text).file, '')).toBe(expected);
  });
});

describe('loading a config', () => {
  it.each(configKindNames)('reports a file that is missing, empty or not a mapping: %s', (kind) => {
    expect(refusal(() => loaders[kind](written('').file)).message).toMatch(/is empty[\s\S]*hint/);
    expect(refusal(() => loaders[kind](written('- 1').file)).message).toContain('is not a config');
    const [problem] = refusal(() => loaders[kind]('syntetic')).problems;
    expect(problem).toMatchObject({ message: expect.stringContaining('no such file or bundled config') });
    expect(problem?.alternatives).toEqual(bundledConfigs(kind).filter((name) => !name.includes('/')));
    if (kind === 'experiment')
      expect(() => loaders[kind]('Pendulum-v0')).toThrow(/is an environment[\s\S]*one of: pendulum-numeric/);
  });

  it.each([
    ['experiment', 'iterations', 'seed'],
    ['training', 'epochs', 'seed'],
    ['rl', 'updates', 'seed'],
  ] as const)(
    'reports typos, quoted numbers, empty values and values out of range: %s',
    (kind, count, optional) => {
      const load = (...overrides: string[]) => loaders[kind](written(samples[kind]).file, overrides);
      const said = (...overrides: string[]) => refusal(() => load(...overrides)).message;
      const typo = count.slice(0, -1);
      expect(said(`${typo}=3`)).toMatch(
        new RegExp(`${typo}=3: unknown key[\\s\\S]*did you mean \`${count}\``),
      );
      expect(said(`${count}="3"`)).toContain('hint: remove the quotes');
      expect(said(`${count}=null`)).toMatch(/has no value[\s\S]*set a value, or remove the key/);
      expect(said(`${count}=0`)).toMatch(/must be a whole number (of at least 1|from 1 to)/);
      expect(said(count)).toContain('form key=value');
      expect(() => load(`${optional}=3`, `${optional}=`)).not.toThrow();
      expect(said('model=')).toContain('model=: missing');
    },
  );

  it('drops settings that a new method does not accept, with a note', () => {
    const { file } = written(`${samples.training}method: { kind: lora, rank: 4 }\n`);
    const notes: string[] = [];
    const { method } = loadTrainConfig(file, ['method.kind=full'], '', (text) => notes.push(text));
    expect(method).toEqual({ kind: 'full' });
    expect(notes).toEqual([
      "method.kind=full: ignored method.rank from the file, because full doesn't accept it",
    ]);
  });

  it('reports a conflict between settings at the position of one of them', () => {
    const { file } = written(`${samples.training}optimizer: { kind: muon }\n`);
    expect(refusal(() => loadTrainConfig(file)).message).toMatch(
      /my\.yaml:3:12: optimizer: muon trains whole/,
    );
  });

  it.each(['sk-secret-key', 'AIzaSecretA9bcdefgh'])('never shows a key in apiKeyEnv: %s', (key) => {
    const overrides = ['model.provider=openai', 'model.name=m', `model.apiKeyEnv=${key}`];
    const { file } = written(samples.experiment);
    expect(refusal(() => loadConfig({ file, overrides })).message).not.toMatch(/secret/i);
  });
});

describe('paths', () => {
  const cwd = resolve('/somewhere');

  it('in a file are relative to it, and in an override to the working directory', () => {
    const text = `environment: { id: "gymnasium:CartPole-v1", python: bin/python }
model: { provider: local, path: ./a, adapter: b }
warmup: { from: c }
prompts: { set: own/set, description: d.hbs }
`;
    const { file, folder } = written(text);
    expect(loadConfig({ file, cwd }).config).toMatchObject({
      environment: { id: 'gymnasium:CartPole-v1', python: join(folder, 'bin/python') },
      model: { path: join(folder, 'a'), adapter: join(folder, 'b') },
      warmup: { from: join(folder, 'c') },
      prompts: { set: join(folder, 'own/set'), description: join(folder, 'd.hbs') },
    });
    const overrides = ['model={provider: local, path: a, adapter: ../b}', 'warmup.from=c', 'prompts.set=./s'];
    expect(loadConfig({ file, overrides, cwd }).config).toMatchObject({
      model: { path: resolve(cwd, 'a'), adapter: resolve(cwd, '../b') },
      warmup: { from: resolve(cwd, 'c') },
      prompts: { set: resolve(cwd, 's'), description: join(folder, 'd.hbs') },
    });
    const replayed = ['model.provider=replayed', 'model.run=r'];
    expect(loadConfig({ file, overrides: replayed, cwd }).config.model).toMatchObject({
      run: resolve(cwd, 'r'),
    });
  });

  it('stay unchanged if they are absolute, as do names that are not paths', () => {
    const absolute = resolve('/elsewhere/model');
    const { file } = written(
      `environment: { id: 'gymnasium:CartPole-v1', python: python3 }\nmodel: { provider: local }\nwarmup: { from: ${absolute} }\n`,
    );
    expect(loadConfig({ file, cwd }).config).toMatchObject({
      environment: { python: 'python3' },
      model: { path: 'package:models/tiny-improver' },
      warmup: { from: absolute },
      prompts: { set: 'semantic' },
    });
  });

  it('of environment modules are resolved, but environment names are not', () => {
    const { file, folder } = written('environment: ./my-env.js\nmodel: { provider: random }\n');
    const idOf = (...overrides: string[]) => loadConfig({ file, overrides, cwd }).config.environment.id;
    expect(idOf()).toBe(join(folder, 'my-env.js'));
    expect(idOf('environment={id: ./my-env.js}')).toBe(resolve(cwd, 'my-env.js'));
    expect(idOf('environment=ALE/Pong-v5')).toBe('ALE/Pong-v5');
  });

  it('of modules used as providers are resolved', () => {
    const { file, folder } = written('environment: CartPole-v1\nmodel: { provider: ./my-model.js }\n');
    expect(loadConfig({ file, cwd }).config.model).toMatchObject({ path: join(folder, 'my-model.js') });
    const local = written('environment: CartPole-v1\nmodel: { provider: local, path: a }\n').file;
    const { config } = loadConfig({ file: local, overrides: ['model.provider=./my-model.js'], cwd });
    expect(config.model).toMatchObject({ provider: 'module', path: resolve(cwd, 'my-model.js') });
  });

  it('in a file stay relative to it even if they exist only in the working directory', () => {
    const { file, folder } = written('environment: CartPole-v1\nmodel: { provider: local, path: there }\n');
    mkdirSync(join(folder, 'work', 'there'), { recursive: true });
    expect(loadConfig({ file, cwd: join(folder, 'work') }).config.model).toMatchObject({
      path: join(folder, 'there'),
    });
  });

  it("in a run's own config stay as written, and in an override become absolute", () => {
    const { file } = written('environment: CartPole-v1\nmodel: { provider: local, path: there }\n');
    const load = (...overrides: string[]) => loadConfig({ file, overrides, cwd, asWritten: true }).config;
    expect(load().model).toMatchObject({ path: 'there' });
    expect(load('model.path=there').model).toMatchObject({ path: resolve(cwd, 'there') });
  });

  it('in training configs are relative to the config, and in overrides to the working directory', () => {
    const training = written(samples.training, 'tune.yaml');
    expect(loadTrainConfig(training.file, ['dataset=d'], cwd)).toMatchObject({
      model: join(training.folder, 'base'),
      dataset: resolve(cwd, 'd'),
      output: resolve(cwd, 'tuned/tune'),
    });
  });
});

describe('the bundled configs of each kind', () => {
  const ready = configKindNames.flatMap((kind) => bundledConfigs(kind).map((name) => [kind, name] as const));
  const textOf = (kind: ConfigKindName, name: string) =>
    readFileSync(join(packageRoot(), 'configs', configKinds[kind].folder, `${name}.yaml`), 'utf8');
  /** What a user has to name. */
  const own = { experiment: [], training: ['dataset=data'], agents: [], rl: [] };

  it('are listed by kind', () => {
    expect(bundledConfigs('training')).toEqual(['cooking-imitation', 'cooking-scratch', 'lora']);
    expect(bundledConfigs()).not.toContain('training/lora');
  });

  it.each(ready)('%s %s loads by its name from any directory', (kind, name) => {
    expect(() => loaders[kind](name, own[kind], '/nowhere')).not.toThrow();
  });

  it('training lora writes its output below the working directory', () => {
    expect(loadTrainConfig('lora', ['dataset=d'], '/work').output).toBe(resolve('/work/tuned/lora'));
  });

  it.each(ready)('%s %s names its command and a schema that accepts it', (kind, name) => {
    const text = textOf(kind, name);
    const path = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text)?.[1] ?? '';
    const folder = dirname(join(packageRoot(), 'configs', configKinds[kind].folder, `${name}.yaml`));
    const file = join(packageRoot(), 'configs', `${schemaFiles[kind]}.json`);
    expect(resolve(folder, path)).toBe(file);
    const schema = z.fromJSONSchema(JSON.parse(readFileSync(file, 'utf8')));
    const content = parse(text) as object;
    expect(schema.safeParse({ ...(kind === 'training' && { dataset: 'd' }), ...content }).success).toBe(true);
    expect(schema.safeParse({ ...content, unheardOf: 1 }).success).toBe(false);
    expect(text).toContain(`${configKinds[kind].command} ${name}`);
  });
});
