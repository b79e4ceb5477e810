import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { programIn } from '../../../src/programs/export.js';
import { readShownRun } from '../../../src/runs/open-run.js';
import { commandLine } from '../../commands/json/command-line.js';
import { quick, runExperimentFrom, temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();
const at = (name: string) => join(place, name);
const text = (name: string) => readFileSync(at(name), 'utf8');

beforeAll(async () => {
  const random = { ...quick, iterations: 3, model: { provider: 'random' } } as const;
  await runExperimentFrom({ ...random, policy: { kind: 'program' } }, { path: at('programs') });
  await runExperimentFrom(random, { path: at('numbers') });
});

describe('export program', () => {
  it('writes the best program, with its origin', async () => {
    const { code, printed } = await commandLine(place, ['export', 'program', at('programs')]);
    expect([code, printed]).toEqual([0, ['policy.js']]);
    const { manifest } = await readShownRun(at('programs'));
    const { iteration, mean } = manifest.confirmations.at(-1)!;
    const [environment, run, result] = text('policy.js').split('\n');
    expect(environment).toMatch(/^\/\/ A policy for CartPole-v1, written by policyloop \d/);
    expect(run).toMatch(
      /^\/\/ Run programs, (warm-up policy \d|iteration \d), seed 0, model control\/random$/,
    );
    if (iteration > 0) expect(run).toContain(`iteration ${iteration}`);
    expect(result).toMatch(/^\/\/ Confirmed mean return [\d.]+, 95 % interval .* \(5 episodes\)$/);
    expect(result).toContain(String(Math.floor(mean)));
  });

  it('writes any program, in Python too', async () => {
    const words = ['export', 'program', at('programs'), '--iteration', '0', '--candidate', '2'];
    const { recorded } = await readShownRun(at('programs'));
    const { program } = recorded.entries.find((one) => one.iteration === 0 && one.candidate === 1)!;
    const js = await commandLine(place, [...words, '--out', 'own.js', '--json']);
    expect(JSON.parse(js.printed[0]!)).toEqual({
      file: 'own.js',
      language: 'js',
      iteration: 0,
      candidate: 1,
    });
    expect(programIn(text('own.js')).trim()).toBe(program!.trim());
    await commandLine(place, [...words, '--language', 'python']);
    expect(text('policy.py')).toMatch(/^# A policy for CartPole-v1.*\n# Run programs, warm-up policy 2/);
  });

  it('refuses other runs, languages and several runs', async () => {
    const refused = (...words: readonly string[]) => commandLine(place, ['export', 'program', ...words]);
    await expect(refused(at('numbers'))).rejects.toThrow("this run's policies aren't programs");
    await expect(refused(at('programs'), '--language', 'ruby')).rejects.toThrow(
      /unknown language[\s\S]*js, python/,
    );
    await expect(refused(at('programs'), at('numbers'))).rejects.toThrow('only one run');
    await expect(refused(at('programs'), '--iteration', '9')).rejects.toThrow('--iteration');
  });

  it('leaves the tables as they were', async () => {
    await commandLine(place, ['export', at('programs')]);
    expect(existsSync(at('export/evaluations.csv'))).toBe(true);
  });
});
