/** Attacks by user modules that return anything, throw, hang, end their process or contain syntax errors. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { UserError } from '../../src/base/errors.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import type { Action } from '../../src/environments/environment.js';
import { EnvironmentError } from '../../src/environments/remote/remote-environment.js';
import type { RandomGenerator } from '../../src/random/generator.js';
import { temporaryDirectory } from '../../test/support/temporary-directory.js';
import { type AttackKind, faultOf, shorten } from './attack.js';

const values = [
  ...[
    '1n',
    'NaN',
    'Infinity',
    '-0',
    '1e308',
    '0.5',
    '1',
    '7',
    '-1',
    'true',
    'null',
    'undefined',
    '"text"',
    '""',
  ],
  ...[
    'Symbol("a")',
    '() => 1',
    '[]',
    '[1]',
    '[1n]',
    '[[1]]',
    '["1"]',
    '[NaN]',
    '{}',
    'new Date(0)',
    'new Map([[1, 2]])',
  ],
  ...[
    'new Float32Array(1)',
    'new Float64Array([NaN])',
    'new Float32Array(1e8)',
    'new Array(1e9)',
    '"x".repeat(1e6)',
  ],
  ...[
    'new BigInt64Array(1)',
    'new DataView(new ArrayBuffer(1))',
    'new SharedArrayBuffer(8)',
    'new Error("value")',
  ],
  ...[
    'new Proxy([1], { get() { throw new Error("trap") } })',
    'new Proxy({}, { ownKeys() { throw new Error("keys") } })',
  ],
  ...[
    '({ get a() { throw new Error("getter") } })',
    '({ get length() { throw new Error("length") } })',
    '{ length: 1e9 }',
  ],
  ...[
    'Promise.reject(new Error("later"))',
    'new Promise(() => {})',
    '{ then() { throw new Error("then") } }',
  ],
  ...[
    '(() => { const a = []; a.push(a); return a })()',
    'Object.create(null)',
    'globalThis',
    'process',
    'class {}',
  ],
  ...[
    '{ toString() { throw new Error("text") } }',
    '{ toJSON() { throw new Error("json") } }',
    '{ __proto__: null, a: 1 }',
  ],
  ...[
    '{ kind: "box", low: [0], high: [9] }',
    '{ kind: "box", low: [9], high: [0] }',
    '{ kind: "discrete", n: 1e9 }',
  ],
  ...[
    '{ kind: "text" }',
    '{ kind: "tuple", spaces: [{ kind: "discrete", n: 2 }] }',
    '{ kind: "box", low: [], high: [] }',
  ],
  ...[
    '{ kind: "box", low: new Array(1e9), high: [1] }',
    '{ kind: "discrete", n: -1 }',
    '{ kind: "discrete", n: 2, start: 1n }',
  ],
];
const statements = [
  ...['throw VALUE', 'Promise.reject(VALUE)', 'console.log("printed")', 'process.stdout.write("printed\\n")'],
  ...[
    'setTimeout(() => { throw VALUE })',
    'setInterval(() => {}, 1)',
    'queueMicrotask(() => { throw VALUE })',
  ],
  ...[
    'process.exit(0)',
    'process.exit(3)',
    'process.exitCode = 5',
    'process.abort = VALUE',
    'process.removeAllListeners()',
  ],
  ...[
    'Object.prototype.kind = VALUE',
    'Object.prototype.then = VALUE',
    'Object.prototype.toJSON = VALUE',
    'Object.prototype.value = VALUE',
  ],
  ...[
    'Array.prototype.map = VALUE',
    'Array.prototype.push = VALUE',
    'Array.prototype[Symbol.iterator] = VALUE',
  ],
  ...[
    'JSON.stringify = VALUE',
    'JSON.parse = VALUE',
    'Number.isFinite = VALUE',
    'Array.isArray = VALUE',
    'Array.from = VALUE',
  ],
  ...[
    'globalThis.Promise = VALUE',
    'globalThis.Map = VALUE',
    'globalThis.Error = VALUE',
    'globalThis.process = VALUE',
  ],
  ...[
    'Atomics.notify = VALUE',
    'Map.prototype.get = VALUE',
    'Function.prototype.call = VALUE',
    'Object.freeze(Object.prototype)',
  ],
];
const usual = {
  observationSpace: '{ kind: "box", low: [0], high: [9] }',
  actionSpace: '{ kind: "discrete", n: 2 }',
  reset: '() => [0]',
  step: '() => ({ observation: [1], reward: 1, terminated: false })',
};

const drawnValue = (random: RandomGenerator) => `(${random.choice(values)})`;
const statementOf = (random: RandomGenerator) =>
  `${random.choice(statements).replaceAll('VALUE', () => drawnValue(random))};`;

/** Source of a module that is mostly ordinary. */
function moduleSource(random: RandomGenerator): string {
  const rarely = (share: number, text: () => string) => (random.random() < share ? text() : '');
  const fields = ['observation', 'reward', 'terminated', 'truncated'].map((name, i) => {
    const plain = ['[1]', '1', 'false', 'false'][i];
    return (
      `${random.random() < 0.1 ? 'get ' : ''}${name}` +
      (random.random() < 0.2 ? `: ${drawnValue(random)}` : `: ${plain}`)
    );
  });
  const step = `{ ${fields.map((field) => field.replace(/^get (\w+): (.*)$/s, 'get $1() { return $2 }')).join(', ')} }`;
  const members: Record<string, string> = {
    ...usual,
    reset: `() => { ${rarely(0.1, () => statementOf(random))} return ${random.random() < 0.3 ? drawnValue(random) : '[0]'}; }`,
    step: `() => { ${rarely(0.1, () => statementOf(random))} return ${random.random() < 0.2 ? drawnValue(random) : step}; }`,
  };
  for (const name of [
    'observationSpace',
    'actionSpace',
    'maxSteps',
    'stepSeconds',
    'reset',
    'step',
    'frame',
    'close',
    'description',
    'observationNames',
    'actionNames',
  ])
    if (random.random() < 0.05) members[name] = drawnValue(random);
  const body = Object.entries(members).map(([name, value]) => `${name}: ${value}`);
  const create = `create() { ${rarely(0.1, () => statementOf(random))} return { ${body.join(', ')} }; }`;
  const hangs = rarely(0.01, () => 'for (;;) {}');
  return `${rarely(0.2, () => statementOf(random))}\n${hangs}\nexport default { ${create} };\n`;
}

function known(error: unknown, source: string): string | undefined {
  const isKnown = error instanceof UserError || error instanceof EnvironmentError;
  const fault = isKnown
    ? faultOf(error.message)
    : `neither error: ${shorten(String((error as Error)?.stack ?? error))}`;
  return fault && `${fault}: ${source}`;
}

const folder = (name: string): string => {
  const made = join(temporaryDirectory(), name);
  mkdirSync(made, { recursive: true });
  return made;
};

const modules: AttackKind = {
  name: 'modules',
  percent: 40,
  async open() {
    const cwd = folder('modules');
    let written = 0;
    return {
      async attack(random) {
        const source = moduleSource(random);
        const file = join(cwd, `m${++written}.mjs`);
        writeFileSync(file, source);
        try {
          const environment = await makeEnvironment(file, {}, 1);
          environment.reset(drawnSeed(random));
          const action: Action =
            environment.actionSpace.kind === 'discrete' ? (environment.actionSpace.start ?? 0) : [0];
          for (let step = 0; step < 3; step++) {
            const { observation, reward, terminated } = environment.step(action);
            if (typeof reward !== 'number' || typeof terminated !== 'boolean' || observation === undefined)
              return `passed ${shorten(String(reward))}: ${source}`;
            if (terminated) break;
          }
          environment.frame?.();
          environment.close?.();
          return undefined;
        } catch (error) {
          return known(error, source);
        }
      },
    };
  },
};

const drawnSeed = (random: RandomGenerator) => random.integers(0, 1000);

export const moduleKinds: readonly AttackKind[] = [modules];
