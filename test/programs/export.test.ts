import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { EnvironmentSpec, Observation } from '../../src/environments/environment.js';
import { exportedProgram, programIn } from '../../src/programs/export/export.js';
import { pythonLines } from '../../src/programs/export/python.js';
import { cartPole, hasPython, inModule, inPython, inSandbox, observed } from './exported.js';

const environment = await makeEnvironment('CartPole-v1');
const spec = (
  observationSpace: EnvironmentSpec['observationSpace'],
  actionSpace: EnvironmentSpec['actionSpace'],
): EnvironmentSpec => ({ id: 'test', observationSpace, actionSpace });

/** One observation an episode. */
async function expectSame(
  sources: readonly string[],
  space: EnvironmentSpec,
  observations: readonly Observation[],
) {
  const episodes = observations.map((observation) => [observation]);
  const translated = hasPython ? inPython(sources, space, episodes) : [];
  for (const [i, source] of sources.entries()) {
    const actions = await inSandbox(source, space, episodes);
    expect(await inModule(source, space, episodes), source).toEqual(actions);
    if (hasPython) expect(translated[i], source).toEqual(actions);
  }
}

describe('exported programs', () => {
  it('choose the same actions as in the sandbox', async () => {
    const episodes = observed(environment, 2, 20);
    const translated = hasPython ? inPython(cartPole, environment, episodes) : [];
    for (const [i, source] of cartPole.entries()) {
      const actions = await inSandbox(source, environment, episodes);
      expect(new Set(actions.flat()).size, source).toBe(2);
      expect(await inModule(source, environment, episodes)).toEqual(actions);
      if (hasPython) expect(translated[i], source).toEqual(actions);
    }
  });

  it('calculate like JavaScript', async () => {
    const numbers = '0, -0, 1, -1, 2.5, -2.5, 0.1, 1e21, 1.5e300, 1e-7, 123456789, Infinity, -Infinity, NaN';
    const others = 'undefined, null, true';
    const expressions = [
      ...['x + y', 'x - y', 'x / y', 'x % y', 'x < y', 'x >= y', 'x == y', 'x === y', 'x && y', 'x ?? y'],
      ...['Math.sign(Math.pow(x, y))', 'Math.max(x, y)', 'Math.min(x, y)', 'typeof x', '!x', '-x', 'x || y'],
      ...['Math.round(x)', 'Math.floor(x)', 'Math.ceil(x)', 'Math.sign(x)', 'Math.abs(x)', 'Math.sqrt(x)'],
      ...[
        'Number(x)',
        'Number.isFinite(x)',
        'String(x)',
        'x ? 1 : 2',
        "'a' + [x, y] + x",
        '[x, 1].includes(y)',
      ],
      ...[
        '[y, x].indexOf(x)',
        "[1, 'a', null][Math.abs(x)]",
        'Math.log(x)',
        'Math.exp(x)',
        '[x, y].length',
        'x != y',
      ],
    ];
    const source = `const act = (o) => {
      const xs = [${numbers}, ${others}];
      const fs = [${expressions.map((one) => `(x, y) => ${one}`).join(', ')}];
      const shown = (z) => (typeof z === 'number' && 1 / z === -Infinity ? 'minus zero' : String(z));
      return String(xs.map((x) => xs.map((y) => shown(fs[o](x, y)))));
    };`;
    const { length: n } = expressions;
    await expectSame([source], spec({ kind: 'discrete', n }, { kind: 'text' }), [...expressions.keys()]);
  });

  it('support all kinds of observations and actions', async () => {
    const pair = { kind: 'discrete', n: 2 } as const;
    const box = { kind: 'box', low: [-1, -1], high: [1, 1] } as const;
    const single = { kind: 'box', low: [-1], high: [1] } as const;
    await expectSame(['const act = (o) => [o / 2, -o];'], spec({ kind: 'discrete', n: 3 }, box), [0, 1, 2]);
    await expectSame(['const act = ([a, b]) => a - b;'], spec(box, single), [[0.1, 0.3]]);
    await expectSame(
      ['const act = (o) => [o[1], 1];'],
      spec({ kind: 'tuple', spaces: [pair, pair] }, { kind: 'tuple', spaces: [pair, pair] }),
      [[0, 1]],
    );
    await expectSame(
      ["const act = (o) => (o.includes('a') ? o.slice(1) : 'no') + o.length;"],
      spec({ kind: 'text' }, { kind: 'text' }),
      ['abc', 'bc'],
    );
  });

  it('draw the same random numbers as the sandbox, in JavaScript', async () => {
    const source = 'function act() { return Math.floor(Math.random() * 1000); }';
    const space = spec({ kind: 'discrete', n: 1 }, { kind: 'discrete', n: 1000 });
    const actions = await inSandbox(source, space, [[0, 0, 0], [0]]);
    expect(await inModule(source, space, [[0, 0, 0], [0]])).toEqual(actions);
    expect(actions[0]![0]).not.toBe(actions[1]![0]);
  });

  it.each([
    ['class A {}\nfunction act() { return 0; }', 'line 1: `class A {}`'],
    ['function act() {\n  return Math.random();\n}', 'line 2: `Math.random`'],
    ['function act(o) {\n  return /a/.test(o);\n}', 'line 2'],
    [
      'function act(o) {\n\n  try { return 1; } catch { return 0; }\n}',
      'line 3: `try { return 1; } catch { return 0; }`',
    ],
    ['function act(o) { return o.flatMap((x) => x).length; }', 'line 1: `o.flatMap`'],
    ['function act(o) { return new Map().size; }', '`new Map()`'],
    ['function act(o) { let i = 0; o[i++] += 1; return 0; }', '`i++`'],
    ['function act() { let x = 1; if (x) { let x = 2; } return x; }', '`let x = 2;`'],
    ['function act(o) {\n  return o.map((x) => { return x; })[0]; }', 'line 2: `(x) => { return x; }`'],
    ['function act(o, m) { for (const x of o) m.f = () => x; return 0; }', '`() => x`'],
    ['function act(o, m) { while (true) { const x = 1; m.fs.push(() => x); } }', '`() => x`'],
    ['function act(o) { return o?.length; }', '`o?.length`'],
    ['function act(o) { let i = 0; return o[i++]; }', '`i++`'],
    ['function act(o) { return o.table.at(0); }', '`o.table.at`'],
    ['function act() { while (true) { var x; } }', '`var x;`'],
    [
      'function act() { const fs = []; for (let i = 0; i < 2; i++) { const f = () => i; fs.push(f); } return fs[0](); }',
      '`() => i`',
    ],
    ['function act(o) { return o[0] | 0; }', '`o[0] | 0`'],
    ['function act(o, m) { m.xs.length = 0; return 0; }', '`length`'],
  ])('can’t be translated to Python, with an error that names the construct: %j', (source, named) => {
    try {
      pythonLines(source);
    } catch (error) {
      expect(error).toBeInstanceOf(UserError);
      expect((error as Error).message).toContain(named);
      expect((error as Error).message).toMatch(
        /can't be translated to Python\n {2}remedy: export it as JavaScript/,
      );
      return;
    }
    throw new Error('not refused');
  });

  it('can be turned back into their source', () => {
    for (const source of cartPole) {
      const exported = exportedProgram('js', source, environment, ['one\ntwo']);
      const line = exported.slice(0, exported.indexOf(source)).split('\n').length - 1;
      expect(programIn(exported)).toBe('\n'.repeat(line) + source);
    }
    expect(programIn('export function act() {}\nexport const a = 1;\nexport default act;\n')).toBe(
      'function act() {}\nconst a = 1;\n\n',
    );
    expect(programIn('export {\n  act,\n};\nconst a = 1;\n')).toBe('\n\n\nconst a = 1;\n');
    expect(programIn(cartPole[1]!)).toBe(cartPole[1]);
  });
});
