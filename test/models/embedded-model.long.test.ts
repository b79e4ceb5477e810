/** What is promised of the language model that comes with the package. */
import { describe, expect, it } from 'vitest';
import { compactRun, LoadedModels, localModel, play } from '../../scripts/tiny-improver/play.js';
import { shippedModel } from '../../scripts/tiny-improver/recipe.js';
import { validityOf } from '../../scripts/tiny-improver/validity.js';
import { loadConfig } from '../../src/config/load.js';
import { createLocalModel } from '../../src/models/local/process/local-model.js';
import { localSchema } from '../../src/models/local/settings.js';
import { startServer } from '../../src/serve/server.js';
import { testFacts } from '../serve/local-server.js';

const cartpole = (overrides: readonly string[]) => loadConfig({ file: 'cartpole-numeric', overrides }).config;

describe('the embedded model', () => {
  it('gives a valid answer to at least 98 % of prompts without a constraint', async () => {
    const { asked, valid } = await validityOf(shippedModel, 'text', 4);
    expect(asked).toBe(192);
    expect(valid / asked).toBeGreaterThanOrEqual(0.98);
  }, 120_000);

  it('always gives a valid answer under a constraint', async () => {
    const { asked, valid } = await validityOf(shippedModel, 'constrained', 2);
    expect(valid).toBe(asked);
  }, 120_000);

  it('plays the same run through an OpenAI-compatible endpoint', async () => {
    const run = [...compactRun, 'warmup=4', 'iterations=8', 'evaluation.episodes=3', 'seed=5'];
    const models = new LoadedModels();
    const here = await play(
      cartpole([...run, ...localModel(shippedModel), 'model.temperature=1', 'model.format=text']),
      models,
      'here',
    );
    await here.close();
    await models.close();

    const name = 'tiny-improver';
    const served = createLocalModel(
      localSchema.parse({
        provider: 'local',
        path: shippedModel,
        threads: 1,
        device: 'cpu',
        format: 'constrained',
      }),
    );
    const server = await startServer({
      host: '127.0.0.1',
      port: 0,
      model: { served: [{ name, model: served }], created: 1, ...testFacts },
      now: () => new Date(0),
      note: () => undefined,
    });
    const clients = new LoadedModels();
    try {
      const model = `model={provider: openai, name: ${name}, baseUrl: "${server.url}", temperature: 1, format: text}`;
      const there = await play(cartpole([...run, model]), clients, 'there');
      await there.close();
      expect(there.entries).toEqual(here.entries);
      expect(there.entries.length).toBeGreaterThan(8);
    } finally {
      await clients.close();
      const finished = server.finish();
      server.abort();
      await finished;
      await served.close?.();
    }
  }, 120_000);
});
