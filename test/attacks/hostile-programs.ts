/** Hostile programs, and what has to hold for each of them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package.js';
import type { Action, EnvironmentSpec, Observation } from '../../src/environments/environment.js';
import { isValidAction } from '../../src/environments/limited-environment.js';
import { ProgramFault } from '../../src/policies/program/program.js';
import { openSandbox, type Sandbox } from '../../src/policies/program/sandbox.js';

const inAct = (body: string) => `function act(observation, memory, constants) {\n  ${body};\n  return 0;\n}`;

/** One-line programs and parts of programs. */
const {
  greedy,
  hostNames,
  innerNames,
  returned,
  sources,
  tampering: statements,
  ways,
} = JSON.parse(readFileSync(join(packageRoot(), 'test/fixtures/hostile-programs.json'), 'utf8')) as {
  /** Ways into the host, or to code that nobody has read. */
  readonly ways: readonly string[];
  readonly hostNames: readonly string[];
  /** Names of the code around a program. */
  readonly innerNames: readonly string[];
  /** Values that aren't actions, or only look like one. */
  readonly returned: readonly string[];
  /** Statements that try to change what the next step, episode or program sees. */
  readonly tampering: readonly string[];
  /** Statements that never end, or take everything. */
  readonly greedy: readonly string[];
  readonly sources: readonly string[];
};

const words = (text: string) => text.split(' ');

const tampering = [
  ...words(
    'Array Object Math JSON Number String Function RegExp Map Float64Array Error Symbol Reflect',
  ).flatMap((name) => [`globalThis.${name} = null`, `${name}.added = 1`, `delete globalThis.${name}`]),
  ...words('Array Object String Number Function RegExp Map Set Error Float64Array').flatMap((name) => [
    `${name}.prototype.added = 1`,
    `Object.defineProperty(${name}.prototype, 'constructor', { value: 1 })`,
    `Object.setPrototypeOf(${name}.prototype, { get added() { return 1 } })`,
  ]),
  ...statements,
];

/** Sources that are long, or not well-formed text. */
const long = [
  ...(
    [
      ['(', 10_000],
      ['[', 20_000],
      ['{', 20_000],
      ['(', 100_000],
      ['a=>', 6000],
      ['!', 19_999],
      ['-', 10_000],
      ['`${', 6000],
      ['if(1)', 3900],
      ['a.', 9999],
      ['x?y:', 4900],
      ['function f(){', 1500],
      ['class A{a=()=>{', 1200],
      ['a', 20_000],
      ['\ud800', 100],
    ] as const
  ).map(([text, times]) => text.repeat(times)),
  `var ${Array.from({ length: 4000 }, (_, i) => `a${i}`).join(',')}; function act() { return 0 }`,
  `function act() { return ${'1+'.repeat(9000)}1 }`,
  `function act() { return [${'1,'.repeat(9000)}].length > 1 ? 1 : 0 }`,
  '"\ud800"; function act() { return 0 }',
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
  ...[...sources, ...long].map((source) => ({ source })),
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
