import { describe, expect, it } from 'vitest';
import { redact } from '../../../src/base/errors.js';
import { AttemptError, callWithRetries } from '../../../src/models/hosted/retry.js';
import { recordWaits } from '../model-configs.js';

describe('callWithRetries', () => {
  it('does not abort at once if timeoutSeconds exceeds the longest possible timer', async () => {
    const call = callWithRetries({
      attempt: async (signal) => signal.aborted,
      retryPolicy: { timeoutSeconds: 1e9, maxRetries: 0, maxRetryAfterSeconds: 1 },
      wait: recordWaits().wait,
      id: 'test/model',
      secrets: [],
      seed: 0,
      signal: undefined,
    });
    expect(await call).toMatchObject({ value: false, attemptInfo: { retries: 0 } });
  });
});

it('requestsPerMinute spaces the requests of all calls to a model, retries included', async () => {
  const { wait, waits } = recordWaits();
  const reported: number[] = [];
  let sent = 0;
  const call = () =>
    callWithRetries({
      attempt: async () => {
        if (++sent === 1) throw new AttemptError('server', 'HTTP 500');
        return sent;
      },
      retryPolicy: { timeoutSeconds: 10, maxRetries: 3, maxRetryAfterSeconds: 1, requestsPerMinute: 6 },
      wait,
      id: 'test/limited',
      secrets: [],
      seed: 0,
      attempts: { onWait: (milliseconds) => reported.push(milliseconds) },
    });
  await Promise.all([call(), call(), call()]);
  // The clock stands still, so each request waits for its own place: 0, 10, 20 s, and the retry 30 s.
  const long = waits.filter((milliseconds) => milliseconds > 5000).map((ms) => Math.round(ms / 1000));
  expect([sent, long.toSorted()]).toEqual([4, [10, 20, 30]]);
  expect(reported).toHaveLength(3);
});

describe('redact', () => {
  it('hides secrets anywhere in the text, and a word that looks like a key', () => {
    expect(redact('the key abc.def (abc.def) of sk-proj-12345678_9', ['abc.def', ''])).toBe(
      'the key [redacted] ([redacted]) of [redacted]',
    );
  });

  it('hides a truncated secret', () => {
    expect(redact('HTTP 401: no such key: abc.d…', ['abc.def'])).toBe('HTTP 401: no such key: [redacted]…');
  });

  it('hides credentials and query values in URLs', () => {
    expect(redact('to https://me:a@b/c@host/v1?api-key=12+3&v=1#x: give that', [])).toBe(
      'to https://[redacted]@host/v1?api-key=[redacted]&v=[redacted] give that',
    );
    expect(redact('http://me:two words@host', [])).toBe('http://[redacted]@host');
  });

  it('leaves a message without secrets unchanged', () => {
    const message = 'HTTP 404: model "sky-high-1b" at http://127.0.0.1:11434 risk-averse';
    expect(redact(message, [])).toBe(message);
  });
});
