import { describe, expect, it } from 'vitest';
import { fewestTokens, mostTokens } from '../../src/models/reply-faults.js';

/** What tokenizers make of the texts: o200k and p50k (gpt-tokenizer 3), Llama 3 and Llama 2 (their JavaScript ports). */
const measured: readonly (readonly [string, readonly number[]])[] = [
  [
    'params[0]: 1.5, params[1]: -0.3, params[2]: 4.0; f(params): 217.45\n'.repeat(100),
    [3500, 3300, 3500, 3900],
  ],
  [
    'You are a good global optimizer. Propose new values of the parameters that you expect to give a higher return.\n'.repeat(
      60,
    ),
    [1380, 1500, 1380, 1500],
  ],
  ['| state | action |\n|-------|--------|\n| 12 | 3 |\n'.repeat(60), [1020, 1080, 1020, 1260]],
  ['{"reason": "steeper", "params": [0.123456, -12.5, 3]}\n'.repeat(60), [1440, 1440, 1440, 1800]],
  ['请提出更好的参数，使得回报更高。'.repeat(60), [720, 2040, 720, 1081]],
];

describe('token bounds', () => {
  it.each(measured)('hold for %s', (content, counts) => {
    const messages = [{ role: 'user', content }] as const;
    expect(fewestTokens(messages)).toBeLessThanOrEqual(Math.min(...counts));
    expect(mostTokens(messages)).toBeGreaterThanOrEqual(Math.max(...counts));
  });

  it('are near enough to show that half of a history was cut', () => {
    const [content, counts] = measured[0]!;
    const fewest = fewestTokens([{ role: 'user', content }]);
    expect(fewest).toBeGreaterThan(Math.max(...counts) / 2);
  });

  it('grow with every message', () => {
    const message = { role: 'user', content: 'one two' } as const;
    expect(mostTokens([message, message])).toBeGreaterThan(mostTokens([message]));
    expect(fewestTokens([])).toBe(0);
  });
});
