import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { UserError } from '../../../../src/base/errors.js';
import { openChatTemplate } from '../../../../src/models/local/tokens/chat-template.js';
import { temporaryDirectory } from '../../../support/temporary-directory.js';

const folder = path.join(import.meta.dirname, '..', '..', '..', 'fixtures', 'templates');
const rendered = z.union([z.string(), z.object({ error: z.string() })]);
const { conversations, published, constructs } = z
  .object({
    conversations: z.record(
      z.string(),
      z.array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })),
    ),
    published: z.record(
      z.string(),
      z.array(
        z.object({ conversation: z.string(), variables: z.record(z.string(), z.unknown()), text: rendered }),
      ),
    ),
    constructs: z.array(z.object({ template: z.string(), text: rendered })),
  })
  .parse(JSON.parse(readFileSync(path.join(folder, 'expected.json'), 'utf8')));

const tokens = { bos_token: '<s>', eos_token: '</s>' };

/** The rendered text, or the message of the error. */
function render(
  template: string,
  conversation: string,
  variables: Readonly<Record<string, unknown>> = {},
): string | { error: string } {
  try {
    const opened = openChatTemplate('/no/directory', { ...tokens, chat_template: template }, variables);
    return opened.render(conversations[conversation]!);
  } catch (error) {
    expect(error).toBeInstanceOf(UserError);
    return { error: (error as UserError).message };
  }
}

const names = readdirSync(path.join(folder, 'published')).map((file) => path.parse(file).name);

test('more than 30 published templates are compared, and Transformers renders over 90 % of their texts', () => {
  expect(Object.keys(published).sort()).toEqual(names.sort());
  expect(names.length).toBeGreaterThan(30);
  const texts = Object.values(published).flat();
  expect(texts.filter(({ text }) => typeof text === 'string').length).toBeGreaterThan(0.9 * texts.length);
});

test.each(names)('%s: the rendered text equals that of Transformers, or both report an error', (name) => {
  const template = readFileSync(path.join(folder, 'published', `${name}.jinja`), 'utf8');
  for (const { conversation, variables, text } of published[name]!) {
    const ours = render(template, conversation, variables);
    if (typeof text === 'string') expect(ours, conversation).toBe(text);
    // Where Transformers fails, so do we, for the template's own reason.
    else expect(ours).toEqual({ error: expect.stringMatching(/the chat template can't render/) });
  }
});

test.each(constructs)('$template is rendered as in Transformers, or rejected', ({ template, text }) => {
  const ours = render(template, 'long');
  if (typeof ours === 'string') expect(ours).toEqual(text);
  else expect(ours.error).toMatch(/not supported|can't be parsed|the chat template can't render/);
});

test('fewer than 40 % of constructs render only in Transformers; errors name the construct', () => {
  const refused = constructs.filter(
    ({ template, text }) => typeof text === 'string' && typeof render(template, 'long') !== 'string',
  );
  expect(refused.length).toBeLessThan(0.4 * constructs.length);
  expect(render('{{ 7 / 2 }}', 'one')).toEqual({ error: expect.stringContaining('the operator `/`') });
  expect(render("{{ ['a'] }}", 'one')).toEqual({
    error: expect.stringContaining('a value of type list as text'),
  });
  expect(render('{{ 1 < 2 < 3 }}', 'one')).toEqual({
    error: expect.stringContaining('a chain of comparisons'),
  });
  expect(render('{{ messages|sum }}', 'one')).toEqual({ error: expect.stringContaining('the filter `sum`') });
  expect(render('\u{FEFF}{{ 1 }}', 'one')).toEqual({ error: expect.stringContaining('byte order mark') });
});

test('a template file gives the same text with Windows and Unix line endings', () => {
  const texts = ['\n', '\r\n', '\r'].map((end) => {
    const directory = temporaryDirectory();
    const source = ['{% for m in messages %}', '[{{ m.content }}]', '{% endfor %}', ''].join(end);
    writeFileSync(path.join(directory, 'chat_template.jinja'), source);
    return openChatTemplate(directory, {}).render([{ role: 'user', content: 'a\r\nb' }]);
  });
  expect(texts).toEqual(Array(3).fill('[a\r\nb]\n'));
});

test('a template that runs for too long or produces too much text is stopped', () => {
  const ranges = '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}';
  expect(render(ranges, 'one')).toEqual({ error: expect.stringContaining('more steps') });
  const doubling =
    "{% set ns = namespace(s='aaaa') %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}";
  expect(render(doubling, 'one')).toEqual({ error: expect.stringContaining('more steps') });
  expect(render('{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', 'one')).toHaveProperty('error');
});

test('a list of templates is rejected if none of them is named default', () => {
  const named = [
    { name: 'tool_use', template: 'a' },
    { name: 'rag', template: 'b' },
  ];
  const open = (list: typeof named) => openChatTemplate('/no/directory', { chat_template: list });
  expect(() => open(named)).toThrow(/none of the model's chat templates is named `default`/);
  expect(open([...named, { name: 'default', template: 'c' }]).render([])).toBe('c');
});
