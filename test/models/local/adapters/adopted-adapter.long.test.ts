import { afterAll, expect, it } from 'vitest';
import type { LanguageModel } from '../../../../src/models/language-model.js';
import { createLocalModel } from '../../../../src/models/local/process/local-model.js';
import { localSchema } from '../../../../src/models/local/settings.js';
import { readReference, referenceDirectory, referenceModels } from '../fixture.js';
import { randomAdapter } from '../random-adapter.js';

const [name] = referenceModels;
const model = referenceDirectory(name!);
const modules = ['q_proj', 'v_proj', 'down_proj'] as const;
const adapters = [1, 2].map((seed) => randomAdapter({ model, rank: 2, modules, seed }));

const opened: LanguageModel[] = [];
function modelOf(adapter?: string, adaptable?: readonly string[]): LanguageModel {
  const config = { provider: 'local', path: model, adapter, device: 'cpu', threads: 1, temperature: 1 };
  const made = createLocalModel(localSchema.parse(config), adaptable);
  opened.push(made);
  return made;
}

afterAll(async () => {
  for (const one of opened) await one.close?.();
});

const answersOf = (one: LanguageModel) =>
  one.generate(readReference(name!).messages, { seeds: [1, 2, 3], maxTokens: 12 });

const idsOf = async (one: LanguageModel) => (await answersOf(one)).map(({ sampled }) => sampled?.ids);

it('answers as a fresh process with the adapter that it adopts, one after the other', async () => {
  const swapping = modelOf(undefined, modules);
  const base = await idsOf(swapping);
  for (const adapter of adapters) {
    swapping.adopt!(adapter);
    const ids = await idsOf(swapping);
    expect(ids).toEqual(await idsOf(modelOf(adapter, modules)));
    expect(ids).not.toEqual(base);
  }
});

it('adopts before it is loaded, and after its process has ended', async () => {
  const one = modelOf(undefined, modules);
  one.adopt!(adapters[0]!);
  const ids = await idsOf(one);
  expect(ids).toEqual(await idsOf(modelOf(adapters[0], modules)));
  await one.close!();
  expect(await idsOf(one)).toEqual(ids);
});

it('says the texts of a model that is loaded with the adapter', async () => {
  const texts = async (one: LanguageModel) => (await answersOf(one)).map(({ text }) => text);
  expect(await texts(modelOf(adapters[0], modules))).toEqual(await texts(modelOf(adapters[0])));
});

it('hands out tokens and what the sampling thought of them, only of a model that can adopt', async () => {
  const [answer] = await answersOf(modelOf(undefined, modules));
  const { ids, logp } = answer!.sampled!;
  expect(logp).toHaveLength(ids.length);
  expect(Math.max(...logp)).toBeLessThanOrEqual(0);
  const [plain] = await answersOf(modelOf());
  expect(plain!.sampled).toBeUndefined();
  expect(modelOf().adopt).toBeUndefined();
});

it('says what is wrong with what it shall adopt', async () => {
  const one = modelOf(undefined, modules);
  one.adopt!('no-such-directory');
  await expect(answersOf(one)).rejects.toThrow('there is no such directory');
});
