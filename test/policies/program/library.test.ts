import { expect, it } from 'vitest';
import { createProgramLibrary } from '../../../src/policies/program/library.js';

it('a program library returns each program as written, even if another has the same structure', () => {
  const library = createProgramLibrary({ kind: 'discrete', n: 2 });
  const first = 'function act(o) {\n  // a rejected one\n  return o[0] > 0.25 ? 1 : 0;\n}';
  const second = 'function act(o) { return o[0] > 0.5 ? 1 : 0; }';
  const [a, b] = [library.add(first), library.add(second)];
  expect(a[0]).toBe(b[0]);
  expect([library.program(a).source, library.program(b).source]).toEqual([first, second]);
  // As a resumed run, which never sees the rejected one.
  const resumed = createProgramLibrary({ kind: 'discrete', n: 2 });
  expect(resumed.program(resumed.add(second)).source).toBe(second);
  expect(() => resumed.program(a)).toThrow('is missing');
});
