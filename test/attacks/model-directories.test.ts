import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../src/base/errors.js';
import { TimeLimitError, withTimeLimit } from '../../src/base/time-limit.js';
import { inspectModel } from '../../src/models/local/engine/inspect.js';
import { openTokenizer } from '../../src/models/local/tokens/tokenizer.js';
import { type Hostile, hostileModel, safetensors } from './hostile-model.js';

const text = (content: string | Buffer): Hostile => ({ kind: 'text', text: content });
const fields = (given: Record<string, unknown>): Hostile => ({ kind: 'fields', fields: given });
const link = (target: string): Hostile => ({ kind: 'link', target });
const deep = (depth: number) => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`;
const tensor = (offsets: unknown, shape: unknown = [4]) =>
  `{"model.norm.weight":{"dtype":"F32","shape":${JSON.stringify(shape)},"data_offsets":${JSON.stringify(offsets)}}}`;

/** What the commands report about a model directory: at most one screen. */
function problemsOf(files: Record<string, Hostile>): string {
  const { problems } = inspectModel(hostileModel(files));
  return problems.map(formatProblem).join('\n');
}

describe('a hostile model directory is rejected with a short message', () => {
  it.each<[string, Record<string, Hostile>, RegExp]>([
    ['an endless config', { 'config.json': link('/dev/zero') }, /config.json: is a device, pipe or socket/],
    ['a deep config', { 'config.json': text(deep(5000)) }, /config.json: .*more than 200 levels/],
    ['a list as the config', { 'config.json': text('[]') }, /not a model config/],
    ['a billion layers', { 'config.json': fields({ num_hidden_layers: 1e9 }) }, /num_hidden_layers: /],
    ['endless weights', { 'model.safetensors': link('/dev/zero') }, /is a device, pipe or socket/],
    [
      'a header of 2^60 bytes',
      { 'model.safetensors': text(safetensors('{}', { length: 2n ** 60n })) },
      /its header is cut off, or longer than 100 MB/,
    ],
    ['a header that is null', { 'model.safetensors': text(safetensors('null')) }, /header is not a table/],
    [
      'strings as offsets',
      { 'model.safetensors': text(safetensors(tensor(['0', '16']))) },
      /no valid entry for the tensor/,
    ],
    [
      'negative shapes',
      { 'model.safetensors': text(safetensors(tensor([0, 16], [-2, -2]))) },
      /no valid entry for the tensor/,
    ],
    [
      'offsets beyond the file',
      { 'model.safetensors': text(safetensors(tensor([0, 2 ** 50], [2 ** 48]))) },
      /beyond the end/,
    ],
    [
      'overlapping tensors',
      {
        'model.safetensors': text(
          safetensors(
            tensor([0, 16]).replace('{', '{"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]},'),
          ),
        ),
      },
      /overlaps another one/,
    ],
    [
      'a shard outside the directory',
      {
        'model.safetensors': text(''),
        'model.safetensors.index.json': text('{"weight_map":{"a":"../../../etc/passwd"}}'),
      },
      /not a usable safetensors/,
    ],
    [
      'a token with id 4e9',
      { 'tokenizer.json': fields({ added_tokens: [{ id: 4e9, content: 'x', special: true }] }) },
      /added_tokens.0.id: /,
    ],
    [
      'a string as an id',
      { 'tokenizer.json': fields({ 'model.vocab': { a: 'length' } }) },
      /model.vocab: is not a token id/,
    ],
    ['a large template', { 'chat_template.jinja': text('x'.repeat(2e6)) }, /has at least 2000000 bytes/],
    [
      'a deep template',
      { 'chat_template.jinja': text(`{{ ${'('.repeat(50_000)}1${')'.repeat(50_000)} }}`) },
      /can't be parsed/,
    ],
  ])('%s', (_name, files, message) => {
    const said = problemsOf(files);
    expect(said).toMatch(message);
    expect(said.split('\n').length).toBeLessThan(12);
    expect(said).not.toMatch(/node:|TypeError|\.ts:/);
  });
});

describe('limits on chat templates', () => {
  const render = (template: string) => {
    const directory = hostileModel({ 'chat_template.jinja': text(template) });
    return openTokenizer(directory).promptText([{ role: 'user', content: 'a' }]);
  };
  const loop = (body: string, over = 'range(100000)') => `{% for i in ${over} %}${body}{% endfor %}`;

  it.each([
    ['loops in loops', loop(loop(loop('x')))],
    ['a range of a billion', loop('', 'range(1000000000)')],
    ['a macro that calls itself', '{% macro f(g) %}{{ g(g) }}{% endmacro %}{{ f(f) }}'],
    [
      'a macro that calls itself twice',
      '{% macro f(n) %}{% if n > 0 %}{{ f(n-1) }}{{ f(n-1) }}{% endif %}{% endmacro %}{{ f(60) }}',
    ],
    [
      'strings that double in length',
      `{% set ns = namespace(t='x') %}${loop('{% set ns.t = ns.t ~ ns.t %}', 'range(60)')}`,
    ],
  ])('stop %s', (_name, template) => {
    expect(() => render(template)).toThrow(/can't render these messages: .*(steps|range has|call stack)/);
  });

  it('leave room for a long but ordinary conversation', () => {
    const directory = hostileModel({});
    const long = Array.from({ length: 40 }, (_, i) => ({
      role: i % 2 === 0 ? ('user' as const) : ('assistant' as const),
      content: 'params[0]: 1.5\n'.repeat(2000),
    }));
    expect(openTokenizer(directory).promptText(long)).toContain('params[0]');
  });
});

it('withTimeLimit interrupts slow regular expressions and endless loops', () => {
  expect(() => withTimeLimit(0.05, () => /^(a+)+$/.test(`${'a'.repeat(60)}b`))).toThrow(TimeLimitError);
  expect(() => {
    withTimeLimit(0.05, () => {
      for (;;);
    });
  }).toThrow(/longer than 0.05 s/);
  expect(withTimeLimit(1, () => withTimeLimit(1, () => 'both'))).toBe('both');
  const failed = () => {
    throw new RangeError('its own');
  };
  expect(() => withTimeLimit(1, failed)).toThrow(RangeError);
});
