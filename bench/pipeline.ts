/**
 * `npm run bench:pipeline -- [iterations] [latency]`: evaluations per minute with a server of this latency in
 * milliseconds, without and with several requests in flight; and whether a replay equals the run.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { text as textOf } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { number, terminalTable, text } from '../src/format/table.js';
import { createGenerator, run } from '../src/index.js';

const [iterations = 24, latency = 1000] = process.argv.slice(2).map(Number);

/** Parameters that follow from the seed of the request. */
function answer(seed: number): string {
  const random = createGenerator(seed);
  return Array.from({ length: 10 }, (_, i) => `params[${i}]: ${random.uniform(-6, 6).toFixed(1)}`).join(', ');
}

const server = createServer(async (request, response) => {
  const { seed } = JSON.parse(await textOf(request)) as { readonly seed: number };
  await delay(latency);
  const choices = [
    { index: 0, message: { role: 'assistant', content: answer(seed) }, finish_reason: 'stop' },
  ];
  const usage = { prompt_tokens: 1000, completion_tokens: 80, total_tokens: 1080 };
  response.setHeader('content-type', 'application/json');
  response.end(
    JSON.stringify({ id: 'x', object: 'chat.completion', created: 0, model: 'x', choices, usage }),
  );
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
const root = mkdtempSync(join(tmpdir(), 'policyloop-pipeline-'));
const config = (pipeline: number) => ({
  environment: 'CartPole-v1',
  ...{ iterations, pipeline, warmup: 4, confirmation: { candidates: 0 } },
  evaluation: { episodes: 10, workers: 1 },
});
const evaluations = (directory: string) => readFileSync(join(directory, 'evaluations.jsonl'), 'utf8');
try {
  const rows: { pipeline: number; rate: number; equal: boolean }[] = [];
  for (const pipeline of [1, 2, 4, 8]) {
    const directory = join(root, String(pipeline));
    const started = performance.now();
    await run({ ...config(pipeline), model: { provider: 'openai', name: 'x', baseUrl } }, { directory });
    const rate = (iterations * 60_000) / (performance.now() - started);
    const replay = join(root, `${pipeline}-replay`);
    await run(
      { ...config(pipeline), model: { provider: 'replayed', run: directory } },
      { directory: replay },
    );
    rows.push({ pipeline, rate, equal: evaluations(replay) === evaluations(directory) });
  }
  const columns = [
    number('pipeline', (row: (typeof rows)[number]) => row.pipeline),
    number('evaluations a minute', ({ rate }: (typeof rows)[number]) => Math.round(rate)),
    number('ratio', ({ rate }: (typeof rows)[number]) => (rate / rows[0]!.rate).toFixed(2)),
    text('replay', ({ equal }: (typeof rows)[number]) => (equal ? 'equal' : 'differs')),
  ];
  process.stdout.write(`${terminalTable(rows, columns)}\n`);
} finally {
  server.close();
  rmSync(root, { recursive: true, force: true });
}
