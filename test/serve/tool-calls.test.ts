import { expect, test } from 'vitest';
import type { ToolFormat } from '../../src/models/language-model.js';
import { type ReplyParts, ReplyReader } from '../../src/serve/tool-calls.js';
import { callsForm, freeText, type RequestedTool } from '../../src/serve/tools.js';
import { randomAnswer } from '../models/local/constraint/form/random-answers.js';

const hermes: ToolFormat = {
  before: '<tool_call>\n',
  after: '\n</tool_call>',
  argumentsKey: 'arguments',
  isList: false,
};
const llama: ToolFormat = { before: '', after: '', argumentsKey: 'parameters', isList: false };
const mistral: ToolFormat = { before: '', after: '', argumentsKey: 'arguments', isList: true };
const formats = { hermes, llama, mistral };

const tool = (name: string, properties: Record<string, object>): RequestedTool => ({
  type: 'function',
  function: { name, parameters: { type: 'object', properties, required: Object.keys(properties) } },
});
const tools = [
  tool('get_weather', { city: { type: 'string', maxLength: 9 } }),
  tool('add', { a: { type: 'integer' }, b: { type: 'boolean' } }),
];
const names = ['get_weather', 'add'];

/** Reads a text in pieces, as a stream does. */
function readAll(
  text: string,
  format: ToolFormat,
  length: number,
): { readonly steps: readonly ReplyParts[]; readonly last: ReplyParts } {
  const reader = new ReplyReader({ format, names });
  const steps: ReplyParts[] = [];
  for (let at = 0; at < text.length; at += length) steps.push(reader.push(text.slice(at, at + length)));
  return { steps, last: reader.end() };
}

test.each(Object.entries(formats))(
  'forced calls in the %s format are parsed, and streaming only appends to them',
  (_name, format) => {
    for (const seed of [1, 2, 3, 4]) {
      const text = randomAnswer(callsForm(tools, format, true), seed);
      if (text === undefined) continue;
      const { last, steps } = readAll(text, format, 1 + seed);
      expect(last.content).toBe('');
      expect(last.calls.length).toBeGreaterThan(0);
      for (const { arguments: given, id, name } of last.calls) {
        expect(id).toMatch(/^[0-9a-f]{9}$/);
        const value = JSON.parse(given) as object;
        expect(Object.keys(value)).toEqual(name === 'add' ? ['a', 'b'] : ['city']);
      }
      for (const { calls, content } of steps) {
        expect(content).toBe('');
        calls.forEach((call, i) => {
          expect(last.calls[i]).toMatchObject({ id: call.id, name: call.name });
          expect(last.calls[i]!.arguments.startsWith(call.arguments)).toBe(true);
        });
      }
    }
  },
);

test('text before a call becomes the content, without the call marker and its whitespace', () => {
  const text =
    'Let me look < there.\n<tool_call>\n{"name": "add", "arguments": {"a": 1, "b": [true, "}"]}}\n</tool_call>\n<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>';
  for (const length of [1, 3, 7, 100]) {
    const { last, steps } = readAll(text, hermes, length);
    expect(last).toMatchObject({
      content: 'Let me look < there.',
      calls: [
        { name: 'add', arguments: '{"a": 1, "b": [true, "}"]}' },
        { name: 'get_weather', arguments: '{}' },
      ],
    });
    for (const { content } of steps) expect('Let me look < there.'.startsWith(content)).toBe(true);
  }
});

test('text without a call stays text', () => {
  expect(readAll('a <tool', hermes, 2).last).toEqual({ content: 'a <tool', calls: [] });
  expect(readAll('{"name": "other", "parameters": {}}', llama, 5).last.calls).toEqual([]);
  expect(readAll('{"name": "other", "parameters": {}}', llama, 5).last.content).toMatch(/other/);
  expect(readAll('Hello', llama, 2).steps.at(-1)!.content).toBe('Hello');
});

test('a call without the marker is accepted if it names a known tool', () => {
  const text = '{"name": "add", "arguments": {"a": 1}}';
  expect(readAll(text, hermes, 4).last).toMatchObject({
    content: '',
    calls: [{ name: 'add', arguments: '{"a": 1}' }],
  });
  expect(readAll('{"name": "hello", "arguments": {}}', hermes, 4).last.calls).toEqual([]);
  expect(readAll('{"answer": 42', hermes, 4).steps.at(-1)!.content).toBe('{"answer": 42');
});

test('calls with keys in another order and unfinished calls are parsed', () => {
  expect(
    readAll('<tool_call>{"arguments": {"a": 1}, "name": "add"}</tool_call>', hermes, 9).last.calls,
  ).toMatchObject([{ name: 'add', arguments: '{"a":1}' }]);
  expect(readAll('<tool_call>\n{"name": "add", "arguments": {"a": 1', hermes, 9).last.calls).toMatchObject([
    { name: 'add', arguments: '{"a": 1' },
  ]);
});

test('if calls are optional, random answers contain text without a call marker', () => {
  const texts = [1, 2, 3, 4, 5, 6].flatMap(
    (seed) => randomAnswer(freeText(hermes, callsForm(tools, hermes, false)), seed, 80) ?? [],
  );
  expect(texts.length).toBeGreaterThan(0);
  for (const text of texts) expect(text).not.toContain('<tool_call>');
});

test('text that only looks like a call stays text, however it is split into chunks', () => {
  for (const text of ['{"name": "\\x", "arguments": {}}', '{"name": 1, "arguments": {}}', '[{"name": "add"'])
    for (const length of [1, 3, 100])
      expect(readAll(text, llama, length).last).toEqual({ content: text, calls: [] });
});
