import { expect, it } from 'vitest';
import { failureView } from '../../src/web/report/views/failure-view.js';

it('failureView counts failures under the faults that explain them, and other faults separately', () => {
  const rejected = (kind: 'missing' | 'truncated' | 'echo') =>
    ({ kind: 'rejected', failure: { kind } }) as const;
  const accepted = { kind: 'accepted' } as const;
  const error = { kind: 'error', error: 'server', message: 'HTTP 500', retries: 1, latencyMs: 1 } as const;
  const attempts = [
    { outcome: rejected('missing'), faults: ['no-text', 'usage-missing'] },
    { outcome: rejected('truncated'), faults: ['loop'] },
    { outcome: rejected('missing'), faults: ['usage-missing'] },
    { outcome: rejected('echo'), faults: ['overlong'] },
    { outcome: error, faults: ['rate-limit', 'server', 'server'] },
    { outcome: accepted, faults: ['rate-limit'] },
    { outcome: accepted, faults: [] },
  ].map((attempt, index) => ({ ...attempt, index }));
  const none = { member: undefined, purpose: 'proposal', predicted: undefined, entry: undefined };
  const proposal = { ...none, iteration: 1, candidate: 0, attempts, improved: false };
  const shown = JSON.stringify(failureView([proposal], { candidates: 1 }, () => undefined));
  const counted = shown.split('Other faults').map((part) => {
    const rows = part.matchAll(/\[\{"text":"([a-z-]+)"\},\{"text":"(\d)"/g);
    return Object.fromEntries([...rows].map(([, kind, count]) => [kind, Number(count)]));
  });
  expect(counted).toEqual([
    { 'no-text': 1, loop: 1, missing: 1, echo: 1, server: 1 },
    { 'usage-missing': 2, overlong: 1, 'rate-limit': 2, server: 1 },
  ]);
});
