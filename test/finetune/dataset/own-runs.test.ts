import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { execute } from '../../../finetune/commands/dataset.js';
import { buildDataset, type DatasetOptions } from '../../../finetune/dataset/dataset.js';
import { weightedExamples } from '../../../finetune/dataset/recipes.js';
import { fitPrompts } from '../../../finetune/dataset/shorten.js';
import { readSourceRun } from '../../../finetune/dataset/source-run.js';
import { packageRoot } from '../../../src/base/package.js';
import { estimateTokens } from '../../../src/prompting/token-estimate.js';
import { mean } from '../../../src/statistics/descriptive.js';
import { recordingContext, seededModel, temporaryDirectory } from '../../support/experiments.js';
import { createScriptedModel } from '../../support/scripted-model.js';
import { named, played } from './runs.js';

const root = temporaryDirectory();
const open = { provider: 'openai', name: 'any', format: 'text' } as const;
const env = { OPENAI_API_KEY: 'none' };

/** A model's run, two baselines' runs of the same task, and a run whose replies were all rejected. */
let runs: { readonly path: string; readonly name: string }[];

beforeAll(async () => {
  const play = async (name: string, ...[config, options]: Parameters<typeof played>) =>
    named(await played(config, { ...options, root, name }), name);
  runs = [
    await play('own', { seed: 1, model: open, iterations: 12 }, { model: seededModel(), env }),
    await play('climb', { seed: 2, iterations: 12 }),
    await play('random', { seed: 2, iterations: 12, model: { provider: 'random' } }),
    await play(
      'rejected',
      { seed: 9, model: open, iterations: 2 },
      { model: createScriptedModel(() => 'No.'), env },
    ),
  ];
});

const build = (changes: Partial<DatasetOptions> = {}, from = runs) =>
  buildDataset(from, { recipe: 'weighted', validation: { kind: 'none' }, seed: 0, ...changes });

const promptTokens = (prompt: readonly { readonly content: string }[]) =>
  prompt.reduce((sum, { content }) => sum + estimateTokens(content), 0);

describe('a dataset of your own runs', () => {
  it('contains proposals of models and baselines, written as text', async () => {
    const { train } = await build();
    const models = new Set(train.map(({ lineage }) => lineage.model));
    expect(models.size).toBe(3);
    expect(train.length).toBeGreaterThan(30);
    for (const example of train) {
      expect(example.prompt.map(({ role }) => role)).toEqual(['system', 'user']);
      expect(example).toMatchObject({ completion: expect.stringMatching(/^params\[0\]: -?\d/) });
    }
  });

  it('weights proposals by their gain, over all runs of a task', async () => {
    const { train } = await build();
    const byGain = train.toSorted(
      (a, b) => a.lineage.score - a.lineage.incumbent! - (b.lineage.score - b.lineage.incumbent!),
    );
    const weights = byGain.map(({ weight }) => weight);
    expect(weights).toEqual(weights.toSorted((a, b) => a - b));
    expect(mean(weights)).toBeCloseTo(1, 4);
  });

  it('gives the reason if a run yields no example', async () => {
    const reasons = async (recipe: DatasetOptions['recipe']) =>
      (await build({ recipe })).sources.flatMap(({ none, run }) => (none === undefined ? [] : [[run, none]]));
    expect(await reasons('weighted')).toEqual([['rejected', 'no reply was accepted']]);
    const flat = named(await played({ environment: 'MountainCar-v0' }), 'flat');
    const none = async (recipe: DatasetOptions['recipe']) =>
      (await build({ recipe }, [flat, { ...flat, name: 'twin' }])).sources.map((source) => source.none);
    expect(await none('weighted')).toEqual([undefined, 'only duplicates']);
    expect((await none('improvement'))[0]).toBe('no proposal beat the best return in its prompt');
    const calls = join(flat.path, 'calls.jsonl');
    writeFileSync(calls, readFileSync(calls, 'utf8').replace(/"shown":\{.*?\},/g, ''));
    expect((await none('weighted'))[0]).toMatch(
      /^it was logged by an earlier version, which didn't record what its prompts showed/,
    );
  });

  it('warns if there are few examples, and states the usual number and how to get more', async () => {
    const { alarms, train } = await build({ recipe: 'improvement' });
    expect(alarms[0]).toMatchObject({
      kind: 'few',
      message: `only ${train.length} examples to train on; 578 to 1648 are usual`,
    });
    expect(alarms[0]!.hint).toMatch(
      /^--recipe weighted uses all 3\d proposals; for more runs: policyloop sweep own\/config\.yaml model\.provider=hill-climb,cma-es,gp seed=10\.\.\d+ --out buffers\/more$/,
    );
  });

  it('is built by a command that prints warnings, and why a run has no examples', async () => {
    const { context, noted, printed } = recordingContext(root);
    const args = { runsDir: '.', validation: 'none', format: 'jsonl', seed: 0, json: false } as const;
    await execute(
      { ...args, runs: ['own', 'rejected'], recipe: 'weighted', out: 'data', context: 500 },
      context,
    );
    const text = printed.join('\n');
    expect(text).toContain('no examples from 1 of 2 runs:\n  rejected: no reply was accepted');
    expect(text).toMatch(/shortened {3}prompts of 1 run, as with memory\.tokens=\d+/);
    expect(text).toContain('usual       578 to 1648 examples to train on');
    expect(noted.join('\n')).toContain('12 examples to train on; 578 to 1648 are usual');
  });
});

describe('fitPrompts', () => {
  it('shows fewer evaluations if prompts exceed the context, as with a smaller memory.tokens', async () => {
    const run = await readSourceRun(runs[0]!.path, 'own');
    const lengths = weightedExamples(run).map(
      ({ completion, prompt }) => promptTokens(prompt) + estimateTokens(completion),
    );
    const context = lengths.at(-1)! - 60;
    const fitted = fitPrompts(run, context);
    const examples = weightedExamples(fitted);
    expect(examples).toHaveLength(lengths.length);
    for (const { completion, lineage, prompt } of examples) {
      expect(promptTokens(prompt) + estimateTokens(completion)).toBeLessThanOrEqual(context);
      expect(lineage.promptTokens).toBeUndefined();
      expect(lineage.history).toBeGreaterThan(0);
    }
    const short = await readSourceRun(
      await played(
        { seed: 1, model: open, iterations: 12, memory: { tokens: fitted.historyTokens } },
        { model: seededModel(), env },
      ),
      'short',
    );
    expect(fitted.steps[0]!.prompt).toEqual(short.steps[0]!.prompt);
  });

  const template = readFileSync(join(packageRoot(), 'templates', 'environment.js'), 'utf8');
  const words = /description:\s+'[^']+',\s+(observationNames: .*\s+actionNames: .*)/;
  const edited = {
    'a description of several lines': template.replace("'A cart", String.raw`'One.\nTwo.\n\tA cart`),
    'names only': template.replace(words, '$1'),
    'neither description nor names': template.replace(words, ''),
  };
  const program = { policy: { kind: 'program' }, model: { provider: 'genetic' } } as const;
  it.each([
    ['a description of several lines', 'numeric policies', { prompts: { set: 'semantic' } }],
    ['a description of several lines', 'programs', program],
    ['names only', 'numeric policies', { prompts: { set: 'semantic' } }],
    ['neither description nor names', 'numeric policies', {}],
  ] as const)('describes environments as in the run: with %s, for %s', async (kind, policy, config) => {
    const environment = join(root, `${kind}-${policy}.mjs`.replaceAll(' ', '-'));
    writeFileSync(environment, edited[kind]);
    const path = await played({ environment, iterations: 8, ...config });
    expect((await build({}, [named(path)])).alarms.map((alarm) => alarm.kind)).not.toContain(
      'templates-changed',
    );
    const run = await readSourceRun(path, 'own');
    const lengths = run.steps.map(({ prompt }) => promptTokens(prompt));
    const fitted = fitPrompts(run, lengths.at(-1)! - 20);
    expect(fitted.historyTokens).toBeGreaterThan(0);
    expect(fitted.steps[0]!.prompt).toEqual(run.steps[0]!.prompt);
    expect(fitted.steps.at(-1)!.prompt).not.toEqual(run.steps.at(-1)!.prompt);
  });

  it('leaves prompts as logged if they fit, or if their templates have changed', async () => {
    const run = await readSourceRun(runs[1]!.path, 'climb');
    expect(fitPrompts(run, 1e5)).toBe(run);
    const file = join(await played({ seed: 3 }, { root, name: 'old' }), 'manifest.json');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/"prompts": ?"\w+"/, '"prompts":"another"'));
    const old = await readSourceRun(join(root, 'old'), 'old');
    expect(fitPrompts(old, 10)).toBe(old);
  });
});
