/** Attacks with untrusted files: configs, prompt sets, demonstrations, model directories, run directories. */
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { formatProblem } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { execute as list } from '../../src/commands/list.js';
import { execute as report } from '../../src/commands/report.js';
import { execute as show } from '../../src/commands/show.js';
import { loadConfig } from '../../src/config/load.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { openDemonstrations } from '../../src/experiment/demonstrations.js';
import { inspectModel } from '../../src/models/local/engine/inspect.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { loadPromptSet } from '../../src/prompting/templates/prompt-set.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { referenceDirectory, referenceModels } from '../../test/models/local/fixture.js';
import { recordingContext, runExperimentFrom } from '../../test/support/experiments.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { type AttackKind, awaited, faultOf, outcome } from './attack.js';
import { drawn, junkText, junkValue, mutated, mutatedBytes } from './junk.js';

const configs: AttackKind = {
  name: 'configs',
  percent: 100,
  async open() {
    const folder = join(packageRoot(), 'configs');
    const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
    const bytes = files.map((file) => readFileSync(join(folder, file)));
    const pieces = [
      '&a ',
      '*a ',
      '[',
      '{',
      '? ',
      '- ',
      '!!str ',
      ': ',
      '\n',
      '|\n',
      'a: 1\n',
      '"',
      "'",
      '<<: ',
    ];
    return {
      attack(random) {
        let text = mutatedBytes(random.choice(bytes), random).toString('utf8');
        if (random.random() < 0.4) text += `\n${random.choice(pieces).repeat(drawn(random, 30_000))}`;
        if (random.random() < 0.2) text += `\nmodel: ${JSON.stringify(junkValue(random))}`;
        return outcome(() => loadConfig({ file: 'config.yaml', readFile: () => text }));
      },
    };
  },
};

const promptSets: AttackKind = {
  name: 'prompt sets',
  percent: 30,
  async open() {
    const environment = await makeEnvironment('CartPole-v1');
    const folder = join(temporaryDirectory(), 'set');
    cpSync(join(packageRoot(), 'prompts', 'semantic'), folder, { recursive: true });
    mkdirSync(join(folder, 'partials'), { recursive: true });
    const names = ['a', 'b', 'c', 'history', 'protocol'];
    const pieces = [
      '{{iteration}}',
      '{{#if iteration}}',
      '{{/if}}',
      '{{#each history}}',
      '{{/each}}',
      '{{> a}}',
      '{{> b}}',
      '{{> c}}',
      '{{',
      '}}',
      '{{{',
      '{{!-- ',
      '(',
      '@root.',
      '../',
      'text\n',
      '{{#with environment}}',
      '{{/with}}',
      '{{else}}',
      '{{lookup this "constructor"}}',
    ];
    const template = (random: RandomGenerator) =>
      Array.from({ length: drawn(random, 12) }, () =>
        random.choice(pieces).repeat(random.random() < 0.05 ? drawn(random, 5000) : 1),
      ).join('');
    return {
      attack(random) {
        for (const name of names) rmSync(join(folder, 'partials', `${name}.hbs`), { force: true });
        for (const name of names.slice(0, drawn(random, names.length))) {
          const file = join(folder, 'partials', `${name}.hbs`);
          if (random.random() < 0.1) symlinkSync(random.choice(['/etc/passwd', '/dev/zero', '.']), file);
          else writeFileSync(file, template(random));
        }
        writeFileSync(join(folder, 'user.hbs'), template(random));
        return outcome(() => loadPromptSet({ set: folder, environment, options: {}, maxSteps: 500 }));
      },
    };
  },
};

const demonstrations: AttackKind = {
  name: 'demonstrations',
  percent: 100,
  async open() {
    const from = join(temporaryDirectory(), 'episode_1.json');
    const good = readFileSync(join(packageRoot(), 'test', 'fixtures', 'demonstrations', 'episode_1.json'));
    const steps: unknown = JSON.parse(good.toString('utf8'));
    const ofRun = [{ return: 1, length: 108, steps: [{ observation: [-0.5, 0], action: [1] }] }];
    const environment = await makeEnvironment('MountainCarContinuous-v0', {});
    return {
      attack(random) {
        rmSync(from, { force: true });
        const content = random.random() < 0.3 ? ofRun : steps;
        if (random.random() < 0.05) symlinkSync(random.choice(['/dev/zero', '.', 'nowhere']), from);
        else if (random.random() < 0.5) writeFileSync(from, mutatedBytes(good, random));
        else writeFileSync(from, JSON.stringify(mutated(content, random)));
        return outcome(() => openDemonstrations({ from, episodes: 1, steps: 50, digits: 4 }, environment));
      },
    };
  },
};

const modelDirectories: AttackKind = {
  name: 'model directories',
  percent: 30,
  async open() {
    const root = temporaryDirectory();
    const jinja = [
      '{% for m in messages %}',
      '{% endfor %}',
      '{% for i in range(100000) %}',
      '{{ m.content }}',
      '{% if m %}',
      '{% endif %}',
      '{% set a = a ~ a %}',
      '{{ messages[0]["content"] * 1000000 }}',
      '{{ "a".replace("", "b") }}',
      '{{',
      '(',
      '[',
      '{% macro f(x) %}{{ x(x) }}{% endmacro %}{{ f(f) }}',
    ];
    return {
      attack(random) {
        const directory = join(root, 'model');
        rmSync(directory, { recursive: true, force: true });
        cpSync(referenceDirectory(random.choice(referenceModels)), directory, { recursive: true });
        const files = readdirSync(directory).filter((file) => /\.(json|safetensors|jinja)$/.test(file));
        const file = join(directory, random.choice(files));
        if (random.random() < 0.2) {
          writeFileSync(
            join(directory, 'chat_template.jinja'),
            Array.from({ length: 1 + drawn(random, 8) }, () => random.choice(jinja)).join(''),
          );
        } else if (random.random() < 0.1) {
          rmSync(file);
          symlinkSync(random.choice(['/dev/zero', '/dev/stdin', '.', 'nowhere', '/etc/passwd']), file);
        } else if (file.endsWith('.json') && random.random() < 0.7) {
          writeFileSync(file, JSON.stringify(mutated(JSON.parse(readFileSync(file, 'utf8')), random)));
        } else {
          writeFileSync(file, mutatedBytes(readFileSync(file), random));
        }
        let said = '';
        const wrong = outcome(() => {
          said = inspectModel(directory).problems.map(formatProblem).join('\n');
        });
        const user = { role: 'user', content: junkText(random) } as const;
        return wrong ?? faultOf(said) ?? outcome(() => openTokenizer(directory).encodePrompt([user]));
      },
    };
  },
};

const runDirectories: AttackKind = {
  name: 'run directories',
  percent: 20,
  async open() {
    const small = {
      environment: 'CartPole-v1',
      model: { provider: 'random' as const },
      iterations: 2,
      warmup: 2,
    };
    const evaluation = { episodes: 2, maxSteps: 20, workers: 1 };
    const { path } = await runExperimentFrom({
      ...small,
      evaluation,
      confirmation: { candidates: 1, episodes: 2 },
    });
    const cwd = temporaryDirectory();
    const run = join(cwd, 'buffers', 'run');
    return {
      async attack(random) {
        rmSync(run, { recursive: true, force: true });
        cpSync(path, run, { recursive: true });
        const files = readdirSync(run).filter(
          (file) => /\.(json|jsonl|yaml)$/.test(file) && statSync(join(run, file)).isFile(),
        );
        const file = join(run, random.choice(files));
        const bytes = readFileSync(file);
        if (random.random() < 0.05) {
          rmSync(file);
          symlinkSync(random.choice(['/dev/zero', '.', 'nowhere']), file);
        } else if (file.endsWith('.yaml') || random.random() < 0.3)
          writeFileSync(file, mutatedBytes(bytes, random));
        else if (file.endsWith('.json')) {
          writeFileSync(file, JSON.stringify(mutated(JSON.parse(bytes.toString('utf8')), random)));
        } else {
          const lines = bytes.toString('utf8').trimEnd().split('\n');
          const at = drawn(random, lines.length);
          lines[at] = JSON.stringify(mutated(JSON.parse(lines[at]!), random));
          writeFileSync(file, `${lines.join('\n')}\n`);
        }
        const { context, printed, noted } = recordingContext(cwd);
        const args = { run: 'run', runsDir: 'buffers', json: false, quiet: true };
        return (
          (await awaited(() => list({ runsDir: 'buffers', json: false } as never, context))) ??
          (await awaited(() => show({ ...args, top: 3 } as never, context))) ??
          (await awaited(() => report(args as never, context))) ??
          faultOf([...printed, ...noted].join('\n').split('\n').slice(0, 40).join('\n'))
        );
      },
    };
  },
};

export const fileKinds: readonly AttackKind[] = [
  configs,
  promptSets,
  demonstrations,
  modelDirectories,
  runDirectories,
];
