import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import { execute as compareCommand } from '../../src/commands/compare.js';
import { execute as run } from '../../src/commands/run.js';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { linesOf, listRuns } from '../../src/runs/listing/listing.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import type { SweepResult } from '../../src/studies/sweep/sweep-result.js';
import { Items } from '../../src/view/items.js';
import { readRunFile, recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';

type SweepArguments = Parameters<typeof sweepCommand>[0];

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

const short = `environment: CartPole-v1
model: { provider: hill-climb }
iterations: 3
warmup: 3
evaluation: { episodes: 2, maxSteps: 60 }
confirmation: { candidates: 2, episodes: 5 }
`;
writeFileSync(at('pole.yaml'), short);
writeFileSync(
  at('section.yaml'),
  `${short}sweep:\n  method: list\n  keys: { model.sigma: [0.5, 2], memory: [all, { best: 2 }], seed: 3..4 }\n`,
);

type Printed = SweepResult & { readonly out: string; readonly result: string };

async function sweep(
  overrides: readonly string[],
  changes: Partial<SweepArguments> = {},
  outside: Partial<CommandContext> = {},
) {
  const { context, printed, noted } = recordingContext(place, outside);
  const args: SweepArguments = {
    config: at('pole.yaml'),
    overrides,
    runsDir: 'buffers',
    dryRun: false,
    slurm: false,
    quiet: false,
    json: true,
    ...changes,
  };
  const code = await sweepCommand(args, context);
  return { code, printed, noted, last: () => JSON.parse(printed.at(-1)!) as Printed };
}

const grid = ['model.sigma=0.3,2', 'seed=1..3'];

it('policyloop sweep opens its page with the program that BROWSER names', async () => {
  const opened = at('opened');
  writeFileSync(at('browser.sh'), `#!/bin/sh\necho "$1" > ${opened}\n`, { mode: 0o755 });
  await sweep(['seed=1..2'], { out: 'shown', open: true }, { env: { BROWSER: at('browser.sh') } });
  await expect
    .poll(() => existsSync(opened) && readFileSync(opened, 'utf8').trim())
    .toBe(at('shown', 'report.html'));
});

it('policyloop sweep fails if a model contributes nothing, and names the run', async () => {
  const answer = (value: number) =>
    Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(value + i / 10).toFixed(1)}`).join(', ');
  let asked = 0;
  const server = await startFakeOpenAI({
    reply: ({ model }) => (model === 'mute' ? 'No idea.' : answer(asked++ % 5)),
  });
  try {
    const model = `{ provider: openai, name: m, baseUrl: "${server.url}" }`;
    writeFileSync(at('mute.yaml'), short.replace('{ provider: hill-climb }', model));
    const again = () => sweep(['model.name=mute,able', 'seed=1'], { config: at('mute.yaml'), out: 'mute' });
    const first = await again();
    expect(first.code).toBe(1);
    expect(first.last()).toMatchObject({
      status: 'failed',
      settings: [{ runs: 0, confirmed: null }, { runs: 1 }],
      failures: [
        {
          run: 'name-mute/seed-1',
          message: expect.stringMatching(/^0 proposals accepted.*“No idea\.”$/),
        },
      ],
    });
    // Nothing is asked again: with the same settings the run would end in the same way.
    const spent = server.requests.length;
    expect((await again()).code).toBe(1);
    expect(server.requests).toHaveLength(spent);
    const { context, printed } = recordingContext(place);
    const flags = { runsDir: 'buffers', unfinished: false, json: true };
    await compareCommand({ runs: [at('mute')], ...flags }, context);
    expect(JSON.parse(printed.at(-1)!)).toMatchObject({
      leftOut: [{ reason: '0 proposals accepted (stopped after 10 rejected replies) after 3 iterations' }],
    });
  } finally {
    await server.close();
  }
});

it('policyloop sweep runs every setting and seed and reports effects; 3 jobs give the same bytes', async () => {
  const { code, printed, last } = await sweep(grid, { out: 'one' });
  expect(code).toBe(0);
  expect(printed).toHaveLength(6 + 1);
  const { best, effects, seeds, settings, status } = last();
  expect({ status, seeds }).toEqual({ status: 'completed', seeds: [1, 2, 3] });
  expect(settings.map(({ name, runs }) => `${name} ${runs}`)).toEqual(['sigma-0.3 3', 'sigma-2 3']);
  const own = readManifest(at('one', 'sigma-2', 'seed-3'));
  expect(own).toMatchObject({ seed: 3, status: 'completed' });
  expect(settings[1]!.returns[2]).toBe(own.confirmations.at(-1)!.mean);
  expect(effects!.main[0]!.difference).toBeCloseTo(
    settings[1]!.confirmed!.mean - settings[0]!.confirmed!.mean,
    9,
  );
  expect(effects!.main[0]).toMatchObject({ key: 'model.sigma', of: '2', against: '0.3', verdict: 'too-few' });
  expect(['sigma-0.3', 'sigma-2']).toContain(best);
  // The same warm-up for both settings.
  const warmup = (setting: string) =>
    readRun(at('one', setting, 'seed-1'))
      .entries.slice(0, 3)
      .map(({ returns }) => returns);
  expect(warmup('sigma-2')).toEqual(warmup('sigma-0.3'));
  expect(readFileSync(at('one', 'report.html'), 'utf8')).toContain('Effect of each key');

  await sweep(grid, { out: 'several', jobs: 3 });
  for (const setting of ['sigma-0.3', 'sigma-2'])
    for (const seed of seeds)
      expect(readRunFile(at('several', setting, `seed-${seed}`), 'evaluations')).toEqual(
        readRunFile(at('one', setting, `seed-${seed}`), 'evaluations'),
      );
});

it('policyloop sweep resumes with more values and seeds, but refuses a changed config', async () => {
  const stop = new AbortController();
  const finish = { finish: stop.signal, abort: new AbortController().signal };
  const halted = await sweep(grid, { out: 'stopped' }, { stop: finish, print: () => stop.abort() });
  expect(halted.code).toBe(130);
  expect(existsSync(at('stopped', 'sigma-2', 'seed-3'))).toBe(false);
  const created = readManifest(at('stopped', 'sigma-0.3', 'seed-1')).created;
  const more = await sweep(['model.sigma=0.3,1,2', 'seed=1..4'], { out: 'stopped' });
  expect(more.last().settings.map(({ runs }) => runs)).toEqual([4, 4, 4]);
  expect(readManifest(at('stopped', 'sigma-0.3', 'seed-1')).created).toBe(created);
  await expect(sweep([...grid, 'iterations=4'], { out: 'stopped' })).rejects.toThrow(
    /--out: contains runs of sigma-0\.3/,
  );
});

it('a sweep is one row in the list and in the view', async () => {
  await sweep(['model.sigma=1,2', 'iterations=1'], { out: 'buffers/row' });
  const lines = linesOf(listRuns(at('buffers')).runs, at('buffers'));
  expect(lines.map(([name, runs]) => `${name} ${runs.length}`)).toContain('row 2');
  const items = new Items([{ path: at('buffers'), prefix: '' }]);
  items.look();
  expect(items.find('row')!.item).toMatchObject({ kind: 'sweep', status: 'completed', done: 2, of: 2 });
});

it('policyloop sweep reads the sweep section of a config, which policyloop run refuses', async () => {
  const { last } = await sweep([], { config: at('section.yaml'), out: 'section' });
  expect(last()).toMatchObject({ method: 'list', seeds: [3, 4] });
  expect(last().settings.map(({ values }) => values)).toEqual([
    { 'model.sigma': '0.5', memory: 'all' },
    { 'model.sigma': '2', memory: '{"best":2}' },
  ]);
  const { context } = recordingContext(place);
  const args = { runsDir: 'buffers', dryRun: false, quiet: true, json: true };
  await expect(run({ ...args, config: at('section.yaml'), overrides: [] }, context)).rejects.toThrow(
    /section\.yaml:7:1: sweep: this config describes many runs[\s\S]*policyloop sweep/,
  );
  await expect(run({ ...args, config: at('pole.yaml'), overrides: ['seed=1..3'] }, context)).rejects.toThrow(
    /seed: lists several values[\s\S]*policyloop sweep/,
  );
});

it('halving keeps the settings with the best confirmed returns, and a rerun keeps the same ones', async () => {
  const overrides = ['model.sigma=0.05,0.3,1,2', 'seed=1..4', 'sweep.method=halving', 'sweep.first=1'];
  const { code, last } = await sweep(overrides, { out: 'halved' });
  expect(code).toBe(0);
  const { settings } = last();
  expect(settings.map(({ runs }) => runs).toSorted()).toEqual([1, 1, 2, 4]);
  const first = settings.map(({ returns }) => returns[0]!);
  const kept = settings.filter(({ runs }) => runs > 1).map(({ returns }) => returns[0]!);
  expect(Math.min(...kept)).toBeGreaterThanOrEqual(first.toSorted((a, b) => b - a)[1]!);
  const dropped = settings.flatMap(({ dropped }) => dropped ?? []);
  expect(dropped.map(({ after }) => after).toSorted()).toEqual([1, 1, 2]);
  const again = await sweep(overrides, { out: 'halved' });
  expect(again.last().settings).toEqual(settings);
});

it('policyloop sweep reports failures in early rounds of halving', async () => {
  writeFileSync(
    at('bad.js'),
    `export default {
  create: ({ bad = false } = {}) => ({
    observationSpace: { kind: 'box', low: [-1], high: [1] },
    actionSpace: { kind: 'discrete', n: 2 },
    maxSteps: 5,
    reset: () => [0],
    step(action) {
      if (bad) throw new Error('<b>out of order</b>');
      return { observation: [0], reward: action, terminated: false };
    },
  }),
};
`,
  );
  const how = ['environment=./bad.js', 'seed=1..4', 'sweep.method=halving', 'sweep.first=1'];
  const some = await sweep([...how, 'environment.options.bad=false,true,null'], { out: 'some-failed' });
  expect(some.code).toBe(1);
  expect(some.last()).toMatchObject({ status: 'failed', result: 'incomplete' });
  expect(some.last().failures).toMatchObject([{ run: 'bad-true/seed-1' }]);
  expect(some.last().settings.map(({ runs }) => runs)).toEqual([4, 0, 2]);
  expect(readFileSync(at('some-failed', 'report.html'), 'utf8')).not.toContain('<b>out of order');
  const text = await sweep([...how, 'environment.options.bad=false,true,null'], {
    out: 'some-failed',
    json: false,
  });
  expect(text.printed.join('\n')).toMatch(
    /failed {6}bad-true\/seed-1: [^\n]*out of order[^\n]*\nruns {8}6 runs complete/,
  );
  const all = await sweep([...how, 'environment.options.bad=true'], { out: 'all-failed' });
  expect({ code: all.code, runs: all.last().settings[0]!.runs }).toEqual({ code: 1, runs: 0 });
});

it('a dry run of a sweep estimates runs, calls, cost and time', async () => {
  const model =
    'model={provider: openai, name: fake, baseUrl: "http://127.0.0.1:9", price: {input: 1, output: 2}}';
  const { code, last } = await sweep(
    [model, 'corrections=1', 'memory.best=2,4', 'seed=1..3', 'iterations=5'],
    { dryRun: true },
  );
  const told = last() as unknown as Record<string, { expected: number; most: number }> & { runs: number };
  expect({ code, runs: told.runs, calls: told.calls }).toEqual({
    code: 0,
    runs: 6,
    calls: { expected: 30, most: 60 },
  });
  expect(told.cost!.expected).toBeGreaterThan(0);
  expect(told.playSeconds!.most).toBeGreaterThanOrEqual(told.playSeconds!.expected);
  expect(told.modelSeconds).toBeNull();
  const text = await sweep([model, 'memory.best=2,4'], { dryRun: true, json: false });
  expect(text.printed.join('\n')).toMatch(/runs {8}2\ncalls[\s\S]*cost[\s\S]*play[\s\S]*model {7}unknown/);
  // What all may use together ends them; more jobs than runs, or threads that nobody uses, make nothing faster.
  const capped = [model, 'corrections=1', 'seed=1..3', 'iterations=5', 'sweep.limits.calls=6'];
  const limited = await sweep(capped, { dryRun: true, jobs: 50 });
  expect(limited.last()).toMatchObject({ calls: { expected: 6, most: 6 }, limit: 'sweep.limits.calls' });
  const own = await sweep([...capped.slice(0, -1), 'limits.calls=4'], { dryRun: true });
  expect(own.last()).toMatchObject({ calls: { expected: 12, most: 12 } });
  expect(own.last()).not.toHaveProperty('limit');
  const said = await sweep(capped, { dryRun: true, jobs: 50, json: false });
  expect(said.printed.join('\n')).toMatch(
    /, 3 runs at once, in one thread\n[\s\S]*limit {7}limits\.total\.calls is expected to end the sweep/,
  );
});

it('a dry run of an unfinished sweep estimates what is left', async () => {
  const model = 'model={provider: openai, name: fake, baseUrl: "http://127.0.0.1:9"}';
  const more = [model, 'corrections=0', 'memory.best=2,4', 'seed=1..3'];
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({ reply: () => values });
  const begun = [model.replace('http://127.0.0.1:9', server.url), ...more.slice(1, -1), 'seed=1..2'];
  await sweep(begun, { out: 'begun' });
  await server.close();
  const told = async (out: string) => (await sweep(more, { dryRun: true, out })).last();
  expect(await told('begun')).toMatchObject({ runs: 6, complete: 4, calls: { expected: 6, most: 6 } });
  expect(await told('new')).toMatchObject({ runs: 6, complete: 0, calls: { expected: 18, most: 18 } });
  const text = await sweep(more, { dryRun: true, out: 'begun', json: false });
  expect(text.printed.join('\n')).toMatch(
    /runs {8}6, 4 complete; the figures below exclude them\ncalls {7}6 \(/,
  );
});

it('a sweep shares its total limits among all its runs', async () => {
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({ reply: () => values });
  const model = `model={provider: openai, name: scripted, baseUrl: "${server.url}"}`;
  const halved = ['sweep.method=halving', 'sweep.first=1'];
  const limited = [model, 'memory.best=2,4', 'seed=1..2', 'corrections=0', ...halved];
  const { last } = await sweep([...limited, 'sweep.limits.calls=4'], { out: 'limited', jobs: 2 });
  expect(last().usage.calls).toBe(4);
  // Two calls each, of the three that a run makes: both were cut short, and say nothing.
  expect(last()).toMatchObject({ status: 'completed', result: 'incomplete', effects: null, best: null });
  expect(last().settings.map(({ runs, returns }) => [runs, returns])).toEqual([
    [0, [null, null]],
    [0, [null, null]],
  ]);
  const more = await sweep([...limited, 'sweep.limits.calls=100'], { out: 'limited', jobs: 2 });
  expect(more.last()).toMatchObject({ status: 'completed', result: 'completed' });
  expect(more.last().usage.calls).toBe(9);
  await server.close();
});

it('policyloop sweep notes equivalent settings, and explains how to draw whole numbers', async () => {
  const { noted } = await sweep(['model.sigma=1,1.0'], { dryRun: true });
  expect(noted).toContain('sigma-1.0 is the same experiment as sigma-1; both will run');
  const drawn = ['memory.best=uniform(1,9)', 'sweep.method=random', 'sweep.samples=3'];
  await expect(sweep(drawn, { dryRun: true })).rejects.toThrow(
    /memory\.best: must be a whole number[\s\S]*for whole numbers, write 1\.\.9/,
  );
});

it.each([
  ['model.sigma=uniform(0,1),5', /model\.sigma: uniform\(0,1\): can't be combined/],
  ['environment=CartPole-v1,Acrobot-v1', /different environments/],
  ['model.sgma=1,2', /unknown key/],
  ['confirmation.candidates=0', /compared by their confirmed returns/],
  ['evaluation.episodes=0,5', /evaluation\.episodes/],
  ['limits={total: {calls: 4}},{total: {calls: 5}}', /limits\.total: can't be varied/],
  ['limits={calls: 4},{total: {calls: 5}}', /limits\.total: can't be varied/],
])('policyloop sweep refuses %s before any run starts', async (text, message) => {
  await expect(sweep([text], { out: 'refused' })).rejects.toThrow(message);
  expect(existsSync(at('refused'))).toBe(false);
});
