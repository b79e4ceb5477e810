import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import type { Action, EnvironmentSpec, Observation, Space } from '../../../src/environments/environment.js';
import type { Policy } from '../../../src/policies/policy.js';
import { ProgramFault } from '../../../src/policies/program/program.js';
import { openSandbox } from '../../../src/policies/program/sandbox.js';
import { rollout } from '../../../src/rollout/episode.js';
import { failureOf } from './failure-of.js';

const pair: Space = { kind: 'discrete', n: 2 };
const spec = (observationSpace: Space, actionSpace: Space, more: Partial<EnvironmentSpec> = {}) => ({
  id: 'test',
  observationSpace,
  actionSpace,
  ...more,
});
const cartPole = await makeEnvironment('CartPole-v1');
const sandbox = await openSandbox(cartPole);
const state = [0.1, -0.2, 0.3, -0.4];

const faultIn = (source: string) => failureOf(() => sandbox.build(source)(state));

/** The action of a program that is one expression, in an environment with these spaces. */
async function returned(
  expression: string,
  actionSpace: Space,
  observation: Observation = 0,
): Promise<Action> {
  const observationSpace: Space =
    typeof observation === 'string' ? { kind: 'text' } : { kind: 'discrete', n: 9 };
  const { build } = await openSandbox(spec(observationSpace, actionSpace));
  return build(`const act = (observation, memory, constants) => ${expression};`)(observation);
}

describe('observations', () => {
  it('are arrays with named components', () => {
    const policy = sandbox.build(`function act(observation) {
      const { poleAngle } = observation;
      const same = poleAngle === observation[2] && observation.cartPosition === 0.1 && observation.length === 4;
      return same && Array.isArray(observation) && observation.map((x) => 2 * x)[3] === -0.8 ? 1 : 0;
    }`);
    expect(policy(state)).toBe(1);
    expect(policy([0.1, -0.2, 0.3, 0.4])).toBe(0);
  });

  it('are new objects at each step', () => {
    const policy = sandbox.build(
      'function act(o, memory) { const last = memory.last; memory.last = o; return last && last[0] < o[0] ? 1 : 0; }',
    );
    expect([0, 1, 2, 1].map((x) => policy([x, 0, 0, 0]))).toEqual([0, 1, 1, 0]);
  });

  it('are numbers or strings in discrete and text spaces', async () => {
    expect(await returned('observation + 1', { kind: 'discrete', n: 9 }, 7)).toBe(8);
    const text = `naïve 🙂\0\ud800${'x'.repeat(3000)}`;
    expect(await returned('observation.toUpperCase()', { kind: 'text' }, text)).toBe(text.toUpperCase());
  });

  it('can have 200 components', async () => {
    const box: Space = { kind: 'box', low: Array<number>(200).fill(-1), high: Array<number>(200).fill(1) };
    const { build } = await openSandbox(spec(box, { kind: 'discrete', n: 200 }));
    const policy = build('function act(o) { return o.indexOf(Math.max(...o)) }');
    expect(policy(Array.from({ length: 200 }, (_, i) => -Math.abs(i - 150)))).toBe(150);
  });
});

describe('actions', () => {
  const box = (n: number): Space => ({
    kind: 'box',
    low: Array<number>(n).fill(-1),
    high: Array<number>(n).fill(1),
  });

  it.each<[string, Space, Action]>([
    ['-0', pair, 0],
    ['[2, -3]', box(2), [2, -3]],
    ['new Float64Array([1, 2])', box(2), [1, 2]],
    ['0.5', box(1), [0.5]],
    ['[0.5]', box(1), [0.5]],
    ['[1, 4]', { kind: 'tuple', spaces: [pair, { kind: 'discrete', n: 5 }] }, [1, 4]],
    ['"go\\0\\ud800"', { kind: 'text' }, 'go\0\ud800'],
    ['"b"', { kind: 'text', choices: ['a', 'b'] }, 'b'],
  ])('%s is valid', async (expression, space, action) => {
    expect(await returned(expression, space)).toStrictEqual(action);
  });

  it.each<[string, Space, string]>([
    ['true', pair, 'returned true, but an action is an integer from 0 to 1'],
    ['2', pair, 'returned 2, but an action is an integer from 0 to 1'],
    ['0.5', pair, 'returned 0.5, but an action is an integer from 0 to 1'],
    ['"1"', pair, 'returned "1", but an action is an integer from 0 to 1'],
    ['[1]', pair, 'returned [1], but an action is an integer from 0 to 1'],
    ['undefined', pair, 'returned undefined, but an action is an integer from 0 to 1'],
    ['1n', pair, 'returned a bigint, but an action is an integer from 0 to 1'],
    ['[NaN, 0]', box(2), 'returned [NaN, 0], but an action is an array of 2 finite numbers'],
    ['[1]', box(2), 'returned [1], but an action is an array of 2 finite numbers'],
    ['1', box(2), 'returned 1, but an action is an array of 2 finite numbers'],
    ['1 / 0', box(1), 'returned [Infinity], but an action is a finite number'],
    [
      '[1, 5]',
      { kind: 'tuple', spaces: [pair, pair] },
      'returned [1, 5], but an action is an array of 2 integers (0 to 1, 0 to 1)',
    ],
    ['"c"', { kind: 'text', choices: ['a', 'b'] }, 'returned "c", but an action is one of "a", "b"'],
    ['1', { kind: 'text' }, 'returned 1, but an action is a string'],
  ])('%s is invalid', async (expression, space, reason) => {
    await expect(returned(expression, space)).rejects.toMatchObject({ failure: { reason, observation: 0 } });
  });
});

describe('episodes', () => {
  const counting =
    'let count = 0; function act(o, memory) { memory.n = (memory.n ?? 0) + 1; return ++count + memory.n > 4 ? 1 : 0; }';
  const acts = (policy: Policy, times: number) => Array.from({ length: times }, () => policy(state));

  it('start with fresh memory and fresh variables', () => {
    const policy = sandbox.build(counting);
    for (const seed of [1, 1, 2]) expect(acts(policy.forEpisode!(seed), 4)).toEqual([0, 0, 1, 1]);
  });

  it('can be interleaved, even with other programs', () => {
    const drawing = sandbox.build('function act() { return Math.random() < 0.5 ? 0 : 1 }');
    const other = sandbox.build(counting);
    const alone = [3, 4, 5].map((seed) => acts(drawing.forEpisode!(seed), 1300));
    const own = [3, 4, 5].map((seed) => drawing.forEpisode!(seed));
    const counted = other.forEpisode!(0);
    const mixed = Array.from({ length: 1300 }, (_, t) => {
      if (t % 400 === 399) sandbox.build(counting);
      if (t < 4) expect(counted(state)).toBe(t < 2 ? 0 : 1);
      return own.map((policy) => (t < 20 || t > 1290 ? policy(state) : 0));
    });
    for (const i of [0, 1, 2]) {
      const actions = mixed.filter((_, t) => t < 20 || t > 1290).map((row) => row[i]);
      expect(actions).toEqual(alone[i]!.slice(0, actions.length));
    }
  });

  it('continue after another program has run, even after 2,000 steps', () => {
    const policy = sandbox.build('let n = 0; function act() { n++; return n > 2001 ? 1 : 0 }').forEpisode!(1);
    expect(acts(policy, 2000)).not.toContain(1);
    sandbox.build(counting)(state);
    expect(acts(policy, 2)).toEqual([0, 1]);
  });

  it('have their own random numbers, uniform in [0, 1)', async () => {
    const { build } = await openSandbox(spec(pair, { kind: 'box', low: [0], high: [1] }));
    const policy = build('function act() { return Math.random() }');
    const drawn = (seed: number) =>
      acts(policy.forEpisode!(seed), 2000).map((action) => (action as number[])[0]!);
    expect(drawn(7)).toEqual(drawn(7));
    expect(new Set([0, 1, 2 ** 32, 2 ** 40 + 1].map((seed) => drawn(seed)[0])).size).toBe(4);
    // A stream of its own: this is what the environment's seed itself would give.
    expect(drawn(7)[0]).not.toBe(0.9771220751552087);
    const numbers = drawn(1);
    expect(Math.min(...numbers)).toBeGreaterThanOrEqual(0);
    expect(Math.max(...numbers)).toBeLessThan(1);
    expect(numbers.reduce((a, b) => a + b) / numbers.length).toBeCloseTo(0.5, 1);
  });

  it('repeat a fault once it has occurred, without affecting the next episode', () => {
    const policy = sandbox.build(
      'let n = 0; function act() { if (n++ === 1) throw new Error("second"); return 0; }',
    );
    const episode = policy.forEpisode!(0);
    expect(episode(state)).toBe(0);
    for (let i = 0; i < 2; i++) expect(failureOf(() => episode(state)).reason).toBe('Error: second');
    expect(policy.forEpisode!(0)(state)).toBe(0);
  });
});

describe('constants', () => {
  it('are passed to the program as numbers', () => {
    const policy = sandbox.build(`const constants = { gain: { value: 1.5, low: 0, high: 5 }, threshold: 0.1 };
      function act(observation, memory, constants) { return constants.gain + constants.threshold === 1.6 ? 1 : 0 }`);
    expect(policy(state)).toBe(1);
    expect(sandbox.build('const act = (o, m, c) => Object.keys(c).length')(state)).toBe(0);
  });
});

describe('faults', () => {
  it.each([
    [
      'function act() {\n  return missing;\n}',
      { reason: "ReferenceError: 'missing' is not defined", line: 2, observation: state },
    ],
    [
      '\n\nfunction act() { throw new RangeError("a\\n\\u0007b") }',
      { reason: 'RangeError: a \\u0007b', line: 3, observation: state },
    ],
    ['const x = 1;', { reason: 'no function `act`' }],
    ['function act() {\n\n  return 0', { line: 3 }],
    ['function act() { return 0 }\nundefined.x', { line: 2 }],
    ['function act() { while (true); }', { reason: expect.stringMatching(/^too much work/), line: 1 }],
    ['function act() { return 1 + act() }', { reason: expect.stringMatching(/^stack overflow/), line: 1 }],
    [
      'function act() { const all = []; for (;;) all.push(new Float64Array(1e5)) }',
      { reason: 'out of memory', line: 1 },
    ],
    ['let all = []; function act() { for (;;) all = [all, all] }', { reason: 'out of memory' }],
    ['function act() { throw { code: 1 } }', { reason: 'threw {code: 1}' }],
    [`function act() { return 0 }${' '.repeat(20_000)}`, { reason: 'longer than 20000 characters (20027)' }],
    [
      `function act() { return ${'('.repeat(9000)}0${')'.repeat(9000)} }`,
      { reason: expect.stringMatching(/^stack overflow/) },
    ],
    ['} }); (() => { {', { reason: expect.stringMatching(/^SyntaxError/) }],
  ])('are reported for $0', (source, failure) => {
    expect(faultIn(source)).toMatchObject(failure);
    expect(sandbox.build('function act() { return 1 }')(state)).toBe(1);
  });
});

it('a program plays the same episodes inside and outside the sandbox', () => {
  const policy = sandbox.build('const act = (o) => (o.poleAngle + 0.5 * o.poleAngularVelocity > 0 ? 1 : 0);');
  const native: Policy = (observation) => {
    const [, , angle, velocity] = observation as readonly number[];
    return angle! + 0.5 * velocity! > 0 ? 1 : 0;
  };
  for (let seed = 0; seed < 5; seed++)
    expect(rollout(cartPole, policy, { seed, maxSteps: 500 })).toEqual(
      rollout(cartPole, native, { seed, maxSteps: 500 }),
    );
});

it.each([
  '"a".repeat(250_000).indexOf("a".repeat(2500) + "b")',
  'for (let i = 0; i < 900; i++) new Array(100_000).fill(0).concat([1])',
  'for (let i = 0; i < 200; i++) Array.from({ length: 20_000 }, (_, j) => -j).sort()',
  'const a = new Float64Array(500_000); for (let i = 0; i < 20_000; i++) a.copyWithin(0, 1)',
  'const s = JSON.stringify("a".repeat(500_000)); for (let i = 0; i < 500; i++) JSON.parse(s)',
  'const a = []; a.length = 4e9; a.includes(1)',
  '[].indexOf.call({ length: 2 ** 53 - 1 }, 1)',
  'return new Array(1e9) + ""',
  '/^(a+)+$/.test("a".repeat(40) + "b")',
  'const a = new Array(50_000).fill(0); for (let i = 0; i < 9000; i++) [...a]',
  'const a = new Array(50_000).fill(0); for (let i = 0; i < 9000; i++) Math.max(...a)',
  'const a = new Array(50_000).fill(0); for (let i = 0; i < 9000; i++) new Set(a)',
  'const s = "a".repeat(1e6), t = s + "b"; for (let i = 0; i < 9000; i++) s + "c" < t',
  'const s = "9".repeat(1e6); for (let i = 0; i < 9000; i++) Number(s)',
  'const o = { ...new Array(9000).fill(0) }; for (let i = 0; i < 90_000; i++) ({ ...o })',
  'for (;;) try { act() } catch {}',
  'function f() { try { f() } finally { f() } } f()',
])('the work limit stops %s', (work) => {
  expect(faultIn(`function act() { ${work}; return 0; }`).reason).toMatch(/^too much work/);
});

it('the work limit of an episode stops a program at a fixed step, even if another runs in between', () => {
  const policy = sandbox.build('const a = new Float64Array(1e6); function act() { a.fill(1); return 0 }');
  const episode = policy.forEpisode!(0);
  const steps = (): number => {
    for (let step = 0; ; step++) {
      if (step === 40) sandbox.build('function act() { return 0 }')(state);
      try {
        episode(state);
      } catch (error) {
        expect((error as ProgramFault).failure.reason).toMatch(/^too much work/);
        return step;
      }
    }
  };
  expect(steps()).toBe(499);
});

const ordinary = readFileSync(new URL('../../fixtures/ordinary-programs.txt', import.meta.url), 'utf8');
it.each(ordinary.trim().split('\n'))('a program acts as in Node, or its error says why not: %s', (body) => {
  const source = `const act = (o, m) => { ${body} };`;
  try {
    expect([0, 1]).toContain(sandbox.build(source)(state));
  } catch (error) {
    if (!(error instanceof ProgramFault)) throw error;
    expect(error.failure.reason).toMatch(/not available|is not defined|not extensible/);
    return;
  }
  const native = new Function(`'use strict'; ${source} return (o) => act(o, {});`)() as Policy;
  expect(sandbox.build(source)(state)).toBe(native([...state]));
});
