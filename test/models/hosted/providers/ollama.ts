import { countTokens } from '../../../support/fake-server.js';
import { type FakeProvider, promptTokens, proposal, refused } from './provider.js';

/** Ollama's own interface. */
export const ollama: FakeProvider = {
  name: 'Ollama',
  format: 'json_schema',
  refusals: 0,
  model: (host) => ({ provider: 'ollama', name: 'a-model', host, maxTokens: 2000 }),
  answer({ body, path }) {
    if (path === '/api/show') {
      const model_info = { 'llama.context_length': 32_768 };
      return refused(200, {
        model_info,
        capabilities: ['completion'],
        template: '{{ .System }}{{ .Prompt }}',
      });
    }
    if (path !== '/api/chat') return refused(404, { error: '404 page not found' });
    const text = proposal(Number((body.options as { seed: number }).seed), body.format !== undefined);
    const [prompt, completion] = [promptTokens(body), countTokens(text)];
    return {
      status: 200,
      counted: { completions: 1, promptTokens: prompt, completionTokens: completion },
      body: {
        message: { role: 'assistant', content: text },
        ...{ done: true, done_reason: 'stop', prompt_eval_count: prompt, eval_count: completion },
      },
    };
  },
  failures: {
    'a busy server': {
      status: 503,
      body: { error: 'server busy, please try again.  maximum pending requests exceeded' },
      kind: 'server',
      says: ['server busy, please try again. maximum pending requests exceeded'],
    },
    'a prompt that is too long, as an object': {
      status: 400,
      body: {
        error: {
          code: 400,
          message: 'request (4170 tokens) exceeds the available context size (4096 tokens)',
          type: 'exceed_context_size_error',
        },
      },
      kind: 'too-long',
      says: ['4170 tokens', 'model.contextTokens', 'memory.tokens'],
    },
    'a model that cannot think': {
      model: { think: true },
      status: 400,
      body: { error: '"a-model" does not support thinking' },
      kind: 'bad-request',
      says: ['does not support thinking', 'model.think=false'],
    },
    'thoughts that use up the limit': {
      model: { maxTokens: 50 },
      status: 200,
      body: {
        message: { role: 'assistant', content: '', thinking: 'Let me think.' },
        ...{ done: true, done_reason: 'length', prompt_eval_count: 60, eval_count: 50 },
      },
      kind: 'no-text',
      says: ['used up all 50 tokens', 'raise model.maxTokens'],
    },
  },
};
