import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { makeEnvironment } from '../../../src/environments/catalogue/open.js';
import { programIn, programModule } from '../../../src/experiment/programs/program-file.js';
import { policyForEpisode, programsOf } from '../../../src/policies/policy.js';
import { openProgramPolicies } from '../../../src/policies/program-policies.js';
import { readShownRun } from '../../../src/runs/open-run.js';
import { commandLine } from '../../commands/json/command-line.js';
import { quick, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();
const cartPole = await makeEnvironment('CartPole-v1', {});
const at = (name: string) => join(place, name);

beforeAll(async () => {
  const random = { ...quick, iterations: 3, model: { provider: 'random' } } as const;
  await runExperimentFrom({ ...random, policy: { kind: 'program' } }, { path: at('programs') });
  await runExperimentFrom(random, { path: at('numbers') });
});

describe('show --program', () => {
  const printed = async (...words: readonly string[]) =>
    (await commandLine(place, ['show', at('programs'), '--program', ...words])).printed.join('\n');

  it('prints the source of the best program, or of the chosen one', async () => {
    const { manifest, recorded } = await readShownRun(at('programs'));
    const { iteration, candidate } = manifest.confirmations.at(-1)!;
    const source = (i: number, c: number) =>
      recorded.entries.find((one) => one.iteration === i && one.candidate === c)!.program!;
    expect(programIn(await printed()).trimStart()).toBe(source(iteration, candidate));
    const other = await printed('--iteration', '0', '--candidate', '2');
    expect(other).toMatch(/^\/\/ Written by .*iteration 0, candidate 2.*\n.*isn't sandboxed/);
    expect(programIn(other).trimStart()).toBe(source(0, 1));
    const chosen = { iteration: 0, candidate: 1, program: source(0, 1) };
    expect(JSON.parse(await printed('--iteration', '0', '--candidate', '2', '--json'))).toMatchObject(chosen);
  });

  it('rejects runs without programs and unknown iterations', async () => {
    await expect(commandLine(place, ['show', at('numbers'), '--program'])).rejects.toThrow(
      "this run's policies aren't programs",
    );
    await expect(printed('--iteration', '9')).rejects.toThrow('--iteration');
  });
});

it('a printed program sees no process, require or fetch when imported, and its import() fails', async () => {
  const looks = 'typeof process + typeof globalThis + typeof require + typeof Function + typeof fetch';
  const program = `const act = ([load]) => load ? import('node:fs') : ${looks};`;
  writeFileSync(at('printed.mjs'), programModule(program, 'm\nx', cartPole));
  const { act } = await import(/* @vite-ignore */ at('printed.mjs'));
  expect(act([0])).toBe('undefined'.repeat(5));
  expect(() => act([1])).toThrow(TypeError);
  const shadowing = 'let a, { self } = {}; { const process = 1; }';
  expect(programModule(shadowing, 'm', cartPole)).toMatch(/var (?!.*self).*process/);
});

it('a printed program needs only an array as its argument, and acts as in a run', async () => {
  const source = `const constants = { damping: { value: 0.3, low: 0, high: 1 }, k: 2 };
function act(o, memory, { damping, k }) {
  memory.steps ??= 0;
  return k * o.poleAngle + damping * o.poleAngularVelocity > 0 ? 1 : 0;
}`;
  const family = openProgramPolicies(cartPole);
  await family.prepare!();
  const policy = policyForEpisode(family.build(programsOf(family)!.add(source)), 0);
  writeFileSync(at('named.mjs'), programModule(source.replace('function', 'export $&'), 'm', cartPole));
  const { act, constants } = await import(/* @vite-ignore */ at('named.mjs'));
  expect(constants).toEqual({ damping: 0.3, k: 2 });
  const seen = Array.from({ length: 40 }, (_, i) => [0, 0, Math.sin(i), 5 * Math.cos(2 * i)]);
  expect(seen.map((one) => act(one))).toEqual(seen.map((one) => policy(one)));
});

it('the keyword export is removed from a file, and line numbers stay the same', () => {
  const act = 'function act() {\n  return 1;\n}';
  expect(programIn(`\nexport default ${act}`)).toBe(`\n${act}`);
  expect(programIn(`${act}\nexport {\n  act\n};\n`)).toBe(`${act}\n\n\n\n`);
});

describe('a program in a file', () => {
  const evaluated = async (file: string, ...more: readonly string[]) => {
    const words = ['evaluate', file, '--environment', 'CartPole-v1', '--episodes', '20', '--json', ...more];
    const { printed } = await commandLine(place, words);
    return JSON.parse(printed[0]!) as { iteration: null; mean: number; returns: readonly number[] };
  };

  it('gets the same returns as in its run, up to the step limit of the run', async () => {
    const { printed } = await commandLine(place, ['show', at('programs'), '--program']);
    writeFileSync(at('best.js'), printed.join('\n'));
    const same = ['--seed', '3', '--episodes', '20', '--json'];
    const ofRun = await commandLine(place, ['evaluate', at('programs'), ...same]);
    const { iteration, returns } = await evaluated('best.js', '--seed', '3');
    // The run plays at most 60 steps.
    expect(returns.map((one) => Math.min(one, 60))).toEqual(JSON.parse(ofRun.printed[0]!).returns);
    expect(iteration).toBeNull();
  });

  it('runs in the sandbox, with or without the export keyword', async () => {
    const act = 'function act(o) { return o[2] + 0.5 * o[3] > 0 ? 1 : 0; }';
    writeFileSync(at('plain.js'), act);
    writeFileSync(at('module.mjs'), `export ${act}\n`);
    expect((await evaluated('plain.js')).mean).toBe(500);
    expect((await evaluated('module.mjs', '--workers', '2')).mean).toBe(500);
    writeFileSync(at('bad.js'), '\nfunction act() { return process.env.HOME ? 1 : 0; }');
    await expect(evaluated('bad.js')).rejects.toThrow(
      /bad\.js[\s\S]*line 2: ReferenceError: 'process' is not defined/,
    );
    writeFileSync(at('none.js'), 'const a = 1;');
    await expect(evaluated('none.js')).rejects.toThrow('no function act');
  });

  it('requires --environment, and rejects options that apply only to runs', async () => {
    await expect(commandLine(place, ['evaluate', 'plain.js'])).rejects.toThrow('--environment');
    await expect(evaluated('plain.js', '--iteration', '1')).rejects.toThrow('only one program');
    await expect(evaluated(at('programs'))).rejects.toThrow('only applies to .js files');
  });
});
