import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import { execute as compareCommand } from '../../src/commands/compare.js';
import { execute as run } from '../../src/commands/run.js';
import { execute as sweepCommand } from '../../src/commands/sweep.js';
import { listLines } from '../../src/runs/listing/listing.js';
import { scanItems } from '../../src/runs/listing/scan.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import type { SweepResult } from '../../src/studies/sweep/sweep-result.js';
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
  `${short}sweep:\n  method: random\n  samples: 2\n  keys: { model.sigma: [0.5], memory: [all, { best: 2 }], seed: 3..4 }\n`,
);

type Printed = SweepResult & { readonly out: string; readonly result: string };

/** The last line, with the results of its first task. */
function lastOf(printed: readonly string[]) {
  const result = JSON.parse(printed.at(-1)!) as Printed;
  return { ...result, ...result.tasks[0]! };
}

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
    baselines: false,
    slurm: false,
    quiet: false,
    json: true,
    ...changes,
  };
  const code = await sweepCommand(args, context);
  return { code, printed, noted, last: () => lastOf(printed) };
}

const grid = ['model.sigma=0.3,2', 'seed=1..3'];

it('policyloop sweep fails if a model contributes nothing, and names the run', async () => {
  const answer = (value: number) =>
    Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(value + i / 10).toFixed(1)}`).join(', ');
  let asked = 0;
  const server = await startFakeOpenAI({
    reply: ({ model }) => (model === 'mute' ? 'No idea.' : answer(asked++ % 5)),
  });
  const model = `{ provider: openai, name: m, baseUrl: "${server.url}" }`;
  writeFileSync(at('mute.yaml'), short.replace('{ provider: hill-climb }', model));
  const again = () => sweep(['model.name=mute,able', 'seed=1'], { config: at('mute.yaml'), out: 'mute' });
  const first = await again();
  expect(first.code).toBe(1);
  expect(first.last()).toMatchObject({
    status: 'failed',
    settings: [
      { runs: 0, failed: 1, confirmed: { count: 1 } },
      { runs: 1, failed: 0 },
    ],
    failures: [
      { run: 'name-mute/seed-1', message: expect.stringMatching(/^0 proposals accepted.*“No idea\.”$/) },
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
    leftOut: [],
    tasks: [
      {
        differences: [{ verdict: 'not-comparable', reason: expect.stringContaining('1 of 1 run of') }],
        cautions: expect.arrayContaining([
          expect.stringMatching(
            /mute.*1 of 1 run failed; .* gets the lowest of this environment \(0 proposals/,
          ),
        ]),
      },
    ],
  });
});

it('policyloop sweep runs each setting and seed and shows effects; 3 jobs change no evaluation', async () => {
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

it('policyloop sweep resumes with more values and seeds, but rejects a changed config', async () => {
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

it('policyloop sweep varies the environment, and reports each environment separately', async () => {
  const given = ['environment=CartPole-v1,Acrobot-v1', 'model.provider=random,hill-climb', 'seed=1..3'];
  const { code, last, printed } = await sweep(given, { out: 'tasks' });
  expect(code).toBe(0);
  expect(printed).toHaveLength(12 + 1);
  expect(
    last().tasks.map(({ environment, settings }) => [environment, settings.map(({ runs }) => runs)]),
  ).toEqual([
    ['CartPole-v1', [3, 3]],
    ['Acrobot-v1', [3, 3]],
  ]);
  for (const { best, effects, settings } of last().tasks) {
    expect(settings.map(({ name }) => name)).toContain(best);
    expect(effects!.main).toMatchObject([{ key: 'model.provider', of: 'hill-climb', against: 'random' }]);
  }
  const text = await sweep(given, { out: 'tasks', json: false });
  expect(text.printed.join('\n')).toMatch(/CartPole-v1[\s\S]*Effects[\s\S]*Acrobot-v1[\s\S]*Effects/);
  expect(readFileSync(at('tasks', 'report.html'), 'utf8')).toContain('["h3",{},"Acrobot-v1"]');
});

it('a sweep is one row in the list and in the view', async () => {
  await sweep(['model.sigma=1,2', 'iterations=1'], { out: 'buffers/row' });
  const { lines } = listLines({ cwd: place, runsDir: 'buffers' });
  expect(lines.map(({ name, places }) => `${name} ${places.length}`)).toContain('row 2');
  const items = scanItems([{ path: at('buffers'), prefix: '' }]);
  expect(items.get('row')!.item).toMatchObject({ kind: 'sweep', status: 'completed', done: 2, of: 2 });
});

it('policyloop sweep reads the sweep section of a config, which policyloop run rejects', async () => {
  const { last } = await sweep([], { config: at('section.yaml'), out: 'section' });
  expect(last()).toMatchObject({ method: 'random', seeds: [3, 4] });
  expect(
    last()
      .settings.map(({ values }) => values.memory!)
      .toSorted(),
  ).toEqual(['all', '{ best: 2 }']);
  const { context } = recordingContext(place);
  const args = { runsDir: 'buffers', dryRun: false, quiet: true, json: true };
  await expect(run({ ...args, config: at('section.yaml'), overrides: [] }, context)).rejects.toThrow(
    /section\.yaml:7:1: sweep: this config describes many runs[\s\S]*policyloop sweep/,
  );
  await expect(run({ ...args, config: at('pole.yaml'), overrides: ['seed=1..3'] }, context)).rejects.toThrow(
    /seed: lists several values[\s\S]*policyloop sweep/,
  );
});

it('policyloop sweep reports failures, and continues with the other settings', async () => {
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
  const how = ['environment=./bad.js', 'seed=1..2'];
  const some = await sweep([...how, 'environment.options.bad=false,true,null'], { out: 'some-failed' });
  expect(some.code).toBe(1);
  expect(some.last()).toMatchObject({ status: 'failed', result: 'incomplete' });
  expect(some.last().failures).toMatchObject([{ run: 'bad-true/seed-1' }]);
  expect(some.last().settings.map(({ runs }) => runs)).toEqual([2, 0, 2]);
  expect(readFileSync(at('some-failed', 'report.html'), 'utf8')).not.toContain('<b>out of order');
  const text = await sweep([...how, 'environment.options.bad=false,true,null'], {
    out: 'some-failed',
    json: false,
  });
  expect(text.printed.join('\n')).toMatch(
    /failed {6}bad-true\/seed-1: [^\n]*out of order[^\n]*\nruns {8}4 runs complete/,
  );
  const all = await sweep([...how, 'environment.options.bad=true'], { out: 'all-failed' });
  expect({ code: all.code, runs: all.last().settings[0]!.runs }).toEqual({ code: 1, runs: 0 });
});

it('the runs of a sweep share its call limit', async () => {
  const values = Array.from({ length: 10 }, (_, i) => `params[${i}]: 0.5`).join(', ');
  const server = await startFakeOpenAI({ reply: () => values });
  const model = `model={provider: openai, name: scripted, baseUrl: "${server.url}"}`;
  const limited = [model, 'memory.best=2,4', 'seed=1..2', 'corrections=0'];
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
  expect(more.last().usage.calls).toBe(12);
});

it('policyloop sweep notes equivalent settings, and explains how to draw whole numbers', async () => {
  const { noted } = await sweep(['model.sigma=1,1.0'], { out: 'equivalent' });
  expect(noted).toContain('sigma-1.0 is the same experiment as sigma-1; both will run');
  const ignored = await sweep(['memory.best=1,2'], { out: 'ignored' });
  expect(ignored.noted.join()).toMatch(/best-2 is .* as best-1, because baselines ignore memory/);
  const drawn = ['memory.best=uniform(1,9)', 'sweep.method=random', 'sweep.samples=3'];
  await expect(sweep(drawn)).rejects.toThrow(
    /memory\.best=.*: must be a whole number[\s\S]*for whole numbers, write 1\.\.9/,
  );
});

it.each([
  ['environment=CartPole-v1,Acrobat-v1', /environment: unknown environment[\s\S]*did you mean `Acrobot-v1`/],
  ['environment=CartPole-v1,Pendulum-v1 policy.kind=q-table', /a Q-table for CartPole-v1 needs bins/],
  ['model.sgma=1,2', /unknown key/],
  ['confirmation.candidates=0', /compared by their confirmed returns/],
  ['evaluation.episodes=0,5', /evaluation\.episodes/],
  ['sweep.samples=3', /sweep\.samples=3: applies only to method random/],
  ['sweep.method=random', /sweep\.samples: missing/],
])('policyloop sweep rejects %s before any run starts', async (text, message) => {
  await expect(sweep(text.split(/ (?=policy)/), { out: 'refused' })).rejects.toThrow(message);
  expect(existsSync(at('refused'))).toBe(false);
});
