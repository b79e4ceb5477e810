import { describe, expect, it } from 'vitest';
import { createProgramLibrary } from '../../../src/policies/program/library.js';
import { readEdits, readProgram } from '../../../src/prompting/answer/program.js';

const code = (line: string) =>
  `function act(observation, memory) {\n  const [a, b, c, d] = observation;\n  ${line}\n  return 0;\n}`;

it.each([
  'if (a <b && c> d) return 1;',
  'memory[result] = a; const t = memory[params];',
  '// </pre> <br> bold',
  'const html = "<answer>";',
])('code that resembles tags is read verbatim: %s', (line) => {
  const programs = createProgramLibrary({ kind: 'discrete', n: 2 });
  const source = code(line);
  for (const thinking of ['', '<think>```js\nfunction act() { return 1; }\n```\nNo.</think>\n']) {
    const read = readProgram(`${thinking}So:\n\`\`\`js\n${source}\n\`\`\`\n`, programs);
    expect(read.ok && programs.program(read.value).source).toBe(source);
  }
});

it('code in the thinking is ignored', () => {
  const thought = '<think>\n```js\nfunction act() { return 1; }\n```\n</think>\nNothing.';
  expect(readProgram(thought, createProgramLibrary({ kind: 'discrete', n: 2 })).ok).toBe(false);
});

describe('a program in a reply', () => {
  const program = code('if (a > 0) return 1;');
  const fenced = (label: string, text: string, fence = '```') => `${fence}${label}\n${text}\n${fence}`;
  const block = fenced('js', program);
  const sourceOf = (reply: string, finishReason: 'length' | 'stop' = 'stop') => {
    const programs = createProgramLibrary({ kind: 'discrete', n: 2 });
    const read = readProgram(reply, programs, { finishReason });
    return read.ok ? programs.program(read.value).source : read.failure;
  };

  it.each([
    ['js', 'const action = act([-0.5, 0.01], {}, {});'],
    ['javascript', '// function act(observation) { … } from above\nconsole.log(act([0, 1]));'],
    ['js', "const act = require('./policy');\nact([0]);"],
    ['ts', 'function act(observation: number[], memory: object): number;'],
    ['json', '{ "call": "act([0.1, 0.2])", "result": 1 }'],
    ['bash', 'node -e "console.log(act([0]))"'],
    ['', 'act(x) => 1'],
    ['js', 'function act(observation, memory) {\n  // Scale the state first.\n  …\n}'],
    ['js', 'function act(observation) { ... }'],
    ['js', 'function act(observation) {\n  console.log(observation);\n  // The rest is as above.\n}'],
    ['diff', '-function act(observation) {\n+function act(observation, memory) {'],
  ])('is not replaced by an example in a later %j block: %s', (label, example) => {
    expect(sourceOf(`Here:\n\n${block}\n\nExample:\n\n${fenced(label, example)}\n`)).toBe(program);
  });

  it.each([
    fenced('markdown', `Here:\n\n${block}`),
    fenced('markdown', `Here:\n\n${block}\n\nA call:\n\n${fenced('js', 'act([1]);')}\nDone.`),
    fenced('md', `Here:\n\n${fenced('', program)}`, '````'),
    fenced('markdown', `Here:\n\n${fenced('', program)}`),
    fenced('', `Here:\n\n${block}`),
    `\`\`\`js\n${program}\n\n\`\`\`js\nact([1]);\n\`\`\`\n`,
    `${program}\n\nFor example:\n\n${fenced('js', 'const a = act([1]);')}`,
    `Signs are enough …\n\n${program}\n\n${fenced('js', 'act([1]);')}`,
    `${program}\n\nconsole.log(act([1], {}));\n`,
    `${program}. That is all.`,
    `function act(o) { return 1; }\n\nBetter:\n\n${block}`,
    `${block.slice(0, -4)}\`\`\`\n`,
    `<tool_call>{"name": "propose", "arguments": ${JSON.stringify({ program })}}</tool_call>`,
    fenced('json', JSON.stringify({ program, reason: 'act(…) is short' }, null, 2)),
  ])('is read even if it is fenced unusually or not at all (case %#)', (reply) => {
    expect(sourceOf(reply)).toBe(program);
  });

  it('is replaced by a later definition, even one with syntax errors', () => {
    const later = code('return 1;');
    expect(sourceOf(`${block}\nBetter:\n${fenced('js', later)}`)).toBe(later);
    const wrong = fenced('js', later.replace('return 1;', 'return (1;'));
    expect(sourceOf(`${block}\nBetter:\n${wrong}`)).toMatchObject({ kind: 'program', line: 3 });
  });

  it('is not replaced by an incomplete definition at the end of a truncated reply', () => {
    const reply = `${block}\nBetter:\n\`\`\`js\nfunction act(observation) {\n  if (`;
    expect(sourceOf(reply, 'length')).toBe(program);
    expect(sourceOf(reply.slice(block.length), 'length')).toEqual({ kind: 'truncated' });
    for (const wrong of [reply, 'function act(o)\n  return 1;'])
      expect(sourceOf(wrong)).toMatchObject({ kind: 'program' });
  });

  it('is changed by complete edits in a truncated reply', () => {
    const programs = createProgramLibrary({ kind: 'discrete', n: 2 });
    const parent = programs.add(program);
    const edit = '<<<<<<< SEARCH\n  return 0;\n=======\n  return 1;\n>>>>>>> REPLACE';
    const edited = program.replace('return 0;', 'return 1;');
    const read = (reply: string, finishReason: 'length' | 'stop') => {
      const result = readEdits(reply, parent, programs, { finishReason });
      return result.ok ? programs.program(result.value).source : result.failure.kind;
    };
    for (const rest of ['<<<<<<< SEARCH\n  if (a', '<<<<<<< SEARCH\n  a\n=======\n  b\n>>>>']) {
      expect(read(`${edit}\n${rest}`, 'length')).toBe(edited);
      expect(read(`${edit}\n${rest}`, 'stop')).toBe('program');
      expect(read(rest, 'length')).toBe('truncated');
    }
  });
});
