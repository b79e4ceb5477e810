import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadTrainConfig } from '../../finetune/train/train-config.js';
import { fillRecipe, modelCard, withBlock } from '../../scripts/tiny-improver/model-card.js';
import { fullPlan, smokePlan, trainedModel } from '../../scripts/tiny-improver/recipe.js';
import { stepsOf } from '../../scripts/tiny-improver/steps.js';
import { storeModel } from '../../scripts/tiny-improver/stored-model.js';
import { tinyShape, writeTinyModel } from '../../scripts/tiny-model.js';
import { checkModel } from '../../src/models/local/engine/inspect.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { loadCollection } from '../../src/studies/collection/collection-config.js';
import { temporaryDirectory } from '../support/experiments.js';

const shape = { ...tinyShape, layers: 1, hidden: 32, heads: 2, intermediate: 48 };

function source(): string {
  const directory = join(temporaryDirectory(), 'model');
  writeTinyModel(directory, shape, 1);
  writeFileSync(join(directory, 'training.json'), '{}');
  return directory;
}

const values = (directory: string) =>
  [...openWeights(directory).values()].flatMap((tensor) => [
    ...toFloat32(readTensorBytes(tensor), tensor.dtype),
  ]);

describe('the stored model', () => {
  it('is float32 if that fits, and contains no training record', () => {
    const [from, to] = [source(), join(temporaryDirectory(), 'new')];
    const stored = storeModel(from, to);
    expect(stored.dtype).toBe('float32');
    expect(stored.parameters).toBe(values(from).length);
    expect(values(to)).toEqual(values(from));
    expect(existsSync(join(to, 'training.json'))).toBe(false);
    checkModel(to);
  });

  it('is float16 if float32 is too large, and is refused if float16 is too large as well', () => {
    const [from, to] = [source(), temporaryDirectory()];
    const large = storeModel(from, join(to, 'large'));
    const { dtype, bytes } = storeModel(from, join(to, 'small'), { most: large.bytes - 1 });
    expect(dtype).toBe('float16');
    expect(bytes).toBeLessThan(large.bytes - 1.99 * large.parameters);
    expect(readFileSync(join(to, 'small', 'config.json'), 'utf8')).toMatch(/"torch_dtype": "float16"/);
    const [exact, rounded] = [values(from), values(join(to, 'small'))];
    expect(exact.every((value, i) => Math.abs(value - rounded[i]!) <= Math.abs(value) / 2048 + 1e-7)).toBe(
      true,
    );
    checkModel(join(to, 'small'));
    expect(() => storeModel(from, join(to, 'none'), { most: 1000 })).toThrow(/more than fit/);
  });

  it('replaces a model next to its recipe and card, but is refused next to other files', () => {
    const [from, to] = [source(), temporaryDirectory()];
    mkdirSync(join(to, 'recipe'));
    writeFileSync(join(to, 'README.md'), 'card');
    storeModel(from, to);
    storeModel(from, to);
    expect(readFileSync(join(to, 'README.md'), 'utf8')).toBe('card');
    const other = temporaryDirectory();
    writeFileSync(join(other, 'thesis.txt'), '');
    expect(() => storeModel(from, other)).toThrow(/something other than a model: thesis\.txt/);
  });
});

describe('the recipe', () => {
  it('fills its settings into the model card, which has a block for figures', () => {
    const card = join(temporaryDirectory(), 'README.md');
    writeFileSync(card, readFileSync(modelCard));
    fillRecipe(card);
    const text = readFileSync(card, 'utf8');
    const { learningRate, seed } = loadTrainConfig(fullPlan('model').rounds[1]!.train);
    expect(text).toContain(`| round 2: training: learningRate | ${learningRate} |`);
    expect(text).toContain(`| round 2: training: seed | ${seed} |`);
    expect(text).toMatch(/\| round 1: examples \| `recipe: best-of-group, winners: \d+/);
    expect(text).toMatch(/<!-- figures -->[\s\S]*<!-- \/figures -->/);
  });

  it('has a smaller version, whose steps are incomplete until they are run', async () => {
    const plan = smokePlan(temporaryDirectory());
    const [first, second] = plan.rounds;
    const full = fullPlan('model').rounds;
    expect(full).toHaveLength(2);
    for (const [index, { places, train }] of plan.rounds.entries()) {
      const { batchExamples, output } = loadTrainConfig(train);
      expect(output).toBe(places.trained);
      expect(batchExamples).toBeLessThan(loadTrainConfig(full[index]!.train).batchExamples);
    }
    expect(second!.earlier?.round).toBe(first);
    expect(loadTrainConfig(second!.train).model).toBe(trainedModel(first!.places.trained));
    for (const step of stepsOf(plan)) expect(step.isComplete()).toBe(false);
    await stepsOf(plan)[0]!.run();
    expect(stepsOf(plan)[0]!.isComplete()).toBe(true);
    const [other] = stepsOf({ ...plan, initial: { ...plan.initial, seed: 9 } });
    expect(() => other!.isComplete()).toThrow(/not the initial model of the recipe/);
  });

  it('starts the second round from the model that the first round trained', () => {
    const [first, second] = fullPlan('model').rounds;
    expect(loadTrainConfig(second!.train).model).toBe(trainedModel(first!.places.trained));
    const proposers = loadCollection(second!.collection.file).proposers.map(({ layer }) => layer.model);
    for (const proposer of proposers) {
      expect(resolve(dirname(second!.collection.file), (proposer as { path: string }).path)).toBe(
        trainedModel(first!.places.trained),
      );
    }
  });
});

describe('blocks of the model card', () => {
  it('are replaced between their markers, and nothing else changes', () => {
    const card = 'a\n<!-- figures -->\nold\n<!-- /figures -->\nb <!-- recipe --><!-- /recipe -->\n';
    expect(withBlock(card, 'figures', 'new\n')).toBe(card.replace('old', 'new'));
    expect(withBlock(withBlock(card, 'figures', 'x'), 'figures', 'old')).toBe(card);
    expect(() => withBlock(card, 'nothing', '')).toThrow(/<!-- nothing -->/);
  });
});
