import { createGenerator } from '../../src/base/random/generator.js';
import type { ModelConfig } from '../../src/config/model.js';
import { createModel } from '../../src/proposers/create-model.js';
import { contractSpec, testModelContract } from '../contracts/model-contract.js';
import { startFakeOllama } from '../support/fake-ollama.js';
import { startFakeOpenAI } from '../support/fake-openai.js';
import type { FakeServer } from '../support/fake-server.js';
import { createScriptedModel } from '../support/scripted-model.js';
import { ollamaConfig, openaiConfig } from './model-configs.js';

function answerFor(seed: number): string {
  const random = createGenerator(seed);
  const values = Array.from({ length: contractSpec.count }, () => random.uniform(-6, 6).toFixed(1));
  return values.map((value, i) => `params[${i}]: ${value}`).join(', ');
}

async function onServer(server: FakeServer, config: (url: string) => ModelConfig) {
  return { model: createModel(config(server.url), {}), close: () => server.close() };
}

testModelContract('openai/test-model', async () =>
  onServer(
    await startFakeOpenAI({ reply: ({ seed, choice }) => answerFor((seed ?? 0) + choice) }),
    (baseUrl) => openaiConfig({ baseUrl }),
  ),
);
testModelContract('openai/structured', async () =>
  onServer(
    await startFakeOpenAI({
      reply: ({ seed }) =>
        JSON.stringify({ reason: 'f falls with params[2]: lower it', params: [0.1, -6, (seed ?? 0) % 6] }),
    }),
    (baseUrl) => openaiConfig({ baseUrl, name: 'structured', format: 'json' }),
  ),
);
testModelContract('ollama/test-model', async () =>
  onServer(await startFakeOllama({ reply: ({ options }) => answerFor(Number(options.seed)) }), (host) =>
    ollamaConfig({ host }),
  ),
);
testModelContract('scripted/model', async () => ({
  model: createScriptedModel(({ options }) => answerFor(options.seeds[0]!)),
  close: async () => {},
}));
