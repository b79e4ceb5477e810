import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { UserError } from '../../src/base/errors.js';
import { execute as compareCommand } from '../../src/commands/compare.js';
import { mean, median } from '../../src/statistics/descriptive.js';
import { unpairedTest } from '../../src/statistics/tests.js';
import type { RunComparison } from '../../src/studies/comparison/run-comparison.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { type WrittenRun, writeRun } from '../support/written-runs.js';
import { chartIn, elementsOf, visibleText } from '../web/shown.js';

type CompareArguments = Parameters<typeof compareCommand>[0];

const place = temporaryDirectory();

/** Each test has its own directory. */
let made = 0;
function folder() {
  const name = `case-${++made}`;
  const at = (...parts: readonly string[]) => join(place, name, ...parts);
  mkdirSync(at(), { recursive: true });
  return {
    at,
    /** One run a value, seeds from `firstSeed` on. */
    group(prefix: string, confirmed: readonly number[], run: Partial<WrittenRun> = {}, firstSeed = 0) {
      confirmed.forEach((value, i) => {
        writeRun(at(`${prefix}-${i}`), { confirmed: value, ...run, seed: firstSeed + i });
      });
    },
  };
}

async function compare(runs: readonly string[], changes: Partial<CompareArguments> = {}) {
  const recorded = recordingContext(place);
  const code = await compareCommand(
    { runs, runsDir: 'buffers', unfinished: false, json: true, ...changes },
    recorded.context,
  );
  expect(code).toBe(0);
  return {
    text: recorded.printed.join('\n'),
    parsed: () => JSON.parse(recorded.printed.at(-1)!) as RunComparison,
  };
}

const climbing = { config: { model: { provider: 'hill-climb' } } } as const;
const low = [10, 14, 9, 12, 11, 13, 8, 12];
const high = low.map((value, i) => value + 5 + (i % 3));

describe('compare', () => {
  it('groups runs by config, pairs them by seed, and identifies the better group', async () => {
    const { at, group } = folder();
    group('b', high, climbing);
    group('a', low);
    const { tasks, tested, leftOut } = (await compare([at()])).parsed();
    expect(leftOut).toEqual([]);
    expect(tested).toBe(1);
    expect(tasks).toHaveLength(1);
    const [random, climb] = tasks[0]!.groups;
    expect([random!.name, climb!.name]).toEqual(['random', 'hill-climb']);
    expect(random!.confirmed).toMatchObject({ count: 8, mean: mean(low), median: median(low) });
    for (const interval of [random!.confirmed!.meanInterval!, random!.confirmed!.medianInterval!]) {
      expect(interval[0]).toBeLessThan(11);
      expect(interval[1]).toBeGreaterThan(11.5);
    }
    expect(tasks[0]!.differences).toMatchObject([
      { of: 'hill-climb', against: 'random', test: 'paired', counts: [8], winRate: 1, verdict: 'higher' },
    ]);
    expect(tasks[0]!.differences[0]!.difference).toBeCloseTo(mean(high) - mean(low), 12);
    expect(tasks[0]!.cautions).toEqual([]);
    const { text } = await compare([at()], { json: false });
    expect(text).toContain('Higher: hill-climb − random is +5.875 in confirmed return');
  });

  it('uses an unpaired test if seeds differ, and gives no verdict if there are too few runs', async () => {
    const { at, group } = folder();
    group('a', low);
    group('b', high, climbing, 100);
    const [difference] = (await compare([at()])).parsed().tasks[0]!.differences;
    const expected = unpairedTest(high, low, [1, 500]);
    expect(difference).toMatchObject({ test: 'unpaired', counts: [8, 8], winRate: null, verdict: 'higher' });
    expect(difference!.p).toBeCloseTo(expected.p, 12);
    expect(difference!.interval).toEqual(expected.interval);

    const few = folder();
    few.group('a', low.slice(0, 5));
    few.group('b', [900, 901, 902, 903, 904], climbing);
    few.group('c', [900, 901, 902, 903, 904], { config: { model: { provider: 'cma-es' } } }, 50);
    const { parsed } = await compare([few.at()]);
    expect(parsed().tested).toBe(0);
    expect(parsed().tasks[0]!.differences.map(({ verdict, p, test }) => [test, verdict, p])).toEqual([
      ['paired', 'too-few', null],
      ['unpaired', 'too-few', null],
      ['unpaired', 'too-few', null],
    ]);
    const { text } = await compare([few.at('a-*'), few.at('b-*')], { json: false });
    expect(text).toContain('Too few pairs for a verdict: hill-climb − random');
    expect(text).toContain('at least 6 pairs are needed');
  });

  it('corrects for the number of differences, which --against reduces', async () => {
    const { at, group } = folder();
    // By itself p = 0.025.
    const shifted = low.map((value, i) => value + [1, 2, 0.2, 1.5, -1, 1.4, 2, 0.9][i]!);
    group('a', low);
    group('b', shifted, climbing);
    const alone = (await compare([at()])).parsed().tasks[0]!.differences[0]!;
    expect(alone).toMatchObject({ verdict: 'higher', adjusted: alone.p });
    const jittered = low.map((value, i) => value + (i % 2 === 0 ? 0.1 : -0.1));
    group('c', jittered, { config: { model: { provider: 'cma-es' } } });
    const together = (await compare([at()])).parsed();
    expect(together.tested).toBe(3);
    const same = together.tasks[0]!.differences[0]!;
    expect(same).toMatchObject({ of: 'hill-climb', against: 'random', p: alone.p, verdict: 'no-evidence' });
    expect(same.interval).toEqual(alone.interval);
    expect(same.adjusted).toBeGreaterThan(0.05);

    const { tasks, tested } = (await compare([at()], { against: 'hill-climb' })).parsed();
    const pairs = tasks[0]!.differences.map(({ against, of }) => `${of} − ${against}`);
    expect([tested, ...pairs]).toEqual([2, 'random − hill-climb', 'cma-es − hill-climb']);
    await expect(compare([at()], { against: 'hill' })).rejects.toThrow(
      /--against: no group of CartPole-v1 has this name[\s\S]*random, hill-climb, cma-es/,
    );
  });

  it('never pools different environments, or one environment with different options', async () => {
    const { at, group } = folder();
    group('a', low);
    group('b', low, { config: { environment: 'FrozenLake-v1' } });
    group('c', low, { config: { environment: { id: 'FrozenLake-v1', options: { is_slippery: false } } } });
    const { tasks } = (await compare([at()], { by: 'model' })).parsed();
    const names = tasks.map(({ name }) => name);
    expect(names).toEqual(['CartPole-v1', 'FrozenLake-v1 {}', 'FrozenLake-v1 {"is_slippery":false}']);
    expect(tasks.map(({ groups, differences }) => [groups.length, differences.length])).toEqual(
      Array.from({ length: 3 }, () => [1, 0]),
    );
  });

  it('leaves out unfinished, damaged and duplicate runs, and lists them', async () => {
    const { at, group } = folder();
    group('a', low);
    writeRun(at('a-crash'), { seed: 50, status: 'running', scores: [1, 2, 3] });
    writeRun(at('a-twice'), { seed: 3, confirmed: 99 });
    writeRun(at('a-broken'), { seed: 51 });
    writeFileSync(at('a-broken', 'manifest.json'), '{');
    const first = (await compare([at()])).parsed();
    expect(first.tasks[0]!.groups[0]!.runs).toHaveLength(8);
    expect(first.leftOut.map(({ run, reason }) => [run.split('/').at(-1), reason])).toEqual([
      ['a-broken', expect.stringContaining('not valid JSON')],
      ['a-crash', 'crashed after 1 iteration'],
      ['a-twice', expect.stringMatching(/^same config and seed as .*a-3$/)],
    ]);
    const all = (await compare([at()], { unfinished: true, by: 'model' })).parsed();
    expect(all.tasks[0]!.groups[0]!.runs).toHaveLength(9);
    expect(all.tasks[0]!.groups[0]!.confirmed!.count).toBe(8);
    expect(all.tasks[0]!.cautions.join('\n')).toMatch(/1 of 9 runs unfinished; .* \(crashed\)/);
    await expect(compare([at('a-crash')])).rejects.toThrow(
      /none of these runs is complete[\s\S]*--unfinished/,
    );
    await expect(compare([at('a-broken')])).rejects.toThrow(
      /none of these runs can be read[\s\S]*policyloop show/,
    );
    await expect(compare([at('no*')])).rejects.toThrow(UserError);
    await expect(compare([at('nowhere')])).rejects.toThrow(/^no such run: /);
  });

  it('gives failed runs the lowest return, and gives no verdict if the shares of failed runs differ', async () => {
    const { at, group } = folder();
    group('a', low);
    group('b', high.slice(0, 6), climbing);
    const reason = { kind: 'no-proposals', message: 'none' } as const;
    for (const seed of [6, 7])
      writeRun(at(`b-failed-${seed}`), { seed, status: 'failed', reason, ...climbing });
    const [task] = (await compare([at()])).parsed().tasks;
    const [, climb] = task!.groups;
    expect(climb!.confirmed).toMatchObject({ count: 8, mean: mean([...high.slice(0, 6), 8, 8]) });
    const why = '2 of 8 runs of hill-climb failed, 0 of 8 runs of random failed';
    expect(task!.differences).toMatchObject([
      { counts: [8], p: null, verdict: 'not-comparable', reason: why },
    ]);
    expect(task!.cautions.join()).toMatch(/hill-climb: 2 of 8 runs failed; .* gets the lowest/);
    for (const seed of [8, 9]) writeRun(at(`a-failed-${seed}`), { seed, status: 'failed', reason });
    for (const [i, seed] of [8, 9].entries())
      writeRun(at(`b-more-${seed}`), { seed, confirmed: high[i]!, ...climbing });
    const [even] = (await compare([at()])).parsed().tasks;
    expect(even!.differences[0]!.counts).toEqual([10]);
    expect(even!.differences[0]!.verdict).toMatch(/higher|no-evidence/);
  });

  it('does not test returns that are not comparable, and warns of different settings', async () => {
    const { at, group } = folder();
    group('a', low);
    group('b', high, { config: { ...climbing.config, evaluation: { maxSteps: 50 } } });
    const refused = (await compare([at()])).parsed();
    expect(refused.tested).toBe(0);
    expect(refused.tasks[0]!.differences).toMatchObject([
      { test: 'none', verdict: 'not-comparable', difference: null, reason: 'evaluation.maxSteps differs' },
    ]);
    expect(refused.tasks[0]!.cautions.join('\n')).toMatch(
      /maxSteps differs: 1000 \(random\), 50 \(hill-climb\)/,
    );

    const other = folder();
    other.group('a', low);
    const shorter = { evaluation: { episodes: 5 }, confirmation: { episodes: 7 } };
    other.group('b', high, { config: { ...climbing.config, iterations: 9, corrections: 0, ...shorter } });
    const [task] = (await compare([other.at()])).parsed().tasks;
    // The same seeds met other episodes.
    expect(task!.differences[0]).toMatchObject({ test: 'unpaired', verdict: 'higher' });
    const said = task!.cautions.join('\n');
    for (const part of [
      'evaluation.episodes differs: 20 (random), 5 (hill-climb)',
      'confirmation.episodes differs: 100 (random), 7 (hill-climb)',
      'budget in evaluations differs: 4 (random), 11 (hill-climb)',
      'corrections differs: ',
    ]) {
      expect(said).toContain(part);
    }
    expect(task!.horizon).toBe(4);
  });

  it('names groups by the keys that differ, and groups runs by other keys on request', async () => {
    const { at, group } = folder();
    const model = { provider: 'openai', name: 'large', apiKeyEnv: 'KEY' } as const;
    const served = { model: 'openai/large', prompts: 'x' };
    for (const [prefix, set, temperature] of [
      ['a', 'numeric', 0],
      ['b', 'semantic', 0],
      ['c', 'semantic', 1],
    ] as const) {
      const config = { model: { ...model, temperature, concurrency: temperature + 1 }, prompts: { set } };
      group(prefix, low, { ...served, config });
    }
    const names = async (by?: string) =>
      (await compare([at()], by === undefined ? {} : { by }))
        .parsed()
        .tasks[0]!.groups.map(({ name }) => name);
    expect(await names()).toEqual([
      'openai/large, numeric, model.temperature 0',
      'openai/large, semantic, model.temperature 0',
      'openai/large, semantic, model.temperature 1',
    ]);
    expect(await names('prompts.set')).toEqual(['numeric', 'semantic']);
    const [task] = (await compare([at()], { by: 'prompts' })).parsed().tasks;
    const [numeric, semantic] = task!.groups;
    expect([numeric!.runs.length, semantic!.runs.length, semantic!.confirmed!.count]).toEqual([8, 16, 8]);
    expect(task!.cautions.join('\n')).toMatch(/mixes runs with different model.temperature/);
    await expect(names('prompt.set')).rejects.toThrow(
      /--by: none of these runs' configs has this key[\s\S]*prompts\.set/,
    );
    await expect(names('seed')).rejects.toThrow(/figures are averages over seeds/);
  });

  it('averages the best so far over the budgeted evaluations, and censors runs that miss the target', async () => {
    const { at } = folder();
    const config = { iterations: 4 } as const;
    const target = { reason: { kind: 'target', return: 30 } } as const;
    // Best so far: 1 2 2 30, then kept; the rejected one spends an evaluation.
    writeRun(at('a-1'), { seed: 1, confirmed: 1, scores: [1, 2, null, 30], config, ...target });
    writeRun(at('a-2'), { seed: 2, confirmed: 2, scores: [4, 2, 6, 5, 7, 40], config });
    const spent = { tokens: 900, cost: 0.5 };
    writeRun(at('a-3'), { seed: 3, confirmed: 3, scores: [50, 2, 6, 5, 7, 9], config, ...spent });
    const result = (await compare([at()], { target: 30 })).parsed();
    const group = result.tasks[0]!.groups[0]!;
    const areas = group.runs.map(({ area }) => area);
    expect(areas).toEqual([(1 + 2 + 2 + 30 + 30 + 30) / 6, (4 + 4 + 6 + 6 + 7 + 40) / 6, 50]);
    expect(group.target).toEqual({
      return: 30,
      hold: 1,
      reached: 2,
      of: 3,
      medianIterations: 4,
      medianEvaluations: 6,
      censoredAfter: 4,
    });
    expect(group).toMatchObject({ tokens: 300, cost: null });
    expect(result.tasks[0]!.cautions[0]).toMatch(
      /1 of 3 runs ended before the last iteration, so budgets differ \(target 30/,
    );
    const none = await compare([at()], { target: 41, json: false });
    expect(none.text).toMatch(/random .*41\.00 +0 of 3 +> 4 +–/);
    expect((await compare([at()])).parsed().tasks[0]!.groups[0]!.target).toBeNull();
  });

  it('prints tables for other programs, and writes a page with links and escaped model names', async () => {
    const { at, group } = folder();
    group('a', low);
    group('b', high, { ...climbing, model: 'openai/<script>,"x"' });
    const { text: csv } = await compare([at()], { format: 'csv', html: at('t.html'), json: false });
    const lines = csv.split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^environment,options,group,runs,seeds,confirmed_mean,/);
    expect(lines[1]).toMatch(/^CartPole-v1,\{\},random,8,0 1 2 3 4 5 6 7,11\.125,/);
    expect(lines[2]).toContain('"openai/<script>,""x"""');
    const { text: latex } = await compare([at()], { format: 'latex', json: false });
    expect(latex).toContain('group & runs & confirmed & 95 \\% interval & median');
    expect(latex).toContain('openai/$<$script$>$,"x" & 8 & 17.00 & ');
    expect(latex).toMatch(/random \$-\$|\$-\$ random/);
    const { text: markdown } = await compare([at()], { format: 'markdown', json: false });
    expect(markdown).toMatch(/^### CartPole-v1\n\n\| group \| runs \| confirmed \| 95 % interval \|/);
    const page = readFileSync(at('t.html'), 'utf8');
    const elements = elementsOf(page);
    expect(page.match(/<script/g)).toHaveLength(2);
    expect(chartIn(page).series.map(({ values }) => values.at(-1))).toEqual([40, 40]);
    expect(elements.some(({ attributes }) => attributes.href === './a-0/report.html')).toBe(true);
    const text = visibleText(page);
    expect(text).toContain('Higher: openai/<script>,"x" − random is +5.875 in confirmed return');
  });
});
