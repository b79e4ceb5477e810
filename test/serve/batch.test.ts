/** `policyloop serve --batch`: requests at the same time are answered in one batch. */
import { afterEach, expect, test, vi } from 'vitest';
import * as serve from '../../src/commands/serve.js';
import { serveModels } from '../../src/serve/server.js';
import { recordingContext, temporaryDirectory } from '../support/experiments.js';
import { messages, path, post, startLocalServer } from './local-server.js';

vi.mock('../../src/serve/server.js', { spy: true });
afterEach(() => vi.restoreAllMocks());

/** Two requests at the same time: their answers, and the seeds of the requests in the order in which text came. */
async function askedAtOnce(more: object) {
  const server = await startLocalServer([], more);
  try {
    const order: number[] = [];
    server.watch.onText = (seed) => order.push(seed);
    const answers = await Promise.all(
      [1, 2].map((seed) => post(server.url, { messages, seed, max_tokens: 48 })),
    );
    return { order, answers: answers.map(({ body }) => contentOf(body)) };
  } finally {
    await server.close();
  }
}

const contentOf = (body: string) =>
  (JSON.parse(body) as { choices: { message: { content: string } }[] }).choices[0]!.message.content;

/** How often text of the other request follows. */
const changes = (order: readonly number[]) =>
  order.filter((seed, i) => i > 0 && seed !== order[i - 1]).length;

test('concurrent requests share the steps of the model and get the same answers as without batching', async () => {
  const together = await askedAtOnce({ batch: 2 });
  const alone = await askedAtOnce({});
  // Whoever joins does so after a few tokens; then each step gives a token to both.
  expect(changes(together.order)).toBeGreaterThan(10);
  expect(changes(alone.order)).toBeLessThanOrEqual(1);
  expect(together.answers).toEqual(alone.answers);
  expect(new Set(together.answers).size).toBe(2);
});

test('--batch sets the batch size of the served model; without it, none is set', async () => {
  vi.mocked(serveModels).mockResolvedValue();
  const { context } = recordingContext(temporaryDirectory());
  const args = {
    model: path,
    adapter: [],
    template: [],
    option: [],
    stdio: false,
    host: '127.0.0.1',
    port: 0,
    json: true,
  } as never;
  await serve.execute({ ...(args as object), batch: 4 } as never, context);
  await serve.execute(args, context);
  expect(vi.mocked(serveModels).mock.calls.map(([{ settings }]) => settings.batch)).toEqual([4, undefined]);
});
