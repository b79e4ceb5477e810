/** While one client floods the server of models, it answers the others. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { floods, waitsDuring } from '../../scripts/attacks/neighbours.js';
import { startLocalServer } from './local-server.js';

let server: Awaited<ReturnType<typeof startLocalServer>>;
beforeAll(async () => {
  server = await startLocalServer();
});
afterAll(() => server.close());

/** In milliseconds; on a machine with nothing else to do, waits are a tenth of it. */
const quick = 10_000;

it.each([
  ['1,000 half heads', []],
  ['1,000 half bodies', [408]],
  ['prompts of 7 MB', [400]],
] as const)(
  '%s from one client neither delay other clients nor get them rejected',
  async (name, expected) => {
    const { answer, health, refused, statuses } = await waitsDuring(
      floods[name]!(server.url),
      server.url,
      2000,
    );
    expect(Math.max(health, answer)).toBeLessThan(quick);
    expect(refused).toBe(0);
    expect([...new Set(statuses)]).toEqual(expected);
  },
);

it('of 80 requests, 64 are answered and the others get 429 first, while /health stays responsive', async () => {
  const { health, statuses } = await waitsDuring(floods['80 requests']!(server.url), server.url, 20_000);
  expect(health).toBeLessThan(quick);
  expect(statuses.filter((status) => status === 200)).toHaveLength(64);
  expect(statuses.slice(0, 16)).toEqual(Array(16).fill(429));
});
