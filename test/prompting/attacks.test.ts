import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Handlebars from 'handlebars';
import { beforeEach, describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { packageRoot } from '../../src/base/package.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { loadPromptSet } from '../../src/prompting/templates/prompt-set.js';
import { bounded, boundLoops } from '../../src/prompting/templates/rendering.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

let folder: string;
beforeEach(() => {
  folder = temporaryDirectory();
  cpSync(join(packageRoot(), 'prompts', 'semantic'), folder, { recursive: true });
  mkdirSync(join(folder, 'partials'), { recursive: true });
});

const environment = await makeEnvironment('CartPole-v1');
const load = () => loadPromptSet({ set: folder, environment, options: {}, maxSteps: 1000 });
const put = (file: string, text: string) => writeFileSync(join(folder, file), text);

function refusal(work: () => unknown = load): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    return (error as UserError).message;
  }
  throw new Error('the set was accepted');
}

describe('a prompt set with untrusted files', () => {
  const secret = () => {
    const file = join(temporaryDirectory(), 'secret');
    writeFileSync(file, 'hunter2');
    return file;
  };

  it.each(['partials/history.hbs', 'system.hbs', 'environments/CartPole-v1.hbs'])(
    'is rejected if a file links out of the set: %s',
    (name) => {
      mkdirSync(join(folder, 'environments'), { recursive: true });
      rmSync(join(folder, name), { force: true });
      symlinkSync(secret(), join(folder, name));
      const said = refusal();
      expect(said).toMatch(/is a link to a file outside the prompt set/);
      expect(said).not.toContain('hunter2');
    },
  );

  it('is rejected if a folder links out of the set', () => {
    const other = temporaryDirectory();
    writeFileSync(join(other, 'history.hbs'), 'hunter2');
    rmSync(join(folder, 'partials'), { recursive: true });
    symlinkSync(other, join(folder, 'partials'));
    expect(refusal()).toMatch(/outside the prompt set/);
  });

  it('is loaded if its links stay within the set and if the set itself is a link', () => {
    put('shared.hbs', 'SHARED');
    symlinkSync('../shared.hbs', join(folder, 'partials', 'mine.hbs'));
    put('user.hbs', '{{> mine}}\n{{> answer-format}}');
    const other = join(temporaryDirectory(), 'link');
    symlinkSync(folder, other);
    expect(() => loadPromptSet({ set: other, environment, options: {}, maxSteps: 1000 })).not.toThrow();
  });

  it('is rejected if a template is a device, a folder or too large', () => {
    symlinkSync('/dev/zero', join(folder, 'partials', 'history.hbs'));
    expect(refusal()).toMatch(/outside the prompt set/);
    rmSync(join(folder, 'partials', 'history.hbs'));
    mkdirSync(join(folder, 'partials', 'history.hbs'));
    expect(refusal()).toMatch(/is a folder, not a regular file/);
    rmSync(join(folder, 'partials', 'history.hbs'), { recursive: true });
    put('user.hbs', 'x'.repeat(300_000));
    expect(refusal()).toMatch(/has at least 300000 bytes/);
  });
});

describe('runaway templates', () => {
  it.each([
    ['a partial in itself', { loop: '{{> loop}}' }, '{{> loop}}', /the partial loop includes itself/],
    ['partials in each other', { a: '{{> b}}', b: '{{> a}}' }, '{{> a}}', /includes itself/],
    [
      'partials that include the next twice',
      Object.fromEntries(
        Array.from({ length: 40 }, (_, i) => [`p${i}`, i < 39 ? `{{> p${i + 1}}}{{> p${i + 1}}}` : 'x']),
      ),
      '{{> p0}}',
      /at most \d+ statements, counting its partials/,
    ],
    [
      'a long chain of partials',
      Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, i < 299 ? `{{> p${i + 1}}}` : 'x'])),
      '{{> p0}}',
      /nested more than 50 levels deep/,
    ],
    [
      'deep blocks',
      {},
      `${'{{#if iteration}}'.repeat(200)}${'{{/if}}'.repeat(200)}`,
      /nested more than 50 levels deep/,
    ],
    ['deeper blocks', {}, `${'{{#if iteration}}'.repeat(10_000)}${'{{/if}}'.repeat(10_000)}`, /nest/],
    [
      'blocks that never end',
      {},
      '{{#if iteration}}'.repeat(15_000),
      /ends before all blocks are closed|nest/,
    ],
    [
      'deep expressions',
      {},
      `{{x ${'(x '.repeat(20_000)}${')'.repeat(20_000)}}}`,
      /nest|no helper|invalid Handlebars/,
    ],
  ])('are rejected: %s', (_name, partials, user, message) => {
    for (const [name, text] of Object.entries(partials)) put(`partials/${name}.hbs`, text);
    put('user.hbs', user);
    const said = refusal();
    expect(said).toMatch(message);
    expect(said.split('\n').length).toBeLessThan(10);
  });

  it('are stopped if nested loops run too long or write too much', () => {
    const handlebars = Handlebars.create();
    boundLoops(handlebars);
    const render = (template: string, items: number) => {
      const context = { list: Array.from({ length: items }, (_, i) => i) };
      return bounded(() => handlebars.compile(template)(context));
    };
    const each = (inner: string) => `{{#each @root.list}}${inner}{{/each}}`;
    expect(() => render(each(each(each(''))), 200)).toThrow(/loops run more than 1000000 iterations/);
    expect(() => render(each(each(each('x'.repeat(50)))), 90)).toThrow(/more than 20000000 characters/);
    expect(render(each('{{this}}{{@index}},'), 1000)).toContain(',1010,');
    expect(render('{{#each list as |item place|}}{{item}}-{{place}} {{/each}}', 2)).toBe('0-0 1-1 ');
    expect(render(each(each('x')), 500)).toHaveLength(250_000);
  });
});
