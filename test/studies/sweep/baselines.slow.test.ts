/** A sweep with `--baselines`: which differences between a model and searches with the same budget are significant. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createGenerator } from '../../../src/base/random/generator.js';
import { execute } from '../../../src/commands/sweep.js';
import { readManifest, readRun } from '../../../src/runs/reader.js';
import { compareWithBaselines } from '../../../src/studies/sweep/baselines.js';
import type { SweepResult } from '../../../src/studies/sweep/sweep-result.js';
import { recordingContext, temporaryDirectory } from '../../support/experiments.js';
import { figures } from './sweeps.js';

const place = temporaryDirectory();
const at = (...parts: readonly string[]) => join(place, ...parts);

// The return depends on how close the four parameters (three weights and the bias) are to a target.
writeFileSync(
  at('target.js'),
  `export default {
  create: () => {
    let x;
    return {
      observationSpace: { kind: 'box', low: [0, 0, 0], high: [1, 1, 1] },
      actionSpace: { kind: 'box', low: [-50], high: [50] },
      maxSteps: 1,
      reset: (seed, random) => (x = [random.uniform(0, 1), random.uniform(0, 1), random.uniform(0, 1)]),
      step: ([action]) => ({
        observation: x,
        reward: -Math.abs(action - (4 * x[0] - 3 * x[1] + 2 * x[2] - 1)),
        terminated: true,
      }),
    };
  },
};
`,
);

/** A model that proposes parameters near a place, always new ones. */
writeFileSync(
  at('model.js'),
  `export default {
  create: ({ near }) => ({
    generate(_, { seeds }) {
      const spread = () => ((seeds[0] = (48271 * (seeds[0] + 1)) % 2147483647) % 4) / 10;
      return near.map((value, i) => 'params[' + i + ']: ' + (value + spread()).toFixed(1)).join(', ');
    },
  }),
};
`,
);

const near = (...place: readonly number[]) =>
  `{ provider: ./model.js, options: { near: [${place.join(', ')}] } }`;

const config = (model: string) => `environment: ./target.js
model: ${model}
iterations: 16
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
  it('rates a good model higher and a bad model lower than all baselines', { timeout: 400_000 }, async () => {
    const models = `model=${near(3.9, -3.1, 1.9, -1.1)},${near(-5.9, -5.9, -5.9, -5.9)}`;
    const { code, result } = await sweep(config(near(0, 0, 0, 0)), [
      models,
      ...['seed=1..9', 'iterations=6', 'warmup=0'],
    ]);
    expect(code).toBe(0);
    const { baselines } = result.tasks[0]!;
    const told = (part: string) =>
      baselines.flatMap(({ of, against, verdict }) => (of.includes(part) ? [`${against}: ${verdict}`] : []));
    const all = (verdict: string) =>
      ['random search', 'hill climbing', 'CMA-ES', 'Gaussian process'].map((name) => `${name}: ${verdict}`);
    expect(told('3.9')).toEqual(all('higher'));
    expect(told('-5.9')).toEqual(all('lower'));
    const html = readFileSync(at(result.out, 'report.html'), 'utf8');
    expect(html).toContain('8 of 8 differences in confirmed return are evident');
  });

  it('finds no difference between random search and itself', { timeout: 400_000 }, async () => {
    const { result } = await sweep(config('{ provider: random }'), ['seed=1..6', 'iterations=2']);
    const [random] = result.tasks[0]!.baselines;
    expect(random).toMatchObject({ against: 'random search', difference: 0, verdict: 'no-evidence' });
  });

  it('gives every baseline the budget, the seeds and the episodes of the model', async () => {
    const more = `critic: { model: { provider: random }, every: 2 }
corrections: 1
prompts: { layout: conversation }
memory: { trajectories: rows }
`;
    const given = ['seed=3,4', 'memory.best=3,4', 'iterations=4'];
    const { code, result } = await sweep(config(near(0, 0, 0, 0)) + more, given);
    expect(code).toBe(0);
    const [task] = result.tasks;
    expect(task!.settings.map(({ name }) => name)).toEqual([
      ...['best-3', 'best-4'],
      ...['random', 'hill-climb', 'cma-es', 'gp'].map((name) => `baseline-${name}_iterations-5`),
    ]);
    // Two settings and four baselines.
    expect(task!.baselines).toHaveLength(8);
    const warmup = (setting: string) =>
      readRun(at(result.out, setting, 'seed-4'))
        .entries.slice(0, 2)
        .map(({ parameters, returns }) => [parameters, returns]);
    for (const { baseline, name } of task!.settings) {
      expect(warmup(name)).toEqual(warmup('best-3'));
      const { entries } = readRun(at(result.out, name, 'seed-4'));
      if (baseline !== null) expect(entries).toHaveLength(2 + 5 * 2);
      if (baseline !== null)
        expect(readManifest(at(result.out, name, 'seed-4')).model).toBe(`baseline/${baseline}`);
    }
    const few = await sweep(config(near(0, 0, 0, 0)) + more, given, false);
    expect(few.text).toContain(
      'A verdict needs at least 6 seeds (14 if most values are equal): run the same command with seed=1..10.',
    );
  });

  it('uses random search and genetic programming as baselines if policies are programs', async () => {
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
    const comparedWith = others.map((_, i) => `b${i}`);
    const own = { ...figures('config', {}, model), comparedWith };
    const baselines = others.map((returns, i) => ({
      ...figures(`b${i}`, {}, returns),
      baseline: 'random' as const,
    }));
    return { settings: [own, ...baselines], range: [-100, 100] as const };
  };

  it('are corrected for all differences of all tasks', () => {
    const close = noisy(0, 1);
    const model = close.map((value, i) => value + [0.9, -0.3, 0.8, 0.5, -0.1, 0.7, 0.6, -0.1, 0.5, 0.2][i]!);
    const alone = compareWithBaselines([task(model, close)])[0]![0]!;
    expect(alone.p).toBeLessThan(0.05);
    expect(alone.verdict).toBe('higher');
    const both = [task(noisy(0, 2), noisy(0, 3), noisy(0, 4)), task(model, close)];
    expect(compareWithBaselines(both)[1]![0]!).toMatchObject({ p: alone.p, verdict: 'no-evidence' });
  });

  it('are rarely significant for the same proposer with other seeds', () => {
    let found = 0;
    for (let i = 0; i < 200; i++) {
      const others = [1, 2, 3, 4].map((k) => noisy(0, 1000 * k + i));
      const [differences] = compareWithBaselines([task(noisy(0, i), ...others)]);
      if (differences!.some(({ verdict }) => verdict === 'higher' || verdict === 'lower')) found++;
    }
    expect(found / 200).toBeLessThan(0.08);
  });
});
