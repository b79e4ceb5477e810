/** Every command exits as the table in docs/reference/exit-codes.md says: each is run for each of its codes. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorExitCode } from '../../../src/base/context.js';
import { UserError } from '../../../src/base/errors.js';
import { commands } from '../../../src/commands.js';
import { EnvironmentError } from '../../../src/environments/remote/remote-environment.js';
import { referenceDirectory } from '../../models/local/fixture.js';
import { temporaryDirectory } from '../../support/experiments.js';
import { commandLine } from './command-line.js';

const place = temporaryDirectory();
const never = new AbortController().signal;
const interrupted = { stop: { finish: AbortSignal.abort(), abort: never } };

/** The exit code that the program returns for a command line. */
async function exitOf(
  words: readonly string[],
  changes: Parameters<typeof commandLine>[2] = {},
): Promise<number | undefined> {
  try {
    return (await commandLine(place, words, changes)).code;
  } catch (error) {
    const isMisuse =
      error instanceof Error &&
      /^(Unknown argument|Not enough non-option|Missing required)/.test(error.message);
    return errorExitCode(isMisuse ? new UserError({ message: error.message }) : error);
  }
}

const names = commands.flatMap(([signature, , load]) => {
  const name = signature.split(' ')[0]!;
  return typeof load === 'function' ? [name] : load.map(([inner]) => `${name} ${inner.split(' ')[0]}`);
});

const quick = `environment: CartPole-v1
iterations: 2
warmup: 2
evaluation: { episodes: 2, maxSteps: 30 }
confirmation: { candidates: 1, episodes: 2 }
prompts: { set: ./prompts }
memory: { best: 1, recent: 1 }
`;
const mute = 'export default { name: "mute", create: () => ({ generate: () => "no idea" }) };\n';
const broken =
  'export default { name: "broken", create: () => ({ generate: () => { throw new Error("broken"); } }) };\n';
const model = referenceDirectory('qwen3-fp32');
const llama = referenceDirectory('llama3-rope-bf16');
const adapter = join(llama, 'adapter-after-12-steps');

const files = {
  'good.yaml': `${quick}model: { provider: hill-climb }\n`,
  'mute.yaml': `${quick}model: { provider: module, path: ./mute.mjs }\n`,
  'gone.yaml': 'name: gone\nenvironment: gymnasium:CartPole-v1\nmodel: { provider: random }\n',
  'mute.mjs': mute,
  'broken.mjs': broken,
  'tune.yaml': `model: ${model}\ndataset: data\nepochs: 1\nthreads: 1\nmethod: { kind: lora, rank: 2 }\n`,
  'numeric.yaml': `environment: CartPole-v1
policy: { kind: mlp, hidden: [4] }
value: { hidden: [4] }
algorithm: { kind: ppo }
updates: 2
batchEpisodes: 2
environments: 1
evaluation: { every: 1, episodes: 2 }
baselines: []
`,
  'prompts/system.hbs': 'Maximise f.\n',
  'prompts/user.hbs': '{{history.text}}\nnext\n',
  'prompts/format-correction.hbs': 'again\n',
};

beforeAll(async () => {
  mkdirSync(join(place, 'prompts'));
  mkdirSync(join(place, 'empty'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(place, name), text);
  for (const seed of [1, 2, 3])
    await exitOf(['run', 'good.yaml', `seed=${seed}`, '--run-dir', `buffers/g${seed}`, '--quiet']);
  await exitOf(['run', 'mute.yaml', '--run-dir', 'buffers/mute', '--quiet']);
  const runs = ['g1', 'g2', 'g3'];
  const how = '--recipe weighted --validation 0.34 --out data';
  await exitOf(['finetune', 'dataset', ...runs, ...how.split(' ')]);
}, 120_000);

const play = 'play agents/cooking episodes=2';
const throwing = 'player=model model.provider=module model.path=./broken.mjs';
const evaluation = '--tuned hill-climb --base random --configs good.yaml --repeats 1 --quiet';

/** Command lines that fail. */
const failing: Readonly<Record<string, string>> = {
  run: 'run mute.yaml --run-dir buffers/f --quiet',
  resume: 'resume mute iterations=4 --quiet',
  play: `${play} ${throwing} --run-dir buffers/pf`,
  sweep: 'sweep mute.yaml seed=1..2 --out sf --quiet',
  'models check': 'models check empty',
  'finetune dataset': 'finetune dataset mute --recipe improvement --out none',
  'finetune train': 'finetune train tune.yaml output=wild learningRate=1e30 epochs=8 --quiet',
  'finetune rl': 'finetune rl numeric.yaml output=rf algorithm.learningRate=1e300 --quiet',
};

/** Command lines that a Ctrl-C ends. */
const interruptible: Readonly<Record<string, string>> = {
  run: 'run good.yaml --run-dir buffers/i --quiet',
  resume: 'resume g1 iterations=9 --quiet',
  play: `${play} player=random --run-dir buffers/pi`,
  sweep: 'sweep good.yaml seed=1..2 --out si --quiet',
  'models pull': 'models pull hf:policyloop/none',
  'finetune evaluate': `finetune evaluate ${evaluation} --out ei`,
  'finetune train': 'finetune train tune.yaml output=ti epochs=30 --quiet',
  'finetune rl': 'finetune rl numeric.yaml output=ri --quiet',
  'finetune export': `finetune export ${adapter} --to merged --model ${llama} --out mi`,
};

/** Codes that other tests check. */
const elsewhere: Readonly<Record<string, string>> = {
  'finetune evaluate 1': 'test/finetune/evaluate/evaluate.slow.test.ts',
};

/** The rows of the table: the codes of each command except 0 and 2. */
function documented(): ReadonlyMap<string, readonly number[]> {
  const text = readFileSync(resolve(import.meta.dirname, '../../../docs/reference/exit-codes.md'), 'utf8');
  const table = text.slice(text.indexOf('| command | 1 | 130 |')).split('\n\n', 1)[0]!;
  const rows = table.split('\n').slice(2);
  return new Map(
    rows.flatMap((row) => {
      const [, given = '', failed = '', stopped = ''] = row.split('|').map((cell) => cell.trim());
      const codes = [...(failed === '–' ? [] : [1]), ...(stopped === '–' ? [] : [130])];
      return [...given.matchAll(/`([^`]+)`/g)].map(([, name]) => [name!, codes] as const);
    }),
  );
}

describe('exit codes', () => {
  it('are documented for every command, and each 1 and 130 is tested', () => {
    const table = documented();
    expect([...table.keys()].toSorted()).toEqual(names.toSorted());
    const told = [...table].flatMap(([name, codes]) => codes.map((code) => `${name} ${code}`));
    const run = [
      ...Object.keys(failing).map((name) => `${name} 1`),
      ...Object.keys(interruptible).map((name) => `${name} 130`),
      ...Object.keys(elsewhere),
    ];
    expect(told.toSorted()).toEqual(run.toSorted());
    for (const [given, file] of Object.entries(elsewhere))
      expect(readFileSync(resolve(file), 'utf8'), given).toContain(`.code).toBe(${given.split(' ').at(-1)})`);
  });

  it.each(names)('are 2 for an unknown option: %s', async (name) => {
    expect(await exitOf([...name.split(' '), '--no-such-option=1'])).toBe(2);
  });

  it.each(Object.entries(failing))('are 1 on failure: %s', { timeout: 120_000 }, async (_, words) => {
    expect(
      await exitOf(words.split(' '), { env: { ...process.env, POLICYLOOP_PYTHON: './no-python' } }),
    ).toBe(1);
  });

  it.each(Object.entries(interruptible))('are 130 on Ctrl-C: %s', { timeout: 120_000 }, async (_, words) => {
    expect(await exitOf(words.split(' '), interrupted)).toBe(130);
  });

  it.each([
    ['a config that is missing', ['run', 'nothing.yaml']],
    ['a config that is wrong', ['check', 'good.yaml', 'iterations=many', '--offline']],
    ['a run that is missing', ['show', 'nothing']],
    ['a value out of range', ['evaluate', 'g1', '--episodes', '0']],
  ])('are 2 for %s', async (_, words) => {
    expect(await exitOf(words)).toBe(2);
  });

  it('are 1 for a failed environment, a system error and a bug, and 2 for a user error', () => {
    expect(errorExitCode(new EnvironmentError('died', 'it broke'))).toBe(1);
    expect(errorExitCode(Object.assign(new Error('ENOSPC'), { syscall: 'write', code: 'ENOSPC' }))).toBe(1);
    expect(errorExitCode(new TypeError('a bug'))).toBe(1);
    expect(errorExitCode(new UserError({ message: 'misuse' }))).toBe(2);
  });
});
