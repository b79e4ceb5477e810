/** A sweep with `--baselines`: which differences between a model and searches with the same budget are significant. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute } from '../../../src/commands/sweep.js';
import { createGenerator } from '../../../src/random/generator.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { baselineDifferences } from '../../../src/studies/sweep/baselines.js';
import type { SweepResult } from '../../../src/studies/sweep/sweep-result.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

// The return depends on how close both parameters (the weight and the bias) are to a target.
writeFileSync(
  at('target.js'),
  `export default {
  create: () => {
    let at = 0;
    return {
      observationSpace: { kind: 'box', low: [0], high: [1] },
      actionSpace: { kind: 'box', low: [-20], high: [20] },
      maxSteps: 2,
      reset: (seed, random) => [(at = random.uniform(0, 1))],
      step(action) {
        const missed = Math.abs(action[0] - (4 * at - 3));
        at = (at + 0.5) % 1;
        return { observation: [at], reward: -missed, terminated: false };
      },
    };
  },
};
`,
);

/** A model that proposes parameters near a place, always new ones. */
writeFileSync(
  at('model.js'),
  `export default {
  create: ({ weight, bias }) => ({
    generate(_, { seeds }) {
      const spread = () => ((seeds[0] = (48271 * (seeds[0] + 1)) % 2147483647) % 8) / 10;
      return 'params[0]: ' + (weight + spread()).toFixed(1) + ', params[1]: ' + (bias + spread()).toFixed(1);
    },
  }),
};
`,
);

const config = (model: string) => `environment: ./target.js
model: ${model}
iterations: 6
candidates: 2
warmup: 2
evaluation: { episodes: 3, workers: 1 }
confirmation: { candidates: 2, episodes: 8 }
`;

async function sweep(text: string, overrides: readonly string[], json = true) {
  writeFileSync(at('config.yaml'), text);
  const { context, printed } = recordingContext(place);
  const flags = { baselines: true, slurm: false, quiet: true, runsDir: 'buffers', json };
  const code = await execute({ ...flags, config: at('config.yaml'), overrides }, context);
  const result = json ? (JSON.parse(printed.at(-1)!) as SweepResult & { readonly out: string }) : undefined;
  return { code, result: result!, text: printed.join('\n') };
}

const verdictsOf = ({ tasks: [task] }: SweepResult) =>
  Object.fromEntries(task!.baselines.map(({ against, verdict }) => [against, verdict]));

describe('policyloop sweep --baselines', () => {
  it('judges a good model, a bad one and random search', { timeout: 400_000 }, async () => {
    const model = (weight: number, bias: number) =>
      `{provider: ./model.js, options: {weight: ${weight}, bias: ${bias}}}`;
    const models = `model=${model(3.7, -3.3)},${model(-5.9, 5.2)},{provider: random}`;
    const { code, result } = await sweep(config(model(0, 0)), [models, 'seed=1..6']);
    expect(code).toBe(0);
    const { baselines } = result.tasks[0]!;
    const told = (part: string) =>
      baselines.flatMap(({ of, against, verdict }) => (of.includes(part) ? [`${against}: ${verdict}`] : []));
    const all = (verdict: string) =>
      ['random search', 'hill climbing', 'CMA-ES', 'Gaussian process'].map((name) => `${name}: ${verdict}`);
    expect(told('3.7')).toEqual(all('higher'));
    expect(told('-5.9')).toEqual(all('lower'));
    const itself = baselines.find(
      ({ of, against }) => of.includes('provider: random') && against === 'random search',
    );
    expect(itself).toMatchObject({ difference: 0, verdict: 'no-evidence' });
    const html = readFileSync(at(result.out, 'report.html'), 'utf8');
    expect(html).toContain('differences in confirmed return are evident');
  });

  it('gives every baseline the budget, the seeds and the episodes of the model', async () => {
    const more = `critic: { model: { provider: random }, every: 2 }
corrections: 1
prompts: { layout: conversation }
memory: { best: 3, trajectories: rows }
`;
    const model = '{ provider: ./model.js, options: { weight: 1, bias: 1 } }';
    const given = ['seed=3,4', 'model.options.weight=1,2'];
    const { code, result } = await sweep(config(model) + more, given);
    expect(code).toBe(0);
    const [task] = result.tasks;
    expect(task!.settings.map(({ name }) => name)).toEqual([
      ...['weight-1', 'weight-2'],
      ...['random', 'hill-climb', 'cma-es', 'gp'].map((name) => `baseline-${name}_iterations-8`),
    ]);
    // Two settings and four baselines.
    expect(task!.baselines).toHaveLength(8);
    const warmup = (setting: string) =>
      readRun(at(result.out, setting, 'seed-4'))
        .entries.slice(0, 2)
        .map(({ parameters, returns }) => [parameters, returns]);
    for (const { baseline, name } of task!.settings) {
      expect(warmup(name)).toEqual(warmup('weight-1'));
      const { entries } = readRun(at(result.out, name, 'seed-4'));
      if (baseline !== null) expect(entries).toHaveLength(2 + 8 * 2);
      if (baseline !== null)
        expect(readManifest(at(result.out, name, 'seed-4')).model).toBe(`control/${baseline}`);
    }
    const few = await sweep(config(model) + more, given, false);
    expect(few.text).toContain('A verdict needs at least 6 seeds: run the same command with seed=1..10.');
  });

  it('compares a model that writes programs with random programs and genetic programming', async () => {
    const model = '{ provider: random }\npolicy: { kind: program }';
    const { result } = await sweep(config(model), ['iterations=1', 'seed=1']);
    expect(Object.keys(verdictsOf(result))).toEqual(['random search', 'genetic programming']);
  });
});

describe('the verdicts on baselines', () => {
  const noisy = (mean: number, stream: number) => {
    const random = createGenerator(7, [stream]);
    return Array.from({ length: 10 }, () => mean + random.random());
  };
  const task = (model: readonly number[], ...others: readonly (readonly number[])[]) => {
    const beside = others.map((_, i) => `b${i}`);
    const own = { name: 'only', label: 'model', baseline: null, beside, returns: model };
    const baselines = others.map((returns, i) => {
      const baseline = 'random' as const;
      return { name: `b${i}`, label: `b${i}`, baseline, beside: [], returns };
    });
    return { settings: [own, ...baselines], range: [-100, 100] as const };
  };

  it('are corrected for all differences of all tasks', () => {
    const close = noisy(0, 1);
    const model = close.map((value, i) => value + [0.9, -0.3, 0.8, 0.5, -0.1, 0.7, 0.6, -0.1, 0.5, 0.2][i]!);
    const alone = baselineDifferences([task(model, close)])[0]![0]!;
    expect(alone.p).toBeLessThan(0.05);
    expect(alone.verdict).toBe('higher');
    const both = [task(noisy(0, 2), noisy(0, 3), noisy(0, 4)), task(model, close)];
    expect(baselineDifferences(both)[1]![0]!).toMatchObject({ p: alone.p, verdict: 'no-evidence' });
  });

  it('are rarely significant for the same proposer with other seeds', () => {
    let found = 0;
    for (let i = 0; i < 200; i++) {
      const others = [1, 2, 3, 4].map((k) => noisy(0, 1000 * k + i));
      const [differences] = baselineDifferences([task(noisy(0, i), ...others)]);
      if (differences!.some(({ verdict }) => verdict === 'higher' || verdict === 'lower')) found++;
    }
    expect(found / 200).toBeLessThan(0.08);
  });
});
