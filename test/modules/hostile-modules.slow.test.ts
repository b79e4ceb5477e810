/** Modules that throw, hang, end, print, or break the language: a run ends with one clear error, or goes on. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute as resumeCommand } from '../../src/commands/resume.js';
import { execute as runCommand } from '../../src/commands/run.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { longestList } from '../../src/modules/host-messages.js';
import { createPolicyFamily, openPolicyFamily } from '../../src/policies/families.js';
import { createGenerator } from '../../src/random/generator.js';
import { startCommand } from '../support/command.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';

const cwd = temporaryDirectory();
let written = 0;

interface Parts {
  /** Statements of the top level, and of create. */
  readonly top?: string;
  readonly create?: string;
  readonly members?: string;
}

function environmentOf({ top = '', create = '', members = '' }: Parts): string {
  const file = `./env-${++written}.mjs`;
  writeFileSync(
    join(cwd, file),
    `${top}
    export default { create() { ${create};
      return {
        observationSpace: { kind: 'box', low: [0], high: [9] }, actionSpace: { kind: 'discrete', n: 2 }, maxSteps: 3,
        reset: () => [0], step: () => ({ observation: [1], reward: 1, terminated: false }), ${members} }; } };`,
  );
  return file;
}

const quick = {
  model: { provider: 'random' },
  iterations: 2,
  warmup: 1,
  evaluation: { episodes: 3, workers: 1 },
  confirmation: { candidates: 0 },
};

function configOf(changes: object): string {
  const file = join(cwd, `config-${++written}.yaml`);
  writeFileSync(file, JSON.stringify({ ...quick, ...changes }));
  return file;
}

async function play(changes: object) {
  const runDir = join('buffers', `run-${++written}`);
  const { context, printed } = recordingContext(cwd);
  const args = { runsDir: 'buffers', dryRun: false, quiet: true, json: true, overrides: [] };
  const code = await runCommand({ ...args, config: configOf(changes), runDir }, context);
  return {
    code,
    runDir,
    result: JSON.parse(printed.at(-1)!) as { status: string; reason: { message: string } },
  };
}

const slow = { timeoutSeconds: 1 };

describe('a run completes with a module that', () => {
  it.each<[string, Parts]>([
    [
      'leaves promises that reject later',
      {
        members:
          'step: () => { Promise.reject(new Error("later")); return { observation: [1], reward: 1, terminated: false } }',
      },
    ],
    [
      'adds to the prototypes',
      {
        top: 'Object.prototype.more = 1; Object.prototype.kind = "x"; Array.prototype.last = function () {};',
      },
    ],
    [
      'has setters there',
      { top: 'Object.defineProperty(Object.prototype, "value", { set() {}, get: () => 5 });' },
    ],
    ['adds toJSON', { top: 'Object.prototype.toJSON = () => 7;' }],
    ['replaces JSON', { top: 'JSON.stringify = () => "no"; JSON.parse = () => ({});' }],
    [
      'gives typed arrays, and no bounds',
      {
        members:
          'observationSpace: { kind: "box", low: new Float64Array([-Infinity]), high: [Infinity] }, reset: () => new Float32Array([1])',
      },
    ],
    [
      'makes its environment with a class',
      {
        create:
          'class E { #x = 1; observationSpace = { kind: "box", low: [0], high: [9] }; get actionSpace() { return { kind: "discrete", n: 2 } } reset() { return [this.#x] } step() { return { observation: [this.#x], reward: 1, terminated: true } } } return new E()',
      },
    ],
  ])('%s', async (_, parts) => {
    const { code, result } = await play({ environment: environmentOf(parts) });
    expect(result.status).toBe('completed');
    expect(code).toBe(0);
  });
});

describe('a run fails, naming the file, with a module', () => {
  const endless = 'for (;;) {}';
  it.each<[string, Parts, string | RegExp]>([
    ['whose step never returns', { members: `step() { ${endless} }` }, 'step did not return within 1 s'],
    ['whose reset never returns', { members: `reset() { ${endless} }` }, 'reset did not return within 1 s'],
    ['that ends its process in a step', { members: 'step() { process.exit(3) }' }, 'exit code 3'],
    [
      'that throws in a timer',
      {
        // The timer is due before the next evaluation begins.
        members: `reset() {
          setTimeout(() => { throw new Error("tick") });
          for (const start = performance.now(); performance.now() - start < 20; );
          return [0];
        }`,
      },
      'uncaught error: tick',
    ],
    [
      'whose rewards are BigInts',
      { members: 'step: () => ({ observation: [1], reward: 1n, terminated: false })' },
      'the reward of a step is the BigInt 1',
    ],
    [
      'whose observations are BigInts',
      { members: 'reset: () => [1n]' },
      'observation[0] from reset is the BigInt 1',
    ],
    [
      'whose results have getters that throw',
      {
        members:
          'step: () => ({ observation: [1], get reward() { throw new Error("boom") }, terminated: true })',
      },
      'step threw: boom',
    ],
    [
      'whose observation is a proxy that throws',
      { members: 'reset: () => new Proxy([1], { get() { throw new Error("trap") } })' },
      'reset threw: trap',
    ],
    [
      "that throws what can't be read",
      { members: 'step() { throw { get message() { throw 1 }, toString() { throw 2 } } }' },
      'step threw: an error without a readable message',
    ],
    ['that throws null', { members: 'step() { throw null }' }, 'step threw: null'],
    [
      'whose observations are huge',
      { members: 'reset: () => new Float32Array(1e9)' },
      'has 1\u202f000\u202f000\u202f000 numbers',
    ],
    [
      'whose steps are promises',
      { members: 'step: async () => ({ observation: [1], reward: 1, terminated: true })' },
      'returned a promise',
    ],
  ])('%s', async (_, parts, message) => {
    const file = environmentOf(parts);
    const { code, result } = await play({ environment: { id: file, ...slow } });
    expect(result.status).toBe('failed');
    expect(result.reason.message).toContain(message);
    expect(result.reason.message).toContain(file.slice(2));
    expect(result.reason.message.split('\n').length).toBeLessThan(4);
    expect(code).toBe(1);
  });

  it('that exhausts the memory of its thread', { timeout: 120_000 }, async () => {
    const environment = environmentOf({
      members: 'step() { const all = []; for (;;) all.push(new Array(1e5).fill(all.length)) }',
    });
    const command = [
      'run',
      configOf({ environment: { id: environment, timeoutSeconds: 100 } }),
      '--quiet',
      '--json',
    ];
    const { code, stdout } = await startCommand(cwd, command, { NODE_OPTIONS: '--max-old-space-size=120' })
      .ended;
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`${environment.slice(2)}: .*memory`));
  });

  it('that breaks, and resumes byte for byte once the module is fixed', async () => {
    const breaks = (when: string) => ({
      members: `step() { if (${when}) process.exit(1); return { observation: [1], reward: 1, terminated: false } }`,
    });
    const config = (parts: Parts) => ({ environment: environmentOf(parts), iterations: 3, record: 'all' });
    const whole = await play(config(breaks('false')));
    expect(whole.result.status).toBe('completed');
    const flag = join(cwd, 'broken');
    writeFileSync(flag, '');
    const { runDir, result } = await play({
      ...config({
        top: `import { existsSync } from 'node:fs';`,
        ...breaks(`existsSync(${JSON.stringify(flag)})`),
      }),
    });
    expect(result.status).toBe('failed');
    rmSync(flag);
    const args = { run: runDir, runsDir: 'buffers', quiet: true, json: true, overrides: [] };
    expect(await resumeCommand(args, recordingContext(cwd).context)).toBe(0);
    for (const log of ['evaluations.jsonl', 'episodes.jsonl'])
      expect(readFileSync(join(cwd, runDir, log), 'utf8')).toBe(
        readFileSync(join(cwd, whole.runDir, log), 'utf8'),
      );
  });
});

describe('a run is refused with an environment', () => {
  it.each<[string, Parts, RegExp]>([
    ['whose top level never returns', { top: 'for (;;) {}' }, /the top level did not return within 1 s/],
    [
      'whose top level waits for ever',
      { top: 'await new Promise(() => {});' },
      /the top level did not return within 1 s/,
    ],
    ['whose create never returns', { create: 'for (;;) {}' }, /create did not return within 1 s/],
    ['that ends the process when it is imported', { top: 'process.exit(0);' }, /ended its thread/],
    [
      'whose space has a getter that throws',
      { members: 'get observationSpace() { throw new Error("boom") }' },
      /read observationSpace .*: boom/,
    ],
    [
      'with a space of 1e9 numbers',
      {
        members: 'observationSpace: { kind: "box", low: new Float32Array(1e9), high: new Float32Array(1e9) }',
      },
      /a list has 1000000000 items; the maximum is 1000000/,
    ],
    [
      'with a sparse space of 1e9 numbers',
      { members: 'observationSpace: { kind: "box", low: new Array(1e9), high: new Array(1e9) }' },
      /a list has 1000000000 items/,
    ],
    [
      'with 1e9 states',
      { members: 'observationSpace: { kind: "discrete", n: 1e9 }' },
      /n must be at most 1000000/,
    ],
    [
      'with 1e9 actions',
      { members: 'actionSpace: { kind: "discrete", n: 1e9 }' },
      /n must be at most 1000000/,
    ],
    [
      'whose space holds itself',
      { members: 'observationSpace: (() => { const a = { kind: "box" }; a.low = a; return a; })()' },
      /nested more than 64 levels/,
    ],
    [
      'whose bounds are NaN',
      { members: 'observationSpace: { kind: "box", low: [NaN], high: [1] }' },
      /low\[0\] must be a number, not NaN/,
    ],
    [
      'with too few names',
      { members: 'actionNames: ["left"]' },
      /actionNames .* must be a list of 2 strings/,
    ],
    ['with a description that is no text', { members: 'description: 7' }, /description .* must be a string/],
  ])('%s', async (_, parts, message) => {
    const file = environmentOf(parts);
    const error: unknown = await play({ environment: { id: file, ...slow } }).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toMatchObject({ name: expect.stringMatching(/UserError|EnvironmentError/) as string });
    expect((error as Error).message).toMatch(message);
    expect((error as Error).message).toContain(file.slice(2));
  });

  it(`but one with a space of ${longestList} numbers opens`, async () => {
    const file = environmentOf({
      members: `observationSpace: { kind: "box", low: new Float32Array(${longestList}), high: new Float32Array(${longestList}).fill(1) }`,
    });
    const environment = await makeEnvironment(join(cwd, file));
    expect(environment.observationSpace).toMatchObject({ kind: 'box', low: { length: longestList } });
  });
});

describe('a module in its own thread', () => {
  it('draws the same random numbers as in this thread, across seeded and unseeded resets', async () => {
    const file = environmentOf({
      members: `observationSpace: { kind: 'box', low: [-99], high: [99] },
      reset(_, random) { this.random = random; return [random.normal()]; },
      step() { return { observation: [this.random.integers(0, 9)], reward: this.random.random(), terminated: true } }`,
    });
    const environment = await makeEnvironment(join(cwd, file));
    const random = createGenerator(5);
    for (const seed of [5, undefined, undefined]) {
      expect(environment.reset(seed)).toEqual([random.normal()]);
      expect(environment.step(0).observation).toEqual([random.integers(0, 9)]);
      // The step's reward was drawn after its observation.
      random.random();
    }
  });

  it('shares the random stream of `initial` with its caller', async () => {
    const file = join(cwd, 'policy-start.mjs');
    writeFileSync(
      file,
      `export default { create: () => ({ parameters: { count: 2, low: -9, high: 9 }, build: () => () => 0,
      initial: (random) => [random.normal(), random.integers(0, 5)] }) };`,
    );
    const environment = await makeEnvironment('CartPole-v1');
    const family = await openPolicyFamily({ kind: 'module', path: file, options: {} }, environment);
    const [theirs, ours] = [createGenerator(3), createGenerator(3)];
    for (let i = 0; i < 3; i++) {
      expect(family.initial(theirs)).toEqual([ours.normal(), ours.integers(0, 5)]);
      expect(theirs.random()).toBe(ours.random());
    }
  });

  it('is named in the error of every call after its thread has ended', async () => {
    const file = environmentOf({ members: 'step() { process.exit(7) }' });
    const environment = await makeEnvironment(join(cwd, file));
    environment.reset(1);
    for (let i = 0; i < 2; i++) expect(() => environment.step(0)).toThrow(/env-\d+\.mjs: .*process\.exit/);
    const other = await makeEnvironment(join(cwd, environmentOf({})));
    expect(other.reset(1)).toEqual([0]);
  });

  it('works with built-in policies', async () => {
    const environment = await makeEnvironment(join(cwd, environmentOf({})));
    const family = createPolicyFamily(
      { kind: 'linear', bias: true, low: -6, high: 6, decimals: 1 },
      environment,
    );
    expect(family.build([1, -1, 0, 0])(environment.reset(1))).toBe(0);
  });
});

describe('models, policies and helpers from modules', () => {
  const moduleOf = (source: string): string => {
    const file = `./part-${++written}.mjs`;
    writeFileSync(join(cwd, file), source);
    return file;
  };
  const pole = { environment: { id: 'CartPole-v1' }, evaluation: { episodes: 2, maxSteps: 20, workers: 1 } };

  it('a model that ends its process fails the run', async () => {
    const provider = moduleOf('export default { create: () => ({ generate() { process.exit(4) } }) };');
    const { result } = await play({ ...pole, model: { provider } });
    expect(result).toMatchObject({ status: 'failed', reason: { failure: 'died' } });
    expect(result.reason.message).toContain(provider.slice(2));
  });

  it('a model can stream text, and receives an abort signal', async () => {
    const provider =
      moduleOf(`export default { create: () => ({ async generate(messages, { seeds, signal, onText }) {
      onText(0, 'params'); if (!(signal instanceof AbortSignal) || seeds.length !== 1) throw new Error('options');
      return Array.from({ length: 10 }, (_, i) => 'params[' + i + ']: 1').join(', ') } }) };`);
    expect((await play({ ...pole, model: { provider } })).result.status).toBe('completed');
  });

  it('SIGTERM ends a run whose policy never returns', { timeout: 90_000 }, async () => {
    const kind = moduleOf(
      'export default { create: () => ({ parameters: { count: 1, low: -1, high: 1 }, build: () => () => { for (;;) {} } }) };',
    );
    const { child, ended, wrote } = startCommand(cwd, ['run', configOf({ ...pole, policy: { kind } })]);
    await wrote(/1 parameter/);
    await new Promise((resolve) => setTimeout(resolve, 1500));
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(stderr).toContain('SIGTERM: stopping immediately');
    expect(code).toBe(130);
  });

  it('a helper can be used in prompt templates', async () => {
    mkdirSync(join(cwd, 'set'), { recursive: true });
    for (const name of ['system', 'user', 'format-correction'])
      writeFileSync(join(cwd, 'set', `${name}.hbs`), '{{shout environment.id}}');
    const helpers = moduleOf(
      'export default { create: () => ({ shout(text) { return text.toUpperCase() } }) };',
    );
    const provider = moduleOf('export default { create: () => ({ generate: ([{ content }]) => content }) };');
    await play({
      ...pole,
      iterations: 1,
      model: { provider },
      corrections: 0,
      prompts: { set: './set', helpers },
    });
    const [call] = readFileSync(join(cwd, 'buffers', `run-${written - 1}`, 'calls.jsonl'), 'utf8').split(
      '\n',
    );
    expect(call).toContain('CARTPOLE-V1');
  });
});

describe('a command exits', { timeout: 60_000 }, () => {
  it('even if a module keeps a timer and a server open', async () => {
    const file = environmentOf({
      top: `setInterval(() => {}, 1000); (await import('node:http')).createServer().listen(0);`,
    });
    const { ended } = startCommand(cwd, ['run', configOf({ environment: file }), '--quiet']);
    expect((await ended).code).toBe(0);
  });

  it.each<[string, Parts, NodeJS.Signals, RegExp]>([
    ['a step', { members: 'step() { for (;;) {} }' }, 'SIGTERM', /4 parameters/],
    ['a reset', { members: 'reset() { for (;;) {} }' }, 'SIGTERM', /4 parameters/],
    ['a create', { create: 'process.stderr.write("creating\\\\n"); for (;;) {}' }, 'SIGTERM', /creating/],
    ['a top level', { top: 'process.stderr.write("loading\\\\n"); for (;;) {}' }, 'SIGTERM', /loading/],
    ['a step', { members: 'step() { for (;;) {} }' }, 'SIGINT', /4 parameters/],
  ])('on a signal, even if %s never returns', async (_, parts, signal, when) => {
    const { child, ended, wrote } = startCommand(cwd, [
      'run',
      configOf({ environment: environmentOf(parts) }),
    ]);
    await wrote(when);
    child.kill(signal);
    if (signal === 'SIGINT') {
      await wrote(/Ctrl-C/);
      child.kill(signal);
    }
    const { code } = await ended;
    expect(code).toBe(130);
  });

  it('on a signal, even if a step of a sweep never returns', async () => {
    const environment = environmentOf({
      members: 'step() { process.stderr.write("stepping\\n"); for (;;) {} }',
    });
    const config = configOf({ environment, confirmation: { candidates: 1 } });
    const { child, ended, wrote } = startCommand(cwd, ['sweep', config, 'seed=1..2', '--jobs', '2']);
    await Promise.race([wrote(/stepping/), ended]);
    child.kill('SIGTERM');
    const { code, stderr } = await ended;
    expect(stderr).toContain('SIGTERM');
    expect(code).toBe(130);
  });
});
