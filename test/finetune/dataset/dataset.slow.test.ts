import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildDataset, type Dataset, type DatasetOptions } from '../../../finetune/dataset/dataset.js';
import { sha256 } from '../../../finetune/dataset/example.js';
import { measureLengths } from '../../../finetune/dataset/token-statistics.js';
import { writeDataset } from '../../../finetune/dataset/write-dataset.js';
import { formatCount } from '../../../src/base/text/numbers.js';
import { estimateTokens } from '../../../src/prompting/token-estimate.js';
import { seededModel, temporaryDirectory } from '../../support/experiments.js';
import { jsonLines, named, played } from './runs.js';

const root = temporaryDirectory();
const options = { recipe: 'weighted', validation: { kind: 'share', share: 0.3 }, seed: 0 } as const;

/** CartPole with three seeds, two of them also with random search; FrozenLake with one seed. */
let runs: { readonly path: string; readonly name: string }[];

beforeAll(async () => {
  const play = async (name: string, ...args: Parameters<typeof played>) =>
    named(await played(args[0], { ...args[1], root, name }), name);
  runs = [
    await play('climb-1', { seed: 1 }),
    await play('climb-2', { seed: 2 }),
    await play('climb-3', { seed: 3 }),
    await play('random-1', { seed: 1, model: { provider: 'random' } }),
    await play('random-2', { seed: 2, model: { provider: 'random' } }),
    await play('lake', { environment: 'FrozenLake-v1', seed: 1 }, { model: seededModel(0.2) }),
  ];
});

const build = (changes: Partial<DatasetOptions> = {}, of = runs) =>
  buildDataset(of, { ...options, ...changes });
/** The alarms without the one for few examples, which all these datasets raise. */
const alarmsOf = (dataset: Dataset) => dataset.alarms.filter(({ kind }) => kind !== 'few');
const alarms = (dataset: Dataset) => alarmsOf(dataset).map(({ kind }) => kind);
const splitOf = (dataset: Dataset) =>
  Object.fromEntries(dataset.sources.map(({ run, split }) => [run, split]));

/** A copy of a run with a changed manifest. */
function copied(path: string, changes: object = {}): string {
  const copy = join(temporaryDirectory(), 'copy');
  cpSync(path, copy, { recursive: true });
  const file = join(copy, 'manifest.json');
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as object;
  writeFileSync(file, JSON.stringify({ ...manifest, ...changes }));
  return copy;
}

describe('the split', () => {
  it('never puts a prompt, a run or runs with the same seed on both sides', async () => {
    for (const recipe of ['weighted', 'preference'] as const) {
      for (let seed = 0; seed < 8; seed++) {
        const dataset = await build({ recipe, seed });
        const { train, validation } = dataset;
        expect(train.length).toBeGreaterThan(0);
        expect(validation.length).toBeGreaterThan(0);
        const prompts = new Set(train.map(({ lineage }) => lineage.prompt));
        expect(validation.filter(({ lineage }) => prompts.has(lineage.prompt))).toEqual([]);
        const sides = splitOf(dataset);
        expect(sides['climb-1']).toBe(sides['random-1']);
        expect(sides['climb-2']).toBe(sides['random-2']);
        for (const { lineage } of train) expect(sides[lineage.run]).toBe('train');
        for (const { lineage } of validation) expect(sides[lineage.run]).toBe('validation');
        expect(alarms(dataset)).not.toContain('leakage');
      }
    }
  });

  it('keeps a run together with the run that its warm-up policies come from', async () => {
    const heir = named(await played({ seed: 77, warmup: { policies: 2, from: runs[1]!.path } }), 'heir');
    for (let seed = 0; seed < 8; seed++) {
      const sides = splitOf(await build({ seed }, [...runs, heir]));
      expect(sides.heir).toBe(sides['climb-2']);
    }
  });

  it('may separate runs with the same seed if their environments have different options', async () => {
    const on = async (slippery: boolean, name: string) => {
      const environment = { id: 'FrozenLake-v1', options: { is_slippery: slippery } };
      return named(await played({ environment, seed: 1 }, { model: seededModel(0.2) }), name);
    };
    const sides = splitOf(await build({}, [await on(true, 'ice'), await on(false, 'ground')]));
    expect(sides.ice).not.toBe(sides.ground);
  });

  it('raises an alarm if a run held out by name shares a prompt with a run to train on', async () => {
    const dataset = await build({ validation: { kind: 'named', names: ['random-1'] } });
    expect(alarms(dataset)).toEqual(['leakage']);
    expect(alarmsOf(dataset)[0]!.message).toMatch(
      /^validation examples with the same prompt as a training example: 1 of 6$/,
    );
  });
});

describe('duplicates', () => {
  it('from a copied run are dropped', async () => {
    const copy = named(copied(runs[0]!.path), 'copy');
    const once = await build();
    const twice = await build({}, [...runs, copy]);
    expect(twice.train.length + twice.validation.length).toBe(once.train.length + once.validation.length);
    expect(twice.sources.at(-1)).toMatchObject({ run: 'copy', kept: 0, hash: once.sources[0]!.hash });
    expect(twice.sources.at(-1)!.made).toBeGreaterThan(0);
  });
});

describe('alarms', () => {
  it('report runs without a learning signal', async () => {
    // Within 60 steps no car leaves the valley: every score is -60.
    const flat = [named(await played({ environment: 'MountainCar-v0' }))];
    const found = async (recipe: DatasetOptions['recipe']) =>
      alarms(await build({ recipe, validation: { kind: 'none' } }, flat));
    expect(await found('weighted')).toEqual(['no-positive-signal']);
    for (const recipe of ['improvement', 'preference'] as const) {
      expect(await found(recipe)).toEqual(['no-positive-signal', 'empty-split']);
    }
  });

  it('report examples that exceed the context, with the shortest and the longest length', async () => {
    const dataset = await build();
    const needsOf = ({ train, validation }: Dataset) =>
      Array.from(measureLengths([...train, ...validation]).values(), (one) => one.prompt + one.completion);
    const shortest = Math.min(...needsOf(dataset));
    const checked = await build({ context: Math.floor(shortest / 2) });
    expect(alarms(checked)).toEqual(['too-long']);
    const { hint, message } = checked.alarms.at(-1)!;
    const [least, most] = [Math.min, Math.max].map((pick) => formatCount(pick(...needsOf(checked))));
    expect(message).toContain(`the shortest of all has about ${least} tokens, the longest about ${most}`);
    expect(hint).not.toContain('exclude');
    expect(alarms(await build({ context: shortest }))).toEqual([]);
  });

  it('report an empty split, or a split of a different size than requested', async () => {
    const lone = await build({}, runs.slice(0, 1));
    expect(alarms(lone)).toEqual(['empty-split']);
    const all = await build({ validation: { kind: 'named', names: ['*'] } });
    expect(alarms(all)).toEqual(['empty-split']);
    expect(all.train).toEqual([]);
    const uneven = alarmsOf(await build({ validation: { kind: 'share', share: 0.01 } }));
    expect(uneven.map(({ message }) => message).join()).toMatch(/^\d+ of \d+ examples .* %, not 1 %\)/);
  });

  it('report templates that have changed since the run', async () => {
    const old = named(copied(runs[2]!.path, { prompts: 'another hash' }), 'old');
    const dataset = await build({}, [...runs.slice(0, 2), old]);
    expect(alarms(dataset)).toEqual(['templates-changed']);
    expect(alarmsOf(dataset)[0]!.message).toContain('of old');
  });
});

describe('statistics', () => {
  it('give the number of examples, and the least and most estimated tokens of a prompt', async () => {
    const { statistics, train } = await build({ validation: { kind: 'none' } });
    const lengths = train.map(({ prompt }) =>
      prompt.reduce((sum, { content }) => sum + estimateTokens(content), 0),
    );
    expect(statistics.train.promptTokens).toMatchObject({
      least: Math.min(...lengths),
      most: Math.max(...lengths),
    });
    expect(statistics.train).toMatchObject({ examples: train.length, history: { least: 3, most: 8 } });
    expect(statistics.validation).toEqual({ examples: 0, prompts: 0 });
  });
});

describe('a dataset directory', () => {
  const content = (path: string) =>
    Object.fromEntries(readdirSync(path).map((name) => [name, readFileSync(join(path, name), 'utf8')]));

  it('has the same bytes for the same runs and options, and different rows for another seed', async () => {
    const write = async (seed: number) => {
      const path = join(temporaryDirectory(), 'dataset');
      writeDataset(await build({ seed }), 'jsonl', path);
      return content(path);
    };
    const [first, second, other] = [await write(1), await write(1), await write(2)];
    expect(Object.keys(first).toSorted()).toEqual(['manifest.json', 'train.jsonl', 'validation.jsonl']);
    expect(second).toEqual(first);
    expect(other['train.jsonl']).not.toBe(first['train.jsonl']);
    expect(first['manifest.json']).not.toContain(root);
  });

  it('has rows with their lineage, and a manifest with their hashes, statistics and sources', async () => {
    const path = join(temporaryDirectory(), 'dataset');
    const dataset = await build({ recipe: 'improvement' });
    const manifest = writeDataset(dataset, 'trl-sft', path);
    expect(JSON.parse(readFileSync(join(path, 'manifest.json'), 'utf8'))).toEqual(manifest);
    for (const split of ['train', 'validation'] as const) {
      const rows = jsonLines<{ prompt: unknown; completion: { content: string }[] }>(path, `${split}.jsonl`);
      const lineage = jsonLines(path, `${split}.lineage.jsonl`);
      expect(manifest.files[`${split}.jsonl`]).toEqual({
        rows: rows.length,
        sha256: sha256(readFileSync(join(path, `${split}.jsonl`))),
      });
      expect(lineage).toEqual(dataset[split].map((example) => example.lineage));
      expect(rows.map(({ prompt }) => prompt)).toEqual(dataset[split].map(({ prompt }) => prompt));
      expect(manifest.statistics[split].examples).toBe(rows.length);
    }
    expect(manifest.sources.map(({ run, made, kept }) => [run, made, kept])).toEqual(
      runs.map(({ name }) => [name, expect.any(Number), expect.any(Number)]),
    );
    expect(alarmsOf(dataset)).toEqual([]);
  });

  it('is never written over other files', async () => {
    const path = temporaryDirectory();
    mkdirSync(join(path, 'mine'));
    const dataset = await build();
    expect(() => writeDataset(dataset, 'jsonl', path)).toThrow(/this directory is not empty/);
    expect(() => writeDataset(dataset, 'trl-dpo', join(path, 'new'))).toThrow(/can't store/);
    expect(readdirSync(path)).toEqual(['mine']);
  });
});
