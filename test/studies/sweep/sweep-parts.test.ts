/** The parts of a sweep that play no runs: its settings, and the effects of its keys. */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import { execute } from '../../../src/commands/sweep.js';
import { sweepSchema } from '../../../src/config/many-runs.js';
import type { Finding } from '../../../src/experiment/preflight/findings.js';
import type { RunEstimate } from '../../../src/experiment/preflight/run-estimate.js';
import { sumUsage } from '../../../src/runs/usage.js';
import { sum } from '../../../src/statistics/descriptive.js';
import { summarize } from '../../../src/statistics/paired.js';
import { effectsOf } from '../../../src/studies/sweep/effects.js';
import type { SettingFigures } from '../../../src/studies/sweep/ranking.js';
import { rankSettings } from '../../../src/studies/sweep/ranking.js';
import { overridesOf, parseSweep, sweepSettings } from '../../../src/studies/sweep/settings.js';
import { quick, recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { startFakeOpenAI } from '../../support/fake-openai.js';

const section = (value: unknown) => sweepSchema.parse(value);
const settings = (how: unknown, ...texts: readonly string[]) => {
  const read = section(how);
  return sweepSettings(read, parseSweep(read, texts).keys);
};

describe('settings', () => {
  it('of a grid cover every combination, and are named after their values', () => {
    const keys = ['model.temperature=0.2,1', 'memory.best=choice(4,8)', 'seed=1..3'];
    const found = settings({ method: 'grid' }, ...keys);
    const names = ['0.2_best-4', '0.2_best-8', '1_best-4', '1_best-8'].map((end) => `temperature-${end}`);
    expect(found.map(({ name }) => name)).toEqual(names);
    expect(found[1]!.values).toEqual({ 'model.temperature': '0.2', 'memory.best': '8' });
  });

  it('are named by full keys if short ones clash, and with a hash if a value is an object', () => {
    const found = settings({ method: 'grid' }, 'memory.best=1,2', 'other.best=1', 'other.best=3,4');
    expect(found[0]!.name).toBe('memory.best-1_other.best-3');
    const [a, b] = settings({ method: 'grid' }, 'model={provider: random},{provider: cma-es}');
    expect(a!.name).toMatch(/^model-provider-random-[0-9a-f]{8}$/);
    expect(a!.name).not.toBe(b!.name);
  });

  it('have unique names even if a value looks like the next key', () => {
    const found = settings({ method: 'grid' }, 'm.a=x,x_b-y', 'm.b=z,y_b-z');
    expect(new Set(found.map(({ name }) => name)).size).toBe(4);
  });

  it('apply an override within a section after the section itself, in whatever order they are given', () => {
    const overrides = (...texts: readonly string[]) => {
      const swept = parseSweep(undefined, texts);
      return overridesOf(sweepSettings(section({ method: 'grid' }), swept.keys)[0]!, swept.fixedOverrides);
    };
    const given = overrides('model.sigma=3', 'warmup=2', 'model={a: 1},{a: 2}');
    expect(given).toEqual(['warmup=2', 'model={a: 1}', 'model.sigma=3']);
    expect(overrides('model.sigma=3,4', 'model={a: 1},{a: 2}')).toEqual(['model={a: 1}', 'model.sigma=3']);
    expect(overrides('model={a: 1}', 'model.sigma=3,4')).toEqual(['model={a: 1}', 'model.sigma=3']);
  });

  it('drawn at random differ, and a larger sample extends a smaller one, whatever the order of the keys', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 9 }), (samples, seed) => {
        const keys = ['m.a=uniform(0,1)', 'm.b=1..4', 'm.c=loguniform(0.01,1)'];
        const drawn = settings({ method: 'random', samples, seed }, ...keys);
        const more = settings({ method: 'random', samples: samples + 5, seed }, ...keys.toReversed());
        expect(new Set(drawn.map(({ name }) => name)).size).toBe(samples);
        expect(more.slice(0, samples).map(({ values }) => values)).toEqual(drawn.map(({ values }) => values));
        for (const { values } of drawn) {
          expect(Number(values['m.c'])).toBeGreaterThanOrEqual(0.01);
          expect(Number(values['m.c'])).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 20 },
    );
    expect(() => settings({ method: 'random', samples: 9 }, 'm.b=1..4')).toThrow(/only 4 different settings/);
    expect(() => settings({ method: 'grid' }, 'm.a=1..1000', 'm.b=1..1000')).toThrow(/the maximum is 100000/);
    expect(() => settings({ method: 'grid' }, 'm.a=uniform(0,1)')).toThrow(/is drawn from a range/);
  });

  it('come from the file and the command line, which takes precedence; `key=` and null unset a key', () => {
    const how = section({
      method: 'grid',
      keys: {
        'model.temperature': [0.2, 1],
        target: [null, 200],
        seed: '1..4',
        'model.name': ['a:b', 'x, y'],
        warmup: 5,
      },
    });
    const swept = parseSweep(how, ['model.temperature=', 'memory.best=4,8']);
    expect(swept.seeds).toEqual([1, 2, 3, 4]);
    expect(swept.fixedOverrides).toEqual(['model.temperature=', 'warmup=5']);
    expect(swept.keys.map(({ key }) => key)).toEqual(['target', 'model.name', 'memory.best']);
    const [first] = sweepSettings(how, swept.keys);
    expect(overridesOf(first!, [])).toEqual(['target=', 'model.name=a:b', 'memory.best=4']);
    expect(sweepSettings(how, swept.keys).map(({ values }) => values['model.name'])).toContain('"x, y"');
  });

  it('are rejected if a sweep cannot vary their keys or seeds', () => {
    expect(() => parseSweep(undefined, ['seed=1,x'])).toThrow(/must be a list of non-negative whole numbers/);
    expect(() => parseSweep(undefined, ['slurm.tasks=2,4'])).toThrow(/slurm\.tasks: can't be varied/);
    expect(parseSweep(undefined, ['limits.calls=2,4']).keys).toHaveLength(1);
  });
});

describe('sweep --dry-run', () => {
  const place = temporaryDirectory();
  const model = { provider: 'openai', name: 'm', price: { input: 2, output: 10 } };

  async function preview(overrides: readonly string[], json: boolean) {
    const server = await startFakeOpenAI({ reply: () => '' });
    const own = { ...quick, model: { ...model, baseUrl: server.url } };
    writeFileSync(join(place, 'own.yaml'), JSON.stringify(own));
    const { context, noted, printed } = recordingContext(place);
    const how = { runsDir: 'buffers', baselines: false, quiet: false, dryRun: true, json };
    const code = await execute({ ...how, config: 'own.yaml', overrides }, context);
    expect(server.requests).toEqual([]);
    expect(readdirSync(place)).toEqual(['own.yaml']);
    return { code, noted, text: printed.join('\n') };
  }

  it('says so if nothing varies', async () => {
    const { noted } = await preview(['seed=1'], true);
    expect(noted.join()).toContain('nothing varies, so this is a single run');
  });

  it('lists the settings and adds up the estimates of all runs, but writes nothing and calls no model', async () => {
    const swept = ['memory.best=2,8', 'seed=1..3', 'sweep.limits.calls=9'];
    const { code, noted, text } = await preview(swept, true);
    expect(noted).toContain("3 seeds can't give a verdict: use at least seed=1..6 or, better, seed=1..10");
    const { runs, seeds, settings, estimate, limits } = JSON.parse(text) as {
      readonly settings: readonly {
        readonly name: string;
        readonly findings: readonly (Finding & { readonly estimate?: RunEstimate })[];
      }[];
      readonly estimate: RunEstimate;
    } & Record<string, unknown>;
    expect([code, runs, seeds, limits]).toEqual([0, 6, [1, 2, 3], { calls: 9 }]);
    expect(settings.map(({ name }) => name)).toEqual(['best-2', 'best-8']);
    const each = settings.flatMap(({ findings }) => findings.flatMap((finding) => finding.estimate ?? []));
    expect(each.map(({ calls }) => calls.expected)).toEqual([6, 6]);
    expect(estimate.calls.expected).toBe(36);
    expect(estimate.promptTokens.most).toBeCloseTo(3 * sum(each.map((one) => one.promptTokens.most)));
    expect(estimate.cost!.expected).toBeCloseTo(3 * sum(each.map((one) => one.cost!.expected)));
    expect((await preview(swept, false)).text).toMatch(
      /best-2 .*about 6 calls[\s\S]*6 runs +2 settings × 3 seeds \(1, 2, 3\): about 36 calls .*cost: .*sweep\.limits/,
    );
  });

  it('reports mistakes that would otherwise only surface in a run, and no cost of baselines', async () => {
    const { code, text } = await preview(['model.maxTokens=2,500'], false);
    expect(code).toBe(2);
    expect(text).toMatch(/error +maxTokens-2: model\.maxTokens +an answer with 10 parameters/);
    await expect(preview(['seed=1..3', 'sweep.limit.calls=9'], false)).rejects.toThrow(/unknown key/);
    expect((await preview(['model={provider: gp}', 'seed=1..2'], false)).text).toMatch(/2 runs .*no cost/);
  });
});

it('settings with more seeds rank before a lucky setting with fewer', () => {
  const figures = (name: string, ...returns: readonly number[]): SettingFigures => ({
    name,
    values: {},
    returns,
    runs: returns.length,
    over: returns.length,
    failed: 0,
    observed: null,
    baseline: null,
    comparedWith: [],
    confirmed: summarize(returns) ?? null,
    usage: sumUsage([]),
  });
  const settings = [figures('lucky', 9), figures('failed'), figures('second', 2, 4), figures('first', 3, 5)];
  expect(rankSettings(settings).map(({ name }) => name)).toEqual(['first', 'second', 'lucky', 'failed']);
});

describe('effects', () => {
  const keys = [{ key: 'a' }, { key: 'b' }];
  const seeds = 8;

  /** A grid of a × b whose return is what `of` says, with noise that all settings of a seed share. */
  const grid = (of: (first: string, second: string) => number, noise = 1) => {
    const random = createGenerator(5);
    const shared = Array.from({ length: seeds }, () => 20 * random.random());
    return ['1', '2'].flatMap((first) =>
      ['x', 'y', 'z'].map((second) => ({
        values: { a: first, b: second },
        ...{ over: seeds, failed: 0 },
        returns: shared.map((value) => value + of(first, second) + noise * (random.random() - 0.5)),
      })),
    );
  };

  it('are found in a grid despite noise shared by its settings', () => {
    const all = grid((first, second) => (first === '2' ? 7 : 0) + (second === 'z' ? -3 : 0));
    const found = effectsOf(keys, all, [-1e3, 1e3])!;
    expect(found).toMatchObject({ count: seeds });
    const [first, y, z] = found.main;
    expect(first).toMatchObject({ key: 'a', of: '2', against: '1', verdict: 'higher' });
    expect(first!.difference).toBeCloseTo(7, 0);
    expect(y).toMatchObject({ of: 'y', verdict: 'no-evidence' });
    expect(z).toMatchObject({ of: 'z', verdict: 'lower' });
    expect(found.levels).toHaveLength(5);
  });

  it('use only seeds for which every setting is complete, and have no interval for a single seed', () => {
    const holed = grid(() => 0).map((one, i) => ({
      ...one,
      returns: one.returns.map((value, seed) => (seed > 0 && i === 0 ? null : value)),
    }));
    const found = effectsOf(keys, holed, [-1e3, 1e3])!;
    expect(found.count).toBe(1);
    expect(found.main[0]).toMatchObject({ interval: null, verdict: 'too-few' });
    const none = holed.map((one) => ({ ...one, returns: [null] }));
    expect(effectsOf(keys, none, [-1, 1])).toBeNull();
  });

  it('have no verdict if the settings have different shares of failed runs', () => {
    const all = grid((first) => (first === '2' ? 7 : 0)).map((one, i) => ({ ...one, failed: i < 3 ? 1 : 0 }));
    const [first, second] = effectsOf(keys, all, [-1e3, 1e3])!.main;
    expect(first).toMatchObject({ p: null, verdict: 'not-comparable' });
    expect(first!.reason).toBe('0 of 24 runs of a=2 failed, 3 of 24 runs of a=1 failed');
    expect(second).toMatchObject({ of: 'y', verdict: 'no-evidence' });
  });
});
