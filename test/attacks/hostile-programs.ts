/** Hostile programs, and what has to hold for each of them. */
import type { Action, EnvironmentSpec, Observation } from '../../src/environments/environment.js';
import { isValidAction } from '../../src/environments/limited-environment.js';
import { ProgramFault } from '../../src/programs/program.js';
import { openSandbox, type Sandbox } from '../../src/programs/sandbox.js';

const inAct = (body: string) => `function act(observation, memory, constants) {\n  ${body};\n  return 0;\n}`;

/** Ways into the host, or to code that nobody has read. */
const ways = [
  ...['Function("return this")()', 'new Function("return 1")()', '(() => 0).constructor("return 1")()'],
  ...['(function* () {}).constructor("yield 1")().next()', '(async () => 0).constructor("return 1")()'],
  ...['(async function* () {}).constructor("return 1")()', '[].map.constructor("return this")()'],
  ...['({}).constructor.constructor("return globalThis")()', 'Error.constructor("return this")()'],
  ...['observation.constructor.constructor("return globalThis")()', 'act.constructor("return this")()'],
  ...[
    'memory.constructor.constructor("return globalThis")()',
    'new (class extends Function {})("return 1")()',
  ],
  ...[
    'constants.constructor.constructor("return globalThis")()',
    'Reflect.construct(Function, ["return 1"])()',
  ],
  ...['eval("1")', '(0, eval)("1")', 'globalThis.eval("1")', 'import("fs")', 'import("node:process")'],
  ...['Function.prototype.constructor("return 1")()', 'Reflect.apply(Function, null, ["return 1"])()'],
  ...['Object.getOwnPropertyDescriptor(Function.prototype, "constructor").value("return 1")()'],
  ...[
    'arguments.callee.caller',
    'act.caller',
    'act.arguments',
    'new Error().stack.constructor.constructor("1")()',
  ],
];

const hostNames = [
  ...['process', 'require', 'module', 'exports', '__dirname', 'global', 'Buffer', 'console', 'setTimeout'],
  ...[
    'setInterval',
    'queueMicrotask',
    'fetch',
    'WebAssembly',
    'performance',
    'navigator',
    'crypto',
    'Worker',
  ],
  ...[
    'structuredClone',
    'SharedArrayBuffer',
    'Atomics',
    'Date',
    'Promise',
    'Proxy',
    'eval',
    'print',
    'std',
    'os',
  ],
  ...['bjson', 'scriptArgs', 'HostRef', 'gc', 'load', 'XMLHttpRequest', 'WeakRef', 'FinalizationRegistry'],
];

/** Names of the code around a program. */
const innerNames = [
  'floats',
  'take',
  'shown',
  'seed',
  'program',
  'named',
  'vector',
  'step',
  'describe',
  'isArray',
  'freeze',
];

/** Values that aren't actions, or only look like one. */
const returned = [
  ...[
    '1n',
    'NaN',
    'Infinity',
    '-0',
    '1e308',
    '0.5',
    '7',
    '-1',
    'true',
    'null',
    'undefined',
    '"text"',
    '"\\0\\u001b[2J"',
  ],
  ...[
    'Symbol("a")',
    'Symbol.iterator',
    '() => 1',
    'act',
    '[]',
    '[[1]]',
    '["1"]',
    '[NaN]',
    '{}',
    'new Map([[1, 2]])',
  ],
  ...[
    'new Float64Array([NaN])',
    'new Array(1e6)',
    '"x".repeat(1e6)',
    'new DataView(new ArrayBuffer(8))',
    'globalThis',
  ],
  ...['{ toString() { throw 1 } }', '{ valueOf() { return 1 } }', '{ [Symbol.toPrimitive]() { return 1 } }'],
  ...[
    '{ toJSON() { throw new Error("json") } }',
    '{ toJSON() { for (;;); } }',
    '{ get length() { throw 1 }, __proto__: [] }',
  ],
  ...[
    'Object.defineProperty([0, 0], 0, { get() { return "x" } })',
    'Object.defineProperty([0, 0], 1, { get() { for (;;); } })',
  ],
  ...[
    'Object.setPrototypeOf([1, 2], null)',
    'Object.setPrototypeOf([,,], { get 0() { return 1 }, get 1() { throw 2 } })',
  ],
  ...[
    'new (class extends Array { get length() { return 2 } })()',
    'Object.assign([1, 2], { length: 2 ** 32 - 1 })',
  ],
  ...[
    '(() => { const a = []; a.push(a); return a })()',
    '(() => { let a = []; for (let i = 0; i < 1e4; i++) a = [a]; return a })()',
  ],
  ...[
    '(() => { let a = [1]; for (let i = 0; i < 60; i++) a = [a, a]; return a })()',
    'function* () { yield 1 }()',
  ],
  ...[
    'new Error("value")',
    'class {}',
    '/a/g',
    'new Number(1)',
    'Object(1n)',
    'new Boolean(true)',
    'new String("a")',
  ],
];

/** Statements that try to change what the next step, episode or program sees. */
const tampering = [
  ...[
    'Array',
    'Object',
    'Math',
    'JSON',
    'Number',
    'String',
    'Function',
    'RegExp',
    'Map',
    'Float64Array',
    'Error',
    'Symbol',
    'Reflect',
  ].flatMap((name) => [`globalThis.${name} = null`, `${name}.added = 1`, `delete globalThis.${name}`]),
  ...[
    'Array',
    'Object',
    'String',
    'Number',
    'Function',
    'RegExp',
    'Map',
    'Set',
    'Error',
    'Float64Array',
  ].flatMap((name) => [
    `${name}.prototype.added = 1`,
    `Object.defineProperty(${name}.prototype, 'constructor', { value: 1 })`,
    `Object.setPrototypeOf(${name}.prototype, { get added() { return 1 } })`,
  ]),
  ...[
    'Math.max = () => 9',
    'Math.random = () => 0',
    'JSON.stringify = () => "x"',
    'Array.isArray = () => true',
  ],
  ...[
    'ArrayBuffer.isView = () => true',
    'Object.keys = () => []',
    'Object.freeze = (x) => x',
    'Array.prototype.map = null',
  ],
  ...[
    'Array.prototype[Symbol.iterator] = null',
    'Array.prototype[0] = 5',
    'Object.prototype[0] = 5',
    'Object.prototype.then = 1',
  ],
  ...[
    'Object.defineProperty(Object.prototype, "0", { set() { throw 1 }, get() { return 9 } })',
    'Array[Symbol.species] = null',
  ],
  ...[
    'Object.defineProperty(Array.prototype, "length", { value: 0 })',
    'Object.prototype.__proto__ = {}',
    '({}).__proto__.x = 1',
  ],
  ...[
    'memory.__proto__.leak = 1',
    'observation.__proto__.leak = 1',
    'constants.__proto__ = []',
    'constants.leak = 1',
  ],
  ...[
    'Error.prepareStackTrace = () => ({})',
    'Error.stackTraceLimit = 1e9',
    'Error.captureStackTrace({})',
    'globalThis.leak = 1',
  ],
  ...[
    'this.leak = 1',
    'leak = 1',
    'var leak = 1; globalThis.leak',
    'Object.freeze(globalThis)',
    'Object.seal(memory)',
  ],
  ...[
    'Object.preventExtensions(observation)',
    'observation.length = 1e6',
    'observation.poleAngle = null',
    'delete observation[0]',
  ],
  ...[
    'Symbol.for("leak").x = 1',
    '[][Symbol.iterator]().__proto__.next = null',
    '"a".__proto__.split = null',
    'undefined = 1',
    'NaN = 1',
  ],
  ...[
    '(function* () {})().__proto__.__proto__.__proto__.next = 1',
    '/a/.__proto__.exec = () => null',
    'act = null',
    'Infinity++',
  ],
];

/** Statements that never end, or take everything. */
const greedy = [
  ...[
    'for (;;);',
    'while (true) ;',
    'do {} while (1)',
    'a: for (;;) { b: for (;;) continue a; }',
    'for (let i = 0; i < 1e12; i++);',
  ],
  ...[
    '(function f() { f() })()',
    '(function f() { return f() + 1 })()',
    'const f = (n) => [n].map(() => f(n + 1)); f(0)',
  ],
  ...[
    'const o = { get a() { return this.a } }; o.a',
    'const o = { toString() { return "" + this } }; "" + o',
    'class A { constructor() { new A() } } new A()',
  ],
  ...[
    'for (const x of (function* () { for (;;) yield 1 })());',
    'const g = function* () { yield* g() }; [...g()]',
  ],
  ...[
    'const it = { next: () => ({ done: false }), [Symbol.iterator]() { return this } }; [...it]',
    'Array.from({ length: 2 ** 31 })',
  ],
  ...[
    '[3, 1, 2].sort(() => { for (;;); })',
    'try { for (;;); } finally { for (;;); }',
    'try { for (;;); } catch { for (;;); }',
  ],
  ...['for (;;) try { for (;;); } catch {}'],
  ...[
    '"x".repeat(2 ** 29)',
    '"x".padStart(2 ** 30)',
    'new Array(2 ** 32)',
    'new Array(-1)',
    'new ArrayBuffer(2 ** 40)',
    'new Float64Array(1e9)',
  ],
  ...[
    'let s = "x"; for (;;) s += s',
    'let s = "é"; for (;;) s = s.concat(s, s)',
    'const a = []; for (;;) a.push(a.slice())',
    'let a = [1]; for (;;) a = [...a, ...a]',
  ],
  ...[
    'const m = new Map(); for (let i = 0; ; i++) m.set(i, i)',
    'const a = []; for (;;) a.push(Symbol())',
    'const a = []; a[2 ** 31] = 1; a.length',
  ],
  ...[
    'let o = {}; for (;;) o = { o }',
    'let f = () => 0; for (;;) { const g = f; f = () => g() + 1; }',
    'for (let i = 0; ; i++) memory["k" + i] = i',
  ],
  ...[
    '"a,".repeat(1e6).split(",")',
    'Array(1e6).fill("xxxxxxxxxx").join("yyyyyyyyyyyy")',
    'JSON.parse("[".repeat(1e5))',
    'JSON.parse("[".repeat(1e5) + "]".repeat(1e5))',
  ],
  ...[
    'JSON.stringify(Array(1e5).fill({ a: Array(1e3).fill(1) }))',
    'JSON.stringify("\\0".repeat(2e6))',
    'const a = []; for (let i = 0; i < 1e4; i++) a.push({ [i]: i }); JSON.stringify(a)',
  ],
  ...[
    '/(a+)+b/.test("a".repeat(50))',
    '/(a|a)*b/.test("a".repeat(50))',
    '/^(([a-z])+.)+[A-Z]([a-z])+$/.test("a".repeat(60))',
    '/(?=(a+))*?b/.test("a".repeat(60))',
  ],
  ...[
    'new RegExp("(".repeat(5000))',
    'new RegExp("(?:a".repeat(3000) + ")".repeat(3000)).test("a")',
    '/(?:a{0,9999}){0,9999}b/.test("a".repeat(99))',
  ],
  ...[
    '"a".repeat(1e5).replace(/a*?$/g, "b")',
    '"x".repeat(1e6).replaceAll("x", "$`")',
    '"x".repeat(2e5).replace(/x/g, () => "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy")',
  ],
  ...[
    '2n ** 10000000n',
    'let b = 3n; for (;;) b *= b',
    'BigInt("9".repeat(1e6))',
    '(123n ** 9999n).toString()',
    '1n << 2000000000n',
  ],
  ...[
    'throw null',
    'throw undefined',
    'throw act',
    'throw { toString() { for (;;); } }',
    'throw Object.assign(new Error(), { get: 1, stack: 5 })',
  ],
  ...[
    'throw Object.defineProperty(new Error("a"), "message", { get() { for (;;); } })',
    'throw Object.defineProperty(new Error("a"), "stack", { get() { throw 1 } })',
  ],
  ...[
    'throw Object.assign(new Error("x".repeat(1e6)), { name: "\\u001b[31m\\n\\n" })',
    'throw new Error("a\\nb\\u2028c\\u202ed\\0e")',
    'throw new RangeError()',
  ],
  ...[
    'const e = new Error("a"); e.stack = "program:99999999"; throw e',
    'const e = new Error("a"); e.name = { toString() { throw 2 } }; throw e',
  ],
  ...[
    'const e = new Error("out of memory"); e.name = "InternalError"; throw e',
    'throw new AggregateError(Array(1e5).fill(1))',
  ],
  ...[
    'async function f() { await 1; } f()',
    '(async () => { for (;;) await 0 })()',
    'for (;;) (async () => 0)()',
    '(async function* () { yield 1 })().next()',
  ],
  ...[
    'structuredClone(memory)',
    'queueMicrotask(() => { for (;;); })',
    'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)',
    'postMessage(1)',
  ],
  ...[
    'const t = Date.now(); while (Date.now() < t + 1e6);',
    'performance.now()',
    'new Float64Array(4).buffer.transfer(1e9)',
    'new ArrayBuffer(8, { maxByteLength: 2 ** 33 })',
  ],
  ...[
    'const b = new Float64Array(observation.length); b.set(observation, 1)',
    'new Float64Array(8).subarray(-1, 1e9).fill(1)',
    'new DataView(new ArrayBuffer(8)).getFloat64(1e9)',
  ],
  ...[
    'const b = new ArrayBuffer(8, { maxByteLength: 64 }); const f = new Float64Array(b); b.resize(64); b.resize(0); f[0] = 1; f.sort(() => b.resize(64))',
  ],
  ...[
    'const a = [1, 2, 3]; a.sort(() => { a.length = 0; return 1 })',
    'const a = [1, 2, 3]; a.map(() => { a.length = 1e6; return 1 })',
    '[].concat.call({ length: 2 ** 53 }, [1])',
  ],
  ...[
    'const a = [1, 2, 3]; a.splice(0, { valueOf() { a.length = 0; return 3 } })',
    'const a = []; a.length = 1e6; a.reverse()',
    '[1].flatMap(function f() { return [1].flatMap(f) })',
  ],
  ...[
    'class A extends Array { static get [Symbol.species]() { return function () { return memory } } } A.from([1]).map((x) => x)',
    'Reflect.ownKeys(globalThis).map((k) => globalThis[k] = 1)',
  ],
];

/** Bodies that take long inside the interpreter, where no limit applies: only the end of the thread ends them. */
export const hanging = [
  ...[
    '[].indexOf.call({ length: 2 ** 53 - 1 }, 1)',
    'return new Array(1e9) + ""',
    'for (;;) try { act() } catch {}',
  ],
  ...['function f() { try { f() } finally { f() } } f()'],
].map((body) => inAct(body));

/** Whole sources. */
const sources = [
  ...[
    '',
    ' ',
    '\0',
    '\ufeff',
    '#!/usr/bin/env node',
    '<!-- a',
    '--> a',
    '/*',
    '`',
    '"',
    '}',
    '})',
    '});({',
    '} }); (() => { {',
    ')]}',
    ';;;;',
  ],
  ...[
    'return',
    'return 1',
    'await 1',
    'yield 1',
    'import fs from "fs"',
    'export default 1',
    'import.meta',
    'new.target',
    'super()',
    'break',
    'with (Math) {}',
  ],
  ...[
    'let act',
    'const act = 5',
    'var act = null',
    'class act {}',
    'async function act() { return 0 }',
    'function* act() { yield 0 }',
    'const act = Math.max',
    'const act = Array',
  ],
  ...[
    'const act = () => 0; const act = 1',
    'let undefined = 1; const act = () => 0',
    'const act = () => 0; let constants = act',
    'const act = () => 0; let constants = null',
  ],
  ...[
    'const act = () => 0; const constants = { get a() { throw 1 } }',
    'const act = () => 0; const constants = { get a() { for (;;); } }',
    'const act = () => 0; const constants = { __proto__: null, value: { value: { value: 1 } } }',
  ],
  ...[
    'const act = () => 0; const constants = Array(1e7).fill(1)',
    'for (;;);',
    'throw new Error("top")',
    '(function f() { f() })()',
    'const a = []; for (;;) a.push([a])',
    '"use strict"; function act() { return 010 }',
  ],
  ...[
    'function act() { return 0 } act = 1',
    'function act() { return 0 } } {',
    'function act() { return 0 } // ',
    'function act() { return 0 } /* ',
    '\u2028\u2028function act() { return 0 }',
    'function \u0061ct() { return 0 }',
    'function аct() { return 0 }',
  ],
  ...[
    '('.repeat(10_000),
    '['.repeat(20_000),
    '{'.repeat(20_000),
    '('.repeat(100_000),
    'a=>'.repeat(6000),
    '!'.repeat(19_999),
    '-'.repeat(10_000),
    '`${'.repeat(6000),
    'if(1)'.repeat(3900),
    'a.'.repeat(9999),
    'x?y:'.repeat(4900),
  ],
  ...[
    'function f(){'.repeat(1500),
    'class A{a=()=>{'.repeat(1200),
    `var ${Array.from({ length: 4000 }, (_, i) => `a${i}`).join(',')}; function act() { return 0 }`,
    `function act() { return ${'1+'.repeat(9000)}1 }`,
    `function act() { return [${'1,'.repeat(9000)}].length > 1 ? 1 : 0 }`,
  ],
  ...[
    'a'.repeat(20_000),
    '\ud800'.repeat(100),
    '"\ud800"; function act() { return 0 }',
    '\u001b[2J\u0007',
    '🙂',
    '𝒜 = 1',
    '\\u0000',
    '/(?<a>.)(?<a>.)/',
    '/[/',
    '1_',
    '0b2',
    '"\\u{110000}"',
    'let let = 1',
  ],
];

interface HostileProgram {
  readonly source: string;
  /** The action that it has to return, if it isn't allowed to fail or succeed as it likes. */
  readonly expected?: number;
}

export const hostilePrograms: readonly HostileProgram[] = [
  ...ways.map((way) => ({ source: inAct(`const found = ${way};\n  return found === undefined ? 0 : 1`) })),
  ...[...hostNames, ...innerNames].map((name) => ({
    source: inAct(`return typeof ${name} === 'undefined' && !('${name}' in globalThis) ? 0 : 1`),
    expected: 0,
  })),
  ...returned.map((value) => ({ source: inAct(`return (${value})`) })),
  ...tampering.map((statement) => ({ source: inAct(statement) })),
  ...tampering.map((statement) => ({ source: `${inAct('')}\n${statement};` })),
  ...greedy.map((statement) => ({ source: inAct(statement) })),
  ...sources.map((source) => ({ source })),
];

const pole: Observation = [0.1, -0.2, 0.3, -0.4];
const box = (n: number, bound: number) => ({
  ...({ kind: 'box', low: Array<number>(n).fill(-bound), high: Array<number>(n).fill(bound) } as const),
});
const settings: readonly { readonly environment: EnvironmentSpec; readonly observation: Observation }[] = [
  {
    environment: { id: 'CartPole-v1', observationSpace: box(4, 5), actionSpace: { kind: 'discrete', n: 2 } },
    observation: pole,
  },
  { environment: { id: 'two', observationSpace: box(4, 5), actionSpace: box(2, 1) }, observation: pole },
  {
    environment: { id: 'words', observationSpace: { kind: 'text' }, actionSpace: { kind: 'text' } },
    observation: 'You see a door.\0',
  },
];

/** Results of an innocent program that uses what the hostile ones attack. */
const innocent = `const constants = { gain: { value: 2, low: 0, high: 5 } };
let count = 0;
function act(observation, memory, constants) {
  memory.sum = (memory.sum ?? 0) + Math.random();
  const facts = [++count, memory.sum, constants.gain, Math.max(1, 2), JSON.stringify([1, { a: 2 }]), [3, 1, 2].sort().map((x) => x + 1)];
  facts.push(Object.keys(globalThis), Object.keys(Object.prototype), [].leak, 'a,b'.split(','), [...new Set([1, 1])], /a/.test('a'));
  throw JSON.stringify(facts).slice(0, 95);
}`;

/** What a program does: three actions, or its fault. */
function outcomeOf(sandbox: Sandbox, source: string, observation: Observation): Action[] | ProgramFault {
  try {
    const policy = sandbox.build(source).forEpisode!(5);
    return [policy(observation), policy(observation), policy(observation)];
  } catch (error) {
    if (error instanceof ProgramFault) return error;
    throw error;
  }
}

const hostText = /node:|node_modules|\.[jt]s\b|wasm|\bat \S+ \(|[^\P{Cc}]|[\u2028\u2029\u202e]/u;

/** Attacks sandboxes of several environments. @param openOne opens a sandbox; tests attack others than policyloop's, too */
export async function openProgramAttacks(openOne: typeof openSandbox = openSandbox) {
  const open = () => Promise.all(settings.map(({ environment }) => openOne(environment)));
  const sandboxes = await open();
  const told = (sandbox: Sandbox, observation: Observation) =>
    (outcomeOf(sandbox, innocent, observation) as ProgramFault).failure.reason;
  const before = (await open()).map((sandbox) => told(sandbox, pole));
  return {
    /** What went wrong; undefined if nothing did. */
    attack({ expected, source }: HostileProgram): string | undefined {
      for (const [i, { environment, observation }] of settings.entries()) {
        const outcome = outcomeOf(sandboxes[i]!, source, observation);
        const wrong =
          outcome instanceof ProgramFault
            ? faultOf(outcome, source)
            : outcome.every((action) => isValidAction(action, environment.actionSpace))
              ? undefined
              : `passed ${JSON.stringify(outcome)}`;
        if (wrong !== undefined) return wrong;
        if (expected !== undefined && i === 0 && (outcome as Action[])[0] !== expected)
          return `${JSON.stringify(outcome)} instead of ${expected}`;
        const after = told(sandboxes[i]!, observation);
        if (after !== before[i]) return `an innocent program changed: ${after} instead of ${before[i]}`;
      }
      return undefined;
    },
    /** What every program does, as text, in an environment of discrete actions, played in this order. */
    async outcomes(order: readonly HostileProgram[]): Promise<ReadonlyMap<HostileProgram, string>> {
      const [sandbox] = await open();
      return new Map(
        order.map((program) => {
          const outcome = outcomeOf(sandbox!, program.source, pole);
          return [program, JSON.stringify(outcome instanceof ProgramFault ? outcome.failure : outcome)];
        }),
      );
    },
  };
}

function faultOf({ failure: { line, reason } }: ProgramFault, source: string): string | undefined {
  if (reason === '' || reason.length > 300 || hostText.test(reason))
    return `the reason ${JSON.stringify(reason)}`;
  if (line !== undefined && !(line >= 1 && line <= source.split('\n').length + 2)) return `line ${line}`;
  return undefined;
}
