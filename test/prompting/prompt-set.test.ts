import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Environment } from '../../src/environments/environment.js';
import {
  correctionContextSchema,
  promptContextSchema,
  taskContextSchema,
} from '../../src/prompting/context/prompt-context.js';
import { loadPromptSet } from '../../src/prompting/templates/prompt-set.js';
import { temporaryDirectory } from '../support/temporary-directory.js';
import { situation } from './situation.js';

let folder: string;
let environment: Environment;

beforeEach(async () => {
  folder = temporaryDirectory();
  cpSync(join(packageRoot(), 'prompts', 'semantic'), folder, { recursive: true });
  environment = await makeEnvironment('CartPole-v1');
});

const load = (more: { readonly set?: string; readonly description?: string } = {}) =>
  loadPromptSet({ set: folder, environment, options: {}, maxSteps: 1000, ...more });

/** The message of the error that loading the set gives once `file` holds `text`. */
function refusal(text: string, file = 'user.hbs'): string {
  writeFileSync(join(folder, file), text);
  try {
    load();
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    return (error as UserError).message.replaceAll(`${folder}/`, '');
  }
  throw new Error('the template was accepted');
}

describe('a custom prompt set', () => {
  it('is rendered like a built-in prompt set', async () => {
    const { task, prompts, context, play } = await situation({ environment: 'CartPole-v1' });
    const own = load();
    const full = context(3, play(3));
    expect(own.system(task)).toBe(prompts.system(task));
    expect(own.user(full)).toBe(prompts.user(full));
    expect(own.formatCorrection(full, { kind: 'missing' })).toBe(
      prompts.formatCorrection(full, { kind: 'missing' }),
    );
    expect(own.hash).toBe(prompts.hash);
  });

  it('can use and override the built-in partials', async () => {
    const { context } = await situation({ environment: 'CartPole-v1' });
    mkdirSync(join(folder, 'partials'));
    writeFileSync(join(folder, 'partials', 'history.hbs'), 'HISTORY OF {{environment.id}}\n');
    expect(load().user(context(1, []))).toMatch(/^HISTORY OF CartPole-v1\n\nThis is iteration 1 of 100\./);
  });

  it('can provide its own description of an environment', () => {
    mkdirSync(join(folder, 'environments'));
    writeFileSync(
      join(folder, 'environments', 'CartPole.hbs'),
      '{{id}}, {{stepLimit}} steps, {{facts.suttonBarto}}',
    );
    expect(load().description).toBe('CartPole-v1, 500 steps, false');
    writeFileSync(
      join(folder, 'mine.hbs'),
      '{{#each action.tuple.parts}}{{index}}{{else}}two actions{{/each}}',
    );
    expect(() => load({ description: join(folder, 'mine.hbs') })).toThrow(UserError);
    writeFileSync(join(folder, 'mine.hbs'), 'The task {{environment.id}}');
    expect(() => load({ description: join(folder, 'mine.hbs') })).toThrow(
      /:1:12: unknown variable `environment\.id`\n.*did you mean `id`\?.* use id, stepLimit, .*facts or their parts/,
    );
    writeFileSync(join(folder, 'mine.hbs'), 'Balance!');
    expect(load({ description: join(folder, 'mine.hbs') }).description).toBe('Balance!');
  });

  it('has a hash that depends only on the templates it uses', () => {
    const { hash } = load();
    mkdirSync(join(folder, 'partials'));
    writeFileSync(join(folder, 'partials', 'unused.hbs'), 'unused');
    expect(load().hash).toBe(hash);
    writeFileSync(join(folder, 'partials', 'objective.hbs'), 'Maximise it.');
    const changed = load().hash;
    expect(changed).not.toBe(hash);
    writeFileSync(join(folder, 'system.hbs'), 'Optimise.');
    expect(load().hash).not.toBe(changed);
  });

  it('renders text without escaping it', async () => {
    const { context } = await situation({ environment: 'CartPole-v1' });
    writeFileSync(join(folder, 'user.hbs'), '{{answer.example}}');
    expect(load().user(context(1, []))).toContain('<number>');
  });

  it('must exist and be complete', () => {
    expect(() => load({ set: 'sematic' })).toThrow(
      /prompts\.set: there is no such prompt set(.|\n)*did you mean `semantic`\?/,
    );
    expect(() => load({ set: './nowhere' })).toThrow('prompts.set: there is no such folder');
    expect(() => load({ description: '/nowhere.hbs' })).toThrow('prompts.description: there is no such file');
    rmSync(join(folder, 'format-correction.hbs'));
    expect(() => load()).toThrow(/the prompt set lacks format-correction\.hbs/);
  });
});

describe('the template check', () => {
  it.each([
    [
      'Iteration {{iteraton}}',
      'user.hbs:1:13: unknown variable `iteraton`\n  hint: did you mean `iteration`?',
    ],
    ['{{#each environment.options}}{{nam}}{{/each}}', 'user.hbs:1:32: unknown variable `nam`'],
    [
      '{{enviroment.description}}',
      '`enviroment.description`\n  hint: did you mean `environment.description`?',
    ],
    ['{{description}}', 'did you mean `environment.description`? Otherwise, use environment, policy,'],
    ['{{> histroy}}', 'user.hbs: The partial histroy could not be found'],
    [
      '{{#iff best}}x{{/iff}}',
      'user.hbs:1:1: unknown helper `iff`\n  hint: did you mean `if`? Otherwise, define it',
    ],
    [
      '{{upper best}}',
      'unknown helper `upper`\n  hint: define it in a module, and set prompts.helpers to this module',
    ],
    ['{{best.score}}', 'user.hbs:1:3: `best.score` may be absent\n  hint: put it inside'],
    ['{{failure.missing}}', 'unknown variable `failure.missing`\n  hint: use environment, policy,'],
    ['a\nb {{iteration', 'user.hbs:2: invalid Handlebars syntax near “a'],
    ['a\n{{#if best}}x{{/unless}}', "user.hbs:2:4: if doesn't match unless"],
  ])('rejects %s', (template, message) => {
    expect(refusal(template)).toContain(message);
  });

  it('accepts valid variables, blocks and comments', async () => {
    const { context, play } = await situation({
      environment: { id: 'CartPole-v1', options: { sutton_barto_reward: true } },
    });
    const template = `{{#each environment.options as |option|}}{{@index}}{{option.name}}={{value}} {{../iteration}}{{@root.iterations}}{{/each}}
{{#if best}}{{best.score}}{{#with best}}{{line}}{{/with}}{{/if}}{{#unless best}}none{{else}}{{best.iteration}}{{/unless}}
{{#with environment.observation.box}}{{#each components}}{{index}}:{{low}}{{#unless @last}},{{/unless}}{{/each}}{{/with}}
{{! a comment }}{{environment.options.length}}{{this.iteration}}{{#if optimum}}{{optimum}}{{/if}}`;
    writeFileSync(join(folder, 'user.hbs'), template);
    const text = load().user(context(3, play(2)));
    expect(text).toContain('0sutton_barto_reward=true 3100');
    expect(text).toContain('0:-4.8,1:,2:-0.4189,3:');
  });

  it('reports a mistake in an included partial at its position in that partial', () => {
    mkdirSync(join(folder, 'partials'));
    writeFileSync(join(folder, 'partials', 'mine.hbs'), 'line\n{{iteratons}}');
    expect(refusal('{{> mine}}{{> mine}}')).toMatch(
      /^partials\/mine\.hbs:2:3: unknown variable `iteratons`\n {2}hint: did you mean `iterations`/,
    );
  });

  it('rejects a variable in a system prompt if it changes during a run', () => {
    expect(refusal('{{iteration}}', 'system.hbs')).toContain('system.hbs:1:3: unknown variable `iteration`');
  });
});

describe('the prompt context', () => {
  it.each([
    ['CartPole-v1', {}],
    ['FrozenLake-v1', { prompts: { optimum: 0.7, stepSize: 1 }, candidates: 3 }],
    ['Blackjack-v1', { policy: { kind: 'q-table', form: 'values' } as const, memory: { best: 2 } }],
    ['MountainCarContinuous-v0', { memory: 'none' as const, evaluation: { episodes: 1 } }],
  ])('of %s matches its schema', async (id, more) => {
    const { task, context, play } = await situation({ environment: id, ...more });
    expect(taskContextSchema.parse(task)).toEqual(task);
    for (const full of [context(1, []), context(3, play(3))]) {
      expect(promptContextSchema.parse(full)).toEqual(full);
    }
  });

  it('of a correction matches its schema', async () => {
    const { context } = await situation({ environment: 'CartPole-v1' });
    const { failureContext } = await import('../../src/prompting/context/failure-context.js');
    const full = { ...context(1, []), failure: failureContext({ kind: 'repeated', iteration: 0 }) };
    expect(correctionContextSchema.parse(full)).toEqual(full);
  });
});

describe('prompts of successive iterations', () => {
  it.each(['numeric', 'semantic'])(
    'share everything up to the end of the earlier history (%s)',
    async (set) => {
      const { prompts, task, context, play } = await situation({
        environment: 'CartPole-v1',
        prompts: { set },
      });
      const entries = play(60);
      expect(prompts.system(task)).toBe(prompts.system({ ...task, ...context(1, []) }));
      for (let t = 1; t < entries.length; t++) {
        const now = context(t, entries.slice(0, t));
        const end = prompts.user(now).indexOf(now.history.text) + now.history.text.length;
        expect(
          prompts.user(context(t + 1, entries.slice(0, t + 1))).startsWith(prompts.user(now).slice(0, end)),
        ).toBe(true);
      }
    },
  );

  it('mostly extend the earlier history even when the budget drops old evaluations', async () => {
    const { prompts, context, play } = await situation({
      environment: 'CartPole-v1',
      memory: { tokens: 3000 },
    });
    const entries = play(80);
    let shared = 0;
    for (let t = 30; t < entries.length; t++) {
      const now = context(t, entries.slice(0, t));
      const next = prompts.user(context(t + 1, entries.slice(0, t + 1)));
      if (next.includes(now.history.text)) shared++;
      expect(next).toContain('most recent of');
    }
    // The window moves by a quarter of the budget at a time: most prompts go on from the one before.
    expect(shared).toBeGreaterThan(40);
  });
});

describe('the numeric prompt set', () => {
  it('mentions neither the environment nor rewards, states or actions', async () => {
    for (const id of ['CartPole-v1', 'FrozenLake-v1', 'Pendulum-v1']) {
      const { prompts, task, context, play } = await situation({
        environment: id,
        prompts: { set: 'numeric' },
      });
      const full = context(3, play(3));
      const text = [
        prompts.system(task),
        prompts.user(full),
        prompts.formatCorrection(full, { kind: 'missing' }),
      ].join('\n');
      expect(text).not.toMatch(
        /cart|pole|lake|pendulum|polic|environment|episode|return|reward|state|action|observation|agent/i,
      );
    }
  });
});
