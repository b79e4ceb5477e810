/** Parts of a plan, each executed by its own process: their runs and their shares of the limits. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { readRun } from '../../src/runs/reader.js';
import { divideLimits, parsePart } from '../../src/studies/part.js';
import { quick, readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);
const config = { ...quick, iterations: 3, model: { provider: 'hill-climb' } };
writeFileSync(at('pole.yaml'), JSON.stringify(config));

async function sweep(out: string, part: string | undefined, ...overrides: readonly string[]) {
  const { context, printed } = recordingContext(place);
  const common = { runsDir: 'buffers', baselines: false, slurm: false, quiet: true, json: true };
  const given = ['model.sigma=0.3,2', 'seed=1..2', ...overrides];
  const only = part === undefined ? {} : { part };
  const args = { ...common, config: at('pole.yaml'), overrides: given, out, ...only };
  const code = await sweepCommand(args, context);
  return { code, last: JSON.parse(printed.at(-1)!) as Record<string, unknown> };
}

const runs = ['sigma-0.3/seed-1', 'sigma-2/seed-1', 'sigma-0.3/seed-2', 'sigma-2/seed-2'];

it('two parts give the same runs as the whole plan, and take over a lock from a dead machine', async () => {
  await sweep('parts', '1/2');
  expect(runs.filter((run) => existsSync(at('parts', run, 'manifest.json')))).toEqual([runs[1], runs[3]]);
  // As the lock of a node that died.
  writeFileSync(at('parts', runs[1]!, 'run.lock'), '12 elsewhere 3\n');
  await sweep('parts', '1/2');
  expect(existsSync(at('parts', runs[1]!, 'run.lock'))).toBe(false);
  expect((await sweep('parts', '0/2')).last).toMatchObject({ status: 'completed', complete: 2 });
  expect(existsSync(at('parts', 'sweep.json'))).toBe(false);
  expect((await sweep('parts', undefined)).last).toMatchObject({ status: 'completed' });
  await sweep('whole', undefined);
  for (const run of runs)
    expect(readRunFile(at('parts', run), 'evaluations')).toEqual(
      readRunFile(at('whole', run), 'evaluations'),
    );
});

it('parts divide the call limit of a sweep', async () => {
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({ reply: () => values });
  const more = [
    `model={provider: openai, name: fake, baseUrl: "${server.url}"}`,
    'model.sigma=',
    'memory.best=2,4',
    'corrections=0',
    'sweep.limits.calls=7',
  ];
  await Promise.all([sweep('limited', '0/2', ...more), sweep('limited', '1/2', ...more)]);
  const calls = ['best-2/seed-1', 'best-4/seed-1', 'best-2/seed-2', 'best-4/seed-2']
    .filter((run) => existsSync(at('limited', run)))
    .reduce((sum, run) => sum + readRun(at('limited', run)).calls.length, 0);
  // Three for each part.
  expect(calls).toBe(6);
});

it('a part gets its share of the limits, with counts rounded down; a count of 0 is rejected', () => {
  const limits = { calls: 7, tokens: 100, cost: 1, evaluations: 9, minutes: 3 };
  const shares = { calls: 3, tokens: 50, cost: 0.5, evaluations: 4, minutes: 1.5 };
  expect(divideLimits(limits, { of: 2 })).toEqual(shares);
  expect(divideLimits({ cost: 1 }, { of: 4 })).toMatchObject({ cost: 0.25 });
  expect(() => divideLimits(limits, { of: 8 })).toThrow(
    /sweep\.limits\.calls: is divided between 8 tasks, so each would get less than 1/,
  );
});

it('--part accepts INDEX/PARTS, and rejects invalid values', () => {
  expect(parsePart('3/4')).toEqual({ index: 3, of: 4 });
  for (const text of ['4/4', '1', '-1/2', '1/0'])
    expect(() => parsePart(text)).toThrow(/--part: must be INDEX\/PARTS/);
});
