/** Servers that send what nobody asked for: more answers, and JSON that is deep or large. */
import { describe, expect, it } from 'vitest';
import { readRun } from '../../../src/runs/reader.js';
import { quick, readRunFile, runExperimentFrom } from '../../support/experiments.js';
import { listening } from '../../support/fake-server.js';

/** A server that answers every request with this body. */
async function answering(body: (path: string) => string): Promise<string> {
  const { url } = await listening((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(body(request.url ?? ''));
    });
  });
  return url;
}

const params = (value: number) =>
  Array.from({ length: 10 }, (_, i) => `params[${i}]: ${(value + i / 10).toFixed(1)}`).join(', ');
const choice = (value: number) => ({
  index: 0,
  finish_reason: 'stop',
  message: { role: 'assistant', content: params(value) },
});
const completion = (choices: readonly object[]) =>
  JSON.stringify({ choices, usage: { prompt_tokens: 900, completion_tokens: 60 } });

const env = { OPENAI_API_KEY: 'k' };
const openai = (baseUrl: string) =>
  ({ provider: 'openai', name: 'x', format: 'text', baseUrl, maxRetries: 0 }) as const;

describe('surplus choices in a reply', () => {
  it.each([1, 3])('are dropped with a warning (candidates: %d)', async (candidates) => {
    let value = -5;
    const url = await answering(() => {
      value += 0.7;
      return completion(Array.from({ length: 7 }, (_, i) => choice(value + i / 10)));
    });
    const { path, events } = await runExperimentFrom(
      { ...quick, iterations: 2, candidates, repeats: 'parameters', model: openai(`${url}/v1`) },
      { env },
    );
    const { calls, entries } = readRun(path);
    expect(calls).toHaveLength(2 * candidates);
    expect(entries.filter(({ iteration }) => iteration > 0)).toHaveLength(2 * candidates);
    expect(events.filter(({ kind }) => kind === 'warning')).toContainEqual({
      kind: 'warning',
      message: expect.stringContaining(`sent 7 completions instead of ${candidates}`),
    });
  });
});

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

describe.each([
  ['an OpenAI-compatible server', (url: string) => openai(`${url}/v1`)],
  ['Ollama', (url: string) => ({ provider: 'ollama', name: 'x', host: url, maxRetries: 0 }) as const],
])('%s', (_, model) => {
  it.each([
    ['5,000 nested lists', nested(5000)],
    ['200,000 nested lists', nested(200_000)],
    ['nested objects', `${'{"error":'.repeat(3000)}1${'}'.repeat(3000)}`],
    [
      'nested lists in a completion',
      `{"choices":[{"message":{"content":${nested(3000)}}}],"message":{"content":${nested(3000)}}}`,
    ],
    ['20 MB', `[${'[],'.repeat(7_000_000)}[]]`],
  ])('that answers with %s ends the run with a model error', { timeout: 60_000 }, async (_name, body) => {
    const url = await answering(() => body);
    const before = process.memoryUsage().rss;
    const { path, events } = await runExperimentFrom({ ...quick, iterations: 2, model: model(url) }, { env });
    const finished = events.find(({ kind }) => kind === 'run-finished');
    expect(finished).toMatchObject({ reason: { kind: 'model-error' } });
    const text = readRunFile(path, 'events');
    expect(text).toMatch(/nested more than 200 levels deep|more than \d+ bytes/);
    expect(text).not.toMatch(/Maximum call stack|at .*\.ts:\d+/);
    expect(process.memoryUsage().rss - before).toBeLessThan(300e6);
  });
});
