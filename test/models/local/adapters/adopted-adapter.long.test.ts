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

it('a model with an adopted adapter answers like a fresh process with that adapter', async () => {
  const swapping = modelOf(undefined, modules);
  const base = await idsOf(swapping);
  for (const adapter of adapters) {
    swapping.adopt!(adapter);
    const ids = await idsOf(swapping);
    expect(ids).toEqual(await idsOf(modelOf(adapter, modules)));
    expect(ids).not.toEqual(base);
  }
});

it('a model can adopt an adapter before it is loaded, and keeps it after its process has ended', async () => {
  const one = modelOf(undefined, modules);
  one.adopt!(adapters[0]!);
  const ids = await idsOf(one);
  expect(ids).toEqual(await idsOf(modelOf(adapters[0], modules)));
  await one.close!();
  expect(await idsOf(one)).toEqual(ids);
});

it('an adaptable model gives the same texts as a plain model with the same adapter', async () => {
  const texts = async (one: LanguageModel) => (await answersOf(one)).map(({ text }) => text);
  expect(await texts(modelOf(adapters[0], modules))).toEqual(await texts(modelOf(adapters[0])));
});

it('only a model that can adopt adapters returns sampled tokens and their log-probabilities', async () => {
  const [answer] = await answersOf(modelOf(undefined, modules));
  const { ids, logp } = answer!.sampled!;
  expect(logp).toHaveLength(ids.length);
  expect(Math.max(...logp)).toBeLessThanOrEqual(0);
  const [plain] = await answersOf(modelOf());
  expect(plain!.sampled).toBeUndefined();
  expect(modelOf().adopt).toBeUndefined();
});

it('a call after adopting a missing directory fails with an error that says so', async () => {
  const one = modelOf(undefined, modules);
  one.adopt!('no-such-directory');
  await expect(answersOf(one)).rejects.toThrow('there is no such directory');
});
