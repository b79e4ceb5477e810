import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import type { CommandContext } from '../../src/base/context.js';
import { execute as modelsCompare } from '../../src/commands/models/compare.js';
import { execute as run } from '../../src/commands/run.js';
import { readManifest, readRun } from '../../src/runs/reader.js';
import type { ModelsResult } from '../../src/studies/models/models-result.js';
import { Items } from '../../src/view/items.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import { expectSchema } from '../support/output-schema.js';

type Args = Parameters<typeof modelsCompare>[0];

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

const text = (values: readonly number[]) => values.map((v, i) => `params[${i}]: ${v.toFixed(1)}`).join(', ');

/** Replies by the name of the model: the seed of a call fixes what `random` proposes. */
const server = await startFakeOpenAI({
  reply: ({ messages, model, seed = 0 }) => {
    const prompt = messages.map(({ content }) => content).join('\n');
    const shown = /params\[0\]: -?[\d.]+[^\n]*?params\[7\]: -?[\d.]+/.exec(prompt)?.[0];
    const isCorrected = messages.length > 2;
    const drawn = Array.from({ length: 8 }, (_, i) => ((((seed + 1) * (i + 3) * 7919) % 121) - 60) / 10);
    if (model === 'repeats') return shown!.replaceAll(';', ',');
    if (model === 'second' && !isCorrected) return 'I would go left.';
    if (model === 'good') return text([0, 0, -1, 1, -3, 3, -3, 3]);
    return text(drawn);
  },
  models: ['random', 'repeats', 'second', 'good'],
});
afterAll(() => server.close());

writeFileSync(
  at('pole.yaml'),
  `environment: CartPole-v1
policy: { kind: linear, bias: false }
model: { provider: openai, name: random, baseUrl: "${server.url}", price: { input: 1, output: 2 } }
warmup: 3
corrections: 1
evaluation: { episodes: 2, maxSteps: 60 }
`,
);

type Printed = Omit<ModelsResult, 'status'> & { readonly status: string; readonly result: string };

async function compare(
  overrides: readonly string[],
  changes: Partial<Args> = {},
  { onPrint, ...outside }: Partial<CommandContext> & { readonly onPrint?: () => void } = {},
) {
  const { context, printed } = recordingContext(place);
  const args: Args = {
    ...{ config: at('pole.yaml'), overrides, histories: 4, baselines: 'random,hill-climb,gp' },
    ...{ runsDir: 'buffers', replay: false, quiet: true, json: true },
    ...changes,
  };
  const print = (line: string) => {
    context.print(line);
    onPrint?.();
  };
  const code = await modelsCompare(args, { ...context, ...outside, print });
  if (args.json) expectSchema('models compare', printed);
  return { code, printed, last: () => JSON.parse(printed.at(-1)!) as Printed };
}

const figures = (result: Printed, label: string) => result.contestants.find((one) => one.label === label)!;
const all = 'model.name=random,repeats,second,good';

it('models compare gives models and baselines the same histories, and counts their results', async () => {
  const { code, last, printed } = await compare([all], { out: 'all', histories: 6 });
  expect(code).toBe(0);
  expect(printed).toHaveLength(7 * 6 + 1);
  const result = last();
  expect(result).toMatchObject({ status: 'completed', result: 'completed', failures: [] });
  expect(figures(result, 'random').valid).toEqual({ first: 6, corrected: 0 });
  expect(figures(result, 'second')).toMatchObject({
    ...{ valid: { first: 0, corrected: 6 }, replies: 12, repeats: 0, failures: { missing: 6 } },
  });
  // A model that only repeats never improves, and that is no failure of the comparison.
  expect(figures(result, 'repeats')).toMatchObject({
    ...{ histories: 6, valid: { first: 0, corrected: 0 }, improved: { count: 0, of: 6 }, beats: null },
    costPerImprovement: null,
  });
  expect(figures(result, 'repeats').improved.interval[1]).toBeCloseTo(0.459, 3);
  expect(figures(result, 'good').beats!.mean).toBeGreaterThan(0.8);
  // One that draws at random is not told from the baseline that does.
  const chance = result.differences.find(
    ({ of, against }) => of === 'random' && against === 'random search',
  )!;
  expect(chance.verdict).toBe('no-evidence');
  expect(chance.interval![0]).toBeLessThanOrEqual(0);
  expect(chance.interval![1]).toBeGreaterThanOrEqual(0);
  // The same warm-up for all, and a proposal on the same episodes.
  const directory = ({ label }: { readonly label: string }) =>
    at('all', figures(result, label).name, 'seed-0');
  const history = (label: string) =>
    readRun(directory({ label })).entries.filter((one) => one.iteration === 0);
  expect(history('good')).toEqual(history('Gaussian process'));
  const { cost, costPerImprovement, improved } = figures(result, 'good');
  expect(costPerImprovement).toBeCloseTo(cost! / improved.count, 12);
  const own = result.proposals.find((one) => one.contestant === figures(result, 'good').name)!;
  const { entries } = readRun(at('all', own.run));
  expect(own.return).toBe(entries.at(-1)!.score);
  expect(own.best).toBe(Math.max(...entries.slice(0, -1).map(({ score }) => score)));
  expect(readFileSync(at('all', 'report.html'), 'utf8')).toContain('Proposals and effort');
});

it('models compare resumes with more models and histories, and replays results without calls', async () => {
  const stop = new AbortController();
  const finish = { finish: stop.signal, abort: new AbortController().signal };
  const some = ['model.name=random,good'];
  const first = await compare(
    some,
    { out: 'halted', histories: 2 },
    { stop: finish, onPrint: () => stop.abort() },
  );
  expect(first.code).toBe(130);
  expect(existsSync(at('halted', 'report.html'))).toBe(true);
  const before = server.requests.length;
  const resumed = await compare([all], { out: 'halted', histories: 3 });
  expect(resumed.last()).toMatchObject({ result: 'completed' });
  // Models that are right at once, and those that need a correction; the first call was made before.
  expect(server.requests.length - before).toBe(2 * 3 + 2 * 2 * 3 - 1);
  const whole = await compare([all], { out: 'whole', histories: 3 });
  const measured = ({ proposals }: Printed) => proposals.map(({ seconds: _, ...rest }) => rest);
  expect(measured(resumed.last())).toEqual(measured(whole.last()));

  const asked = server.requests.length;
  rmSync(at('whole', 'report.html'));
  const good = figures(whole.last(), 'good').name;
  for (const [i, seed] of ['seed-0', whole.last().histories[1]!.name].entries()) {
    const calls = at('whole', good, seed, 'calls.jsonl');
    const accepted = '"outcome":{"kind":"accepted",';
    const predicting = readFileSync(calls, 'utf8').replace(accepted, `${accepted}"predicted":${i + 10},`);
    writeFileSync(calls, predicting);
  }
  const shown = await compare([all], { out: 'whole', histories: 3, replay: true });
  const { predictions, ...same } = figures(shown.last(), 'good');
  expect({ ...same, predictions: null }).toEqual(figures(whole.last(), 'good'));
  const returns = shown.last().proposals.filter(({ contestant }) => contestant === good);
  const errors = returns.slice(0, 2).map(({ return: own }, i) => i + 10 - own!);
  expect(predictions).toMatchObject({ count: 2, bias: (errors[0]! + errors[1]!) / 2 });
  expect(existsSync(at('whole', 'report.html'))).toBe(true);
  expect(server.requests.length).toBe(asked);
  await expect(compare([all], { out: 'nothing', replay: true })).rejects.toThrow(
    /contains no recorded results/,
  );
  await expect(compare([...some, 'warmup=2'], { out: 'whole' })).rejects.toThrow(/--out: contains runs of/);
  const items = new Items([{ path: place, prefix: '' }]);
  items.look();
  expect(items.find('whole')!.item).toMatchObject({ kind: 'models', of: 7 * 3 });
});

it('models compare stops at the total call limit, and excludes incomplete histories', async () => {
  const limited = await compare(['model.name=random,second', 'limits.total.calls=5'], {
    ...{ out: 'limited', baselines: '' },
  });
  const result = limited.last();
  expect(result).toMatchObject({ status: 'completed', result: 'incomplete' });
  // A history takes one call and two; the correction of the second history is the sixth.
  const answered = ({ contestants }: Printed) => contestants.map((one) => [one.histories, one.replies]);
  expect(answered(result)).toEqual([
    [2, 2],
    [1, 2],
  ]);
  const more = await compare(['model.name=random,second', 'limits.total.calls=40'], {
    ...{ out: 'limited', baselines: '' },
  });
  expect(answered(more.last())).toEqual([
    [4, 4],
    [3, 6],
  ]);
});

it('models compare proposes from recorded runs, up to a given iteration', async () => {
  const { context } = recordingContext(place);
  const args = { runsDir: 'buffers', dryRun: false, quiet: true, json: true };
  const overrides = ['model.provider=random', 'iterations=5', 'confirmation.candidates=0'];
  await run({ ...args, config: at('pole.yaml'), overrides, runDir: at('buffers', 'old') }, context);
  const { last } = await compare(['model.name=random,good'], {
    out: 'from',
    from: 'old@2,old',
    histories: 1,
  });
  const { contestants, histories } = last();
  expect(histories).toEqual([
    { name: 'seed-0', kind: 'random' },
    { name: 'old-2', kind: 'recorded' },
    { name: 'old-5', kind: 'recorded' },
  ]);
  expect(contestants[0]!.improvedBy).toMatchObject({ random: { of: 1 }, recorded: { of: 2 } });
  const known = (history: string) =>
    readRun(at('from', contestants[1]!.name, history)).entries.filter(({ iteration }) => iteration === 0);
  const old = readRun(at('buffers', 'old')).entries.map(({ parameters }) => parameters);
  expect(known('old-2').map(({ parameters }) => parameters)).toEqual(old.slice(0, 3 + 2));
  expect(known('old-5')).toHaveLength(3 + 5);
  await expect(compare([all], { from: 'old@9' })).rejects.toThrow(/--from: that run has 5 complete iter/);
});

it('models compare continues when a model does not answer, and retries it when repeated', async () => {
  const down = 'model={provider: openai, name: lost, baseUrl: "http://127.0.0.1:9", maxRetries: 0}';
  const models = `${down},{provider: openai, name: good, baseUrl: "${server.url}"}`;
  const first = await compare([models], { out: 'down', histories: 2, baselines: '' });
  expect(first.code).toBe(1);
  expect(first.last()).toMatchObject({ status: 'failed', result: 'incomplete' });
  expect(first.last().contestants.map(({ histories, label }) => `${label} ${histories}`)).toEqual([
    'lost 0',
    'good 2',
  ]);
  const lost = first.last().failures[0]!.run;
  const created = readManifest(at('down', lost)).created;
  await compare([models], { out: 'down', histories: 2, baselines: '' }, { now: () => new Date(2030, 0) });
  expect(readManifest(at('down', lost)).created).not.toBe(created);
});

it('models compare prints a table, and refuses the path of a missing model file', async () => {
  const { printed } = await compare(['model.name=random,good'], { out: 'table', json: false, histories: 6 });
  const shown = printed.join('\n');
  expect(shown).toMatch(/^good +6 of 6 +0 +0 of 6 +\d of 6/m);
  expect(shown).toMatch(/^random search \(baseline\) /m);
  expect(shown).toMatch(/^(No evidence that a model|good improves more often than)/m);
  await expect(
    compare(['model.path=./a.gguf,./b.gguf', 'model.name=good,random'], { out: 'paths' }),
  ).rejects.toThrow(/model\.path: there is no such file \(a\.gguf\)/);
  expect(existsSync(at('paths'))).toBe(false);
});

it.each([
  ['iterations=3', {}, /iterations: can't be overridden here[\s\S]*--histories/],
  ['warmup=2,3', {}, /warmup: can't vary: all contestants/],
  ['seed=1..3', {}, /seed: must be a single number/],
  ['warmup=0', {}, /warmup\.policies[\s\S]*would be empty/],
  ['seed=1', { histories: 0 }, /--histories: there are no histories/],
  ['seed=1', { baselines: 'chance' }, /--baselines: unknown baseline/],
])('models compare refuses %s %j', async (override, changes, message) => {
  await expect(compare([override], { out: 'refused', ...changes })).rejects.toThrow(message);
  expect(existsSync(at('refused'))).toBe(false);
});
