import { expect, it } from 'vitest';
import { createProgramLibrary } from '../../../src/policies/program/library.js';
import { readProgram } from '../../../src/prompting/answer/program.js';

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
