import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Space } from '../../../src/environments/environment.js';
import { parseProgram, withConstants } from '../../../src/policies/program/source.js';
import { failureOf } from './failure-of.js';

const box: Space = { kind: 'box', low: [-1], high: [1] };
const discrete: Space = { kind: 'discrete', n: 3 };

const act = (body: string) => `function act(observation, memory, constants) {\n${body}\n}`;
const values = (source: string, space: Space = box) =>
  parseProgram(source, space).constants.map(({ value }) => value);
const structure = (source: string, space: Space = box) => parseProgram(source, space).structure;
const faultOf = (source: string) => failureOf(() => parseProgram(source, box));

describe('parseProgram', () => {
  it('accepts a function declaration, an arrow function and a function expression', () => {
    for (const source of [
      act('return [0.5];'),
      'const act = (o) => [0.5];',
      'const act = function (o) { return [0.5]; };',
      "'use strict';\nfunction gain() { return 0.5; }\nfunction act(o) { return [gain()]; };",
    ])
      expect(values(source)).toEqual([0.5]);
  });

  it.each([
    ['let a = 1;\nfunction act( { }', /^SyntaxError: Unexpected token$/, 2],
    ['export function act() {}', /^SyntaxError: 'import' and 'export'/, 1],
    ['function react() {}', /no function act/, undefined],
    ['if (true) { function act() {} }', /no function act/, undefined],
    ['\nlet act = () => 0;', /act must be a function or a const/, 2],
    ['const act = 5;', /act must be a function/, 1],
    ['\n\nasync function act() {}', /neither async/, 3],
    ['function act() {\n const f = async () => 1;\n return 0; }', /async functions are not available/, 2],
    [`${act('return [1];')}//${'x'.repeat(20_000)}`, /has 20\d\d\d characters; at most 20000/, undefined],
    [act(`return 1${'+1'.repeat(1000)};`), /nested too deeply/, 2],
    [act(`return ${'('.repeat(9000)}1${')'.repeat(9000)};`), /stack space/, 2],
    [`const constants = {\n gain: 'high'};${act('')}`, /gain must be a number; declare constants as/, 2],
    [`const constants = {gain: {value: 1, min: 0, high: 2}};${act('')}`, /gain must be a number/, 1],
    [`const constants = {gain: {value: 1, low: 2, high: 2}};${act('')}`, /gain needs low < high/, 1],
    [`const constants = {...other};${act('')}`, /plain properties/, 1],
    [`const constants = {a: 1,\na: 2};${act('')}`, /a is declared twice/, 2],
  ])('rejects an invalid program: $1', (source, reason, line) => {
    expect(faultOf(source).reason).toMatch(reason);
    expect(faultOf(source).line).toBe(line);
  });

  it('uses only the declared constants if there is a `const constants`', () => {
    const source = `const constants = {gain: {value: 1.5, low: 0, high: 5}, 'threshold': -0.1};\n${act('return [0.7 * constants.gain];')}`;
    expect(parseProgram(source, box).constants).toMatchObject([
      { name: 'gain', value: 1.5, low: 0, high: 5 },
      { name: 'threshold', value: -0.1, low: -0.1 - 0.2, high: -0.1 + 0.2 },
    ]);
    expect(values(`const constants = {};${act('return [0.7];')}`)).toEqual([]);
    expect(values(`let constants = {a: 2};${act('return [0.7];')}`)).toEqual([2, 0.7]);
  });

  it('gives literals a range around their value', () => {
    expect(parseProgram(act('return [2, -3, 0, 8e307];'), box).constants).toMatchObject([
      { low: -2, high: 6 },
      { low: -9, high: 3 },
      { low: -1, high: 1 },
      { low: -8e307, high: Number.MAX_VALUE },
    ]);
  });

  it.each([
    ['return [-0.5 * observation[2] - 0.25 + -(-.75)];', [-0.5, 0.25, 0.75]],
    ['return [observation[0] ** 2 + Math.pow(3, 2) + 2 ** 3];', [3, 2]],
    ['return [observation.at(-1) % 4 & 7 | (x << 2) ^ ~5];', []],
    ['if (memory.t === 3 || memory.t !== 4) return [0.5]; memory.t %= 8;', [0.5]],
    ['for (let i = 0; i < 10; i++) memory.t = i * 0.5;', [0.5]],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: source text of a program
    ['const a = {3: 0.5, [4]: 1.5}; memory.t = `${2 * 3} 4`; return "5";', [0.5, 1.5]],
    ['return [Number((0.5).toFixed(2)), observation.slice(0, 3), Array.from({length:4}), new Array(9)];', []],
    ['return [5n, 1e999, 0x10, 1_000];', [16, 1000]],
    ['return [Math.max(-1, Math.min(1, 0.5 * observation[0])), 0.7];', [0.5, 0.7]],
    ['const u = Math.min(Math.max(-2, 0.5 - y), 2); return [u];', [0.5]],
    ['const clamp = (v, a, b) => Math.max(a, Math.min(b, v)); return [clamp(0.5 * y, -2, 2)];', [0.5]],
    ['return [0.5 * Math.max(0.1, y) + Math.min(3, y)];', [0.5, 0.1, 3]],
  ])('finds the tunable literals of %s', (body, expected) => {
    expect(values(act(body))).toEqual(expected);
  });

  it.each([
    ['let action = 0; if (x > 0.2) action = 1; return action;', [0.2]],
    ['return x > 0.2 ? 1 : (memory.t > 7.5 ? 2 : 0);', [0.2, 7.5]],
    ['return (memory.t = 3.5, +(x > 0.2) + 1);', [3.5, 0.2]],
    ['const a = x > 0.2 ? 1 : 0; const b = a; let c; c = b; return c;', [0.2]],
    ['const moves = {left: 0, right: 2}; return x < 0.2 ? moves.left : moves.right;', [0.2]],
    ['const table = new Map([[0, 2], [1, 1]]); return table.get(x > 0.2 ? 1 : 0);', [0.2]],
    ['memory.last = 1; memory.gain = 0.3; return memory.last;', [0.3]],
    ['return observation.map((o) => (o > 0.2 ? 1 : 0));', [0.2]],
    ['function pick(test, a) { return test ? a : 2; } return pick(x > 0.2, 1);', [0.2]],
    ['const s = [0.5 * x, 0.1]; return s.indexOf(Math.max(...s));', [0.5, 0.1]],
    ['return Math.min(2, Math.max(0, Math.round(1.5 * x)));', [1.5]],
    ['let action = 0; if (x > 0.2) action += 1; return action;', [0.2]],
  ])("doesn't count integer actions as constants: %s", (body, expected) => {
    const source = act(`const x = observation[0];\n${body}`);
    expect(values(source, discrete)).toEqual(expected);
    expect(values(source, { kind: 'tuple', spaces: [{ kind: 'discrete', n: 2 }] })).toEqual(expected);
    if (/[^.\d]\d[^.\d]/.test(body)) expect(values(source).length).toBeGreaterThanOrEqual(expected.length);
  });

  it('counts the literals of a box action as constants', () => {
    expect(values(act('let action = 0; if (x > 0.2) action = 1; return [action];'))).toEqual([0, 0.2, 1]);
  });
});

describe('the structure of a program', () => {
  const source = act('const x = observation[0]; return [0.5 * x > 1 ? -1 : x - 2];');

  it('ignores constants, comments, layout and redundant parentheses', () => {
    const same = `// a comment\nfunction act( observation,memory,constants ){const x = (observation[0])\n return [((-3.5) * x > 1e9) ? +1 : (x - (-2))];;}`;
    expect(structure(same)).toBe(structure(source));
    expect(Number.isInteger(structure(source))).toBe(true);
    expect(structure(source)).toBeLessThan(2 ** 48);
  });

  it.each([
    act('const x = observation[1]; return [0.5 * x > 1 ? -1 : x - 2];'),
    act('const y = observation[0]; return [0.5 * y > 1 ? -1 : y - 2];'),
    act('const x = observation[0]; return [0.5 * x >= 1 ? -1 : x - 2];'),
    act('const x = observation[0]; return [0.5 * x > 1 ? -1 : x + 2];'),
    act('const x = observation[0]; return [0.5 * (x > 1) ? -1 : x - 2];'),
    act('const x = observation[0]; return [0.5 * x > 1 ? -x : x - 2];'),
  ])('differs for %s', (other) => expect(structure(other)).not.toBe(structure(source)));

  it('depends on declared names and ranges, but not on their notation', () => {
    const declared = (text: string) => structure(`const constants = {gain: ${text}};${act('')}`);
    expect(declared('{value: 3, low: 0.0, "high": 5}')).not.toBe(declared('{value: 3, low: 0, high: 6}'));
    expect(declared('{value: 3, low: 0.0, high: 5}')).toBe(declared('{ value: -1, low: 0, high: 0x5 }'));
    expect(declared('3')).toBe(declared('4'));
    expect(structure(`const constants = {k: 3};${act('')}`)).not.toBe(declared('3'));
    expect(structure(act('return /a/g'))).not.toBe(structure(act('return /a/i')));
  });
});

describe('withConstants', () => {
  const programs = [
    'const constants={gain:{value:-1.5,low:0,high:5},threshold:+0.1}\nfunction act(){return constants}',
    act(
      'let y=observation[0]-0.5\nconst z = y*-2+ +3- -4/(5)\nif(z>-1)return-0.75\nelse return 0.5 ** z + (.25)**2',
    ),
    act('return[1,-2,y?.5:-.5,!3,typeof-4,7 in x?1:2,...8,{a:-1},x<-1,x>-1,x-1-(-(2)),- -3,-(-(4))]'),
    'const act = (o = -0.5) => 0.5',
    'const act = o => -o[0] * 3 /* c */ - /* d */ 2 // e\n',
    act('const a = 1\nconst b = 0.5\n-0.25 * a\nreturn [a, (b, -1)]'),
    act('memory.t = (memory.t || 0) + 1; label: while (memory.t > 1.5) { memory.t -= 2; continue label }'),
    'class Pid { gain = 0.5\n static [1] = -2 }\nconst act = async => (async ? -1 : 1)',
  ];
  const finite = fc.oneof(
    fc.constantFrom(0, -0, 1e-7, -1e-7, 1e21, -1e21, 5e-324, Number.MAX_VALUE, 0.1 + 0.2),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer({ min: -9, max: 9 }),
  );

  it.each(programs)('keeps the structure when it changes values: %s', (source) => {
    const program = parseProgram(source, box);
    const count = program.constants.length;
    expect(withConstants(program, values(source))).toBe(source);
    fc.assert(
      fc.property(fc.array(finite, { minLength: count, maxLength: count }), (drawn) => {
        const text = withConstants(program, drawn);
        const changed = parseProgram(text, box);
        expect(changed.structure).toBe(program.structure);
        expect(changed.constants.map(({ value }) => value)).toEqual(drawn);
        const back = parseProgram(withConstants(changed, values(source)), box);
        expect(back.structure).toBe(program.structure);
        expect(values(back.source)).toEqual(values(source));
      }),
      { numRuns: 20, seed: 1 },
    );
  });

  it('writes short, readable numbers', () => {
    const program = parseProgram(act('return [0.5 * x, x - 1, 3, x ? 4 : 5];'), box);
    expect(withConstants(program, [-0.5, -2, -3, 1e21, -0])).toContain(
      'return [-0.5 * x, x - (-2), -3, x ? 1e+21 : -0];'.replace('[-0.5 * x', '[(-0.5) * x'),
    );
  });

  it('rejects too few values, and NaN', () => {
    const program = parseProgram(act('return [0.5];'), box);
    expect(() => withConstants(program, [])).toThrow(/finite values/);
    expect(() => withConstants(program, [Number.NaN])).toThrow(/finite values/);
  });
});
