import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { joinParts, newDataset, writePart } from '../../models/tiny-improver/recipe/examples.js';
import { tinyShape, writeTinyModel } from '../../models/tiny-improver/recipe/initial-model.js';
import { type Round, smokeRecipe } from '../../models/tiny-improver/recipe/settings.js';
import { storeModel } from '../../models/tiny-improver/recipe/stored-model.js';
import { drawSymmetry } from '../../models/tiny-improver/recipe/symmetry.js';
import { drawTask, type FamilyName, families } from '../../models/tiny-improver/recipe/tasks/tasks.js';
import { packageRoot } from '../../src/base/package.js';
import { createGenerator } from '../../src/base/random/generator.js';
import { makeEnvironment } from '../../src/environments/catalogue/open.js';
import { checkModel } from '../../src/models/local/engine/inspect.js';
import { openWeights } from '../../src/models/local/weights/gguf-tensors.js';
import { toFloat32 } from '../../src/models/local/weights/quantization.js';
import { readTensorBytes } from '../../src/models/local/weights/safetensors.js';
import { createPolicyFamily, defaultPolicyConfig } from '../../src/policies/families.js';
import { rollout } from '../../src/rollout/episode.js';
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
  it('has the values of its source but no training record; other files in its directory are kept', () => {
    const [from, to] = [source(), temporaryDirectory()];
    writeFileSync(join(to, 'README.md'), 'card');
    const { parameters } = storeModel(from, to);
    storeModel(from, to);
    expect(parameters).toBe(values(from).length);
    expect(values(to)).toEqual(values(from));
    expect(existsSync(join(to, 'training.json'))).toBe(false);
    expect(readFileSync(join(to, 'README.md'), 'utf8')).toBe('card');
    checkModel(to);
  });
});

describe('the tasks', () => {
  it.each(Object.keys(families) as FamilyName[])('of %s are the same for the same seed', (name) => {
    const steps = (seed: number) => {
      const environment = drawTask(name, seed);
      const policy = createPolicyFamily(defaultPolicyConfig(environment), environment);
      const built = policy.build(policy.initial(createGenerator(1)));
      return rollout(environment, built, { seed: 5, record: true, maxSteps: 20 });
    };
    expect(steps(3)).toEqual(steps(3));
    expect([4, 5, 6].some((seed) => JSON.stringify(steps(seed)) !== JSON.stringify(steps(3)))).toBe(true);
  });
});

describe('a symmetry', () => {
  it.each([
    ['CartPole-v1', 'keeps the set of their absolute values'],
    ['FrozenLake-v1', 'uses only valid actions'],
  ])('of %s changes the parameters, but %s', async (id) => {
    const environment = await makeEnvironment(id, {});
    const family = createPolicyFamily(defaultPolicyConfig(environment), environment);
    const own = family.initial(createGenerator(2));
    const image = drawSymmetry(family, createGenerator(3))(own);
    expect(image).toHaveLength(own.length);
    expect(image).not.toEqual(own);
    const sizes = (values: readonly number[]) => values.map(Math.abs).toSorted((a, b) => a - b);
    if (id === 'CartPole-v1') expect(sizes(image)).toEqual(sizes(own));
    else expect(image.every((value) => family.parameters.choices!.includes(value))).toBe(true);
  });
});

describe('the examples of a round', () => {
  it("are prompts with completions, and don't depend on the number of parts", async () => {
    const round: Round = { ...smokeRecipe().rounds[0]!, runs: 6, iterations: [3, 3], validation: 0.34 };
    const written = async (parts: number) => {
      const folder = join(temporaryDirectory(), 'dataset');
      newDataset(folder);
      for (let index = 0; index < parts; index++)
        await writePart([round], 0, { index, of: parts }, { folder, maxTokens: 64, model: 'none' });
      joinParts(folder, parts);
      const lines = (split: string) =>
        readFileSync(join(folder, `${split}.jsonl`), 'utf8')
          .trim()
          .split('\n');
      return { train: lines('train').toSorted(), validation: lines('validation').toSorted() };
    };
    const whole = await written(1);
    expect(await written(2)).toEqual(whole);
    const { prompt, completion } = JSON.parse(whole.train[0]!) as {
      prompt: { content: string }[];
      completion: string;
    };
    expect(prompt.at(-1)!.content).toMatch(/^tried \d+ stale \d+\nrecent\n/);
    expect(completion).toMatch(/^params\[0\]: -?\d/);
  });
});

it('the recipe is not in the package', () => {
  const { files } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    files: string[];
  };
  expect(files).toContain('!models/*/recipe');
});
